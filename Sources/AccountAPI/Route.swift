import AccountLinking
import AccountOperations
import HTTPTypes
import IdentityProviders
import JSON

/// One endpoint: its paths, its callers, and its handler. It depends on no HTTP framework.
///
/// A route serves its path and the path under the host prefixes of emulator mode (docs/reference/protocol.md, "Paths").
struct Route: Sendable {
    enum Access: Sendable {
        /// An API key, or an administrator's bearer token.
        case client
        /// An administrator's bearer token.
        case administrator
        /// An administrator's bearer token, or a credential that the route checks itself.
        case administratorOrSession
        /// No credential: keys and discovery.
        case anyone
    }

    enum Service: Sendable {
        case identityToolkit
        case secureToken
        /// Concord's own API: problem documents instead of envelopes.
        case concord
        /// Served only at its path.
        case none

        init(ofPath path: String) {
            if path.hasPrefix("/concord/") {
                self = .concord
            } else if path == "/v1/token" {
                self = .secureToken
            } else {
                let isCompatible = ["/v1/", "/v2/", "/admin/v2/"].contains { path.hasPrefix($0) }
                self = isCompatible ? .identityToolkit : .none
            }
        }

        /// The host that emulator-mode SDKs put in front of the path.
        var hostPrefix: String? {
            switch self {
            case .identityToolkit: "/identitytoolkit.googleapis.com"
            case .secureToken: "/securetoken.googleapis.com"
            case .concord, .none: nil
            }
        }
    }

    /// The path and the host of the previous version of the API.
    static let legacyPrefix = "/identitytoolkit/v3/relyingparty/"
    static let legacyHostPrefix = "/www.googleapis.com"

    let method: HTTPRequest.Method
    let path: String
    /// The name under `/identitytoolkit/v3/relyingparty/`, if there is one.
    let legacyName: String?
    /// Other paths of the same endpoint, such as the one that names the project.
    let aliases: [String]
    let service: Service
    let access: Access
    /// True if the body may be a form (`application/x-www-form-urlencoded`), as on OAuth's token endpoints (RFC 6749
    /// §3.2). Everywhere else a body that is not a JSON object is malformed, with any content type: `curl -d` sends
    /// everything as a form.
    let acceptsForm: Bool
    /// True if the request names an address or a number that may be another person's. While the project protects
    /// addresses, refusals and answers that say so leave on a tick (`AnswerTick`).
    let hidesAccounts: Bool
    let handle: @Sendable (APIRequest) async throws -> APIResponse

    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        legacyName: String? = nil,
        aliases: [String] = [],
        access: Access,
        acceptsForm: Bool = false,
        hidesAccounts: Bool = false,
        handle: @escaping @Sendable (APIRequest) async throws -> APIResponse
    ) {
        self.method = method
        self.path = path
        self.legacyName = legacyName
        self.aliases = aliases
        service = Service(ofPath: path)
        self.access = access
        self.acceptsForm = acceptsForm
        self.hidesAccounts = hidesAccounts
        self.handle = handle
    }

    /// Every path of the route.
    var paths: [String] {
        var paths = [path] + aliases
        if let prefix = service.hostPrefix { paths += paths.map { prefix + $0 } }
        if let legacyName {
            let legacy = Self.legacyPrefix + legacyName
            paths += [legacy, Self.legacyHostPrefix + legacy]
        }
        return paths
    }
}

extension Route {
    /// The administrators' paths of `name`, with the project.
    static func projectPaths(_ name: String) -> [String] {
        ["/v1/projects/{project}/\(name)", "/v1/projects/{project}/tenants/{tenant}/\(name)"]
    }
}

/// The caller.
enum Caller: Sendable, Hashable {
    case client
    case administrator
}

/// A request in the form that handlers get.
struct APIRequest: Sendable {
    /// The declared method and path of the route.
    let route: String
    let operations: AccountOperations
    let caller: Caller
    /// The administrator who calls; `nil` for a client.
    let administrator: Administrator?
    let tenant: TenantID
    /// The values of the path's captures, by name.
    let captures: [String: String]
    let query: [String: String]
    let body: RequestBody
    /// The scheme of this service: `http` or `https`.
    let scheme: String
    /// The host that the client called, as it sent it.
    let authority: String?
    /// The configured public URL of this service, without a slash at the end.
    let publicURL: String?
    /// The language the client asks for in mails and messages: a BCP 47 tag, as sent.
    let locale: String?
    /// The app that calls, as the request claims it. It is not verified.
    let iOSBundleID: String?
    /// The API key as sent; a valid one if the caller is a client.
    let apiKey: String?
    /// The text after `Bearer` in the `Authorization` field.
    let bearerToken: String?
    /// The token of a given proof, from `Concord-Proof`.
    let proofToken: String?
    /// The values of `Idempotency-Key`, as sent.
    let idempotencyKeys: [String]
    /// The version of the resource that the caller has read, from `If-Match`.
    let expectedVersion: ExpectedVersion
    /// The client's network address, from the peer or from trusted proxies.
    let clientAddress: String?
    /// The version of Concord.
    let serverVersion: String

