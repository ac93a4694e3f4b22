import AccountAPI
import FoundationEssentials
import HTTPClient

/// A request for `/readyz` of one server.
struct ReadinessProbe: Sendable, Hashable {
    /// The address as people write it.
    let place: String
    let url: String
    /// The host of `url` and the address to connect to, if it differs.
    let connection: [String: String]
    /// The Unix socket to connect to, if it is one.
    let socketPath: String?
    /// True if the certificate must be valid for the host of `url`. On loopback there is no attacker in between, and no
    /// certificate names it.
    let verifiesCertificate: Bool

    /// Time for the whole request. The intervals of health checks are 5 s and more.
    static let timeout = Duration.seconds(2)
    private static let bodyBytesMax = 4096

    /// A server at `base`, an http or https URL; `nil` if it is none, or has user information: an error would show the
    /// password.
    init?(base: String) {
        guard let parts = URL(string: base), let host = parts.host, !host.isEmpty,
            parts.scheme == "http" || parts.scheme == "https", parts.user == nil, parts.password == nil
        else { return nil }
        self.init(
            place: base,
            url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/readyz",
            verifiesCertificate: !isLoopback(host: host)
        )
    }

    /// The server that `listen` starts on this machine; `nil` if the system chooses its only port.
    ///
    /// A listener with TLS beyond loopback is asked under the name of `listen.public_url`, or else over the admin
    /// listener, because its certificate names no network address.
    init?(_ listen: ListenConfiguration) {
        let isLocal = isLoopback(host: listen.host) || isEveryAddress(host: listen.host)
        guard listen.port != 0 else {
            guard let admin = listen.adminListener else { return nil }
            self.init(admin)
            return
        }
        let usesTLS = listen.transport != .plain
        if usesTLS, !isLocal, listen.publicURL == nil, let admin = listen.adminListener {
            self.init(admin)
            return
        }
        var host = listen.host
        if isEveryAddress(host: host) { host = host.contains(":") ? "::1" : "127.0.0.1" }
        var name = host
        if usesTLS, !isLocal, let publicName = listen.publicURL.flatMap({ URL(string: $0)?.host }) { name = publicName }
        self.init(
            place: Self.place(host, listen.port),
            url: "\(usesTLS ? "https" : "http")://\(Self.place(name, listen.port))/readyz",
            connection: name == host ? [:] : [name: host],
            verifiesCertificate: !isLocal
        )
    }

    private init(_ admin: ListenConfiguration.AdminListener) {
        switch admin {
        case .loopback(let address):
            let place = Self.place(address.host, address.port)
            self.init(place: place, url: "http://\(place)/readyz", verifiesCertificate: false)
        case .unixSocket(let path):
            // The admin listener refuses other names.
            self.init(place: path, url: "http://localhost/readyz", socketPath: path, verifiesCertificate: false)
        }
    }

    private init(
        place: String,
        url: String,
        connection: [String: String] = [:],
        socketPath: String? = nil,
        verifiesCertificate: Bool
    ) {
        self.place = place
        self.url = url
        self.connection = connection
        self.socketPath = socketPath
        self.verifiesCertificate = verifiesCertificate
    }

    private static func place(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the reason why the server is not ready, in one line; `nil` if it is ready.
    func problem() async -> String? {
        switch await within(Self.timeout, { try await answer() }) {
        case .success((status: 200, body: _)): nil
        case .success((status: 503, let body)) where body.hasPrefix("not ready"): "\(place): \(body)"
        case .success(let answer):
            "\(place) answers /readyz with status \(answer.status): it is not Concord, or a proxy in front of it"
        case nil, .failure(HTTPTransport.Failure.timedOut): silence
        case .failure(let error): "cannot ask \(place): \(error). Is `concord serve` running there?"
        }
    }

    private var silence: String { "\(place) does not answer within \(Self.timeout.components.seconds) s" }

    private func answer() async throws -> (status: Int, body: String) {
        var request = HTTPTransport.Request(
            "GET",
            url,
            fields: [("user-agent", "concord healthcheck")],
            responseBody: .collected(bytesMax: Self.bodyBytesMax),
            deadline: .now + Self.timeout
        )
        if !verifiesCertificate { request.connection.trust = .anything }
        if let socketPath {
            request.destination = .unixSocket(path: socketPath)
        } else if let parts = URL(string: url), let address = parts.host.flatMap({ connection[$0] }) {
            request.destination = .address(address, port: parts.port ?? (parts.scheme == "https" ? 443 : 80))
        }
        let response = try await HTTPTransport.shared.response(to: request)
        let text = String(decoding: response.body, as: UTF8.self)
        return (response.status, text.split(separator: "\n").first.map(String.init) ?? "")
    }
}
