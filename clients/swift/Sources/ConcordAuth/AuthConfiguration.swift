public import Foundation

/// The server and project that an app uses, and where the client stores its sessions.
public struct AuthConfiguration: Sendable {
    /// The server's address: `https`, or `http` to `localhost`, `127.0.0.1` or `[::1]`.
    ///
    /// ``Auth`` refuses every other URL with ``AuthErrorCode/insecureServer``: requests carry passwords.
    public var server: URL
    /// The API key of the project. `concord project show` prints it; `concord dev` accepts any.
    public var apiKey: String
    /// The project's id. The client refuses ID tokens of other projects.
    public var projectID: String
    /// The id of the app in the project, for example `1:42:ios:ab`. Callback schemes are derived from it.
    public var appID: String?
    /// The app's OAuth client id, if callback schemes are its reverse.
    public var clientID: String?
    /// The bundle id; the main bundle's by default.
    public var bundleID: String?
    /// The language of mails and texts (BCP 47), for example `fr`.
    public var languageCode: String?
    /// The store of sessions, conflicts and pending links.
    public var sessions: any SessionStore
    public var transport: any HTTPTransport
    /// Seconds until a function of this package gives up: 30 by default. They include all requests and repetitions of
    /// the function. A function that waits for a person or a silent push has a deadline for each request instead.
    public var requestTimeout: TimeInterval
    /// True if sign-ins make this device known to the account (`returnDeviceToken`): a lookup then answers at once.
    /// True by default.
    public var remembersDevice = true
    /// The current time. Tests replace it.
    public var now: @Sendable () -> Date

    /// A configuration. The store is by default the Keychain on Apple's systems, and a file of mode 0600 in the user's
    /// state directory elsewhere.
    public init(
        server: URL,
        apiKey: String,
        projectID: String,
        appID: String? = nil,
        bundleID: String? = Bundle.main.bundleIdentifier,
        languageCode: String? = nil,
        sessions: (any SessionStore)? = nil,
        transport: (any HTTPTransport)? = nil,
        requestTimeout: TimeInterval = 30,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.server = server
        self.apiKey = apiKey
        self.projectID = projectID
        self.appID = appID
        self.bundleID = bundleID
        self.languageCode = languageCode
        self.sessions = sessions ?? Self.platformStore(server: server, projectID: projectID)
        self.transport = transport ?? URLSessionTransport()
        self.requestTimeout = requestTimeout
        self.now = now
    }

    private static func platformStore(server: URL, projectID: String) -> any SessionStore {
        #if canImport(Security)
        KeychainSessionStore(account: scope(server: server, projectID: projectID))
        #else
        FileSessionStore(file: FileSessionStore.defaultFile(server: server, projectID: projectID))
        #endif
    }

    /// Throws if the configuration cannot work.
    func check() throws(AuthError) {
        guard let scheme = server.scheme?.lowercased(), let host = server.host?.lowercased(), !host.isEmpty else {
            throw AuthError(.invalidArgument, "`server` must be an absolute URL, for example https://id.example.com")
        }
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
        guard scheme == "https" || scheme == "http" && isLoopback else {
            throw AuthError(
                .insecureServer,
                "`server` must be an https URL; http is allowed to localhost, 127.0.0.1 and [::1] alone"
            )
        }
        guard server.user == nil, server.query == nil, server.fragment == nil else {
            throw AuthError(.invalidArgument, "`server` must not contain a user, a query or a fragment")
        }
        guard !apiKey.isEmpty else { throw AuthError(.invalidAPIKey, "`apiKey` is empty") }
        guard !projectID.isEmpty else { throw AuthError(.invalidArgument, "`projectID` is empty") }
        guard requestTimeout > 0, requestTimeout.isFinite else {
            throw AuthError(.invalidArgument, "`requestTimeout` must be a positive number of seconds")
        }
    }

    /// The server and project as text. A store has a separate state for each scope.
    var scope: String { Self.scope(server: server, projectID: projectID) }

    /// Different servers and projects have different texts: no part before the project's id can contain a `|`.
    static func scope(server: URL, projectID: String) -> String {
        let port = server.port.map { ":\($0)" } ?? ""
        let encoded = URLComponents(url: server, resolvingAgainstBaseURL: false)?.percentEncodedPath ?? server.path
        let path = encoded.hasSuffix("/") ? String(encoded.dropLast()) : encoded
        return "\(server.scheme?.lowercased() ?? "")://\(server.host?.lowercased() ?? "")\(port)\(path)|\(projectID)"
    }
}