    /// The network and device that a password in the request comes from.
    func passwordClient() throws(APIError) -> PasswordClient {
        var device = try body.nonEmptyString("deviceSecret")
        if device == nil { device = try body.nonEmptyString("deviceToken") }
        return PasswordClient(
            network: clientAddress.flatMap { IPAddress($0)?.subscriber },
            deviceSecret: device
        )
    }

    /// Base URL of this service, without a slash at the end: `listen.public_url`, otherwise its listening address.
    ///
    /// Production never uses the caller's `Host`, because the caller would choose whose keys a reader of the document
    /// trusts. Development has many names (from a container, from a phone's simulator) and uses the caller's.
    var baseURL: String {
        if let publicURL { return publicURL }
        guard operations.providers.isForDevelopment else { return operations.mailLinks.base }
        return "\(scheme)://\(authority ?? "localhost")"
    }

    /// Returns true if an administrator asks about an account of their choice, not about a session.
    func actsOnAnyAccount(sessionFields: [String]) -> Bool {
        guard caller == .administrator else { return false }
        return body.value("localId") != nil || sessionFields.allSatisfy { body.value($0) == nil }
    }

    /// The account an administrator names.
    func requiredLocalID() throws(APIError) -> UserID {
        guard let text = try body.nonEmptyString("localId") else { throw .code(.missingLocalID) }
        // A text that cannot be an id names no user.
        guard let id = UserID(text) else { throw .code(.userNotFound) }
        return id
    }

    /// The ID token of the request's session.
    func requiredIDToken() throws(APIError) -> String {
        guard let token = try body.nonEmptyString("idToken") else { throw .code(.missingIDToken) }
        return token
    }
}

/// The version that a request means to change (`If-Match`, RFC 9110 §13.1.1).
enum ExpectedVersion: Sendable, Hashable {
    case any
    case exactly(Int64)
    /// A version that no resource ever has, so that the precondition fails.
    case other

    init(_ field: String?) {
        guard let field, field != "*" else {
            self = .any
            return
        }
        guard field.hasPrefix("\""), field.hasSuffix("\""), let version = Int64(field.dropFirst().dropLast()) else {
            self = .other
            return
        }
        self = .exactly(version)
    }

    /// The version, or `nil` for any.
    func version() throws(Problem) -> Int64? {
        switch self {
        case .any: nil
        case .exactly(let version): version
        case .other: throw Problem(.versionMismatch)
        }
    }
}

/// An answer. Errors are thrown as `APIError`, or as `Problem` by Concord's own routes.
struct APIResponse: Sendable {
    var body: [UInt8]
    /// True if the answer only says that something has begun (202).
    var isAccepted = false
    /// The version of the resource in the answer; sent as its entity tag.
    var version: Int64?
    var contentType = "application/json; charset=UTF-8"
    /// The id of the decision behind the answer; sent as `Concord-Decision`.
    var decision: DecisionID?
    /// The target of a redirect with 303 (See Other).
    var location: String?
    /// Seconds a public answer may be cached; `nil` forbids caching.
    var maxAgeSeconds: Int?
    /// The content security policy of a page in the answer.
    var contentSecurityPolicy: String?
    /// True if addresses with and without an account get this answer. Only on routes that hide accounts.
    var hidesAccount = false

    init(json body: [UInt8], maxAgeSeconds: Int? = nil) {
        self.body = body
        self.maxAgeSeconds = maxAgeSeconds
    }

    /// An answer that addresses with and without an account get.
    static func hidingAccount(_ answer: APIResponse) -> APIResponse {
        var answer = answer
        answer.hidesAccount = true
        return answer
    }

    /// An answer that is one object.
    static func object(maxAgeSeconds: Int? = nil, _ write: (inout JSONWriter) -> Void) -> APIResponse {
        APIResponse(json: JSONWriter.object(write), maxAgeSeconds: maxAgeSeconds)
    }

    /// An answer that is one object: a resource of this version.
    static func object(version: Int64, _ write: (inout JSONWriter) -> Void) -> APIResponse {
        var response = APIResponse.object(write)
        response.version = version
        return response
    }

    /// An answer that is one object and follows from a decision.
    static func object(after decision: DecisionID?, _ write: (inout JSONWriter) -> Void) -> APIResponse {
        var response = APIResponse.object(write)
        response.decision = decision
        return response
    }
}
