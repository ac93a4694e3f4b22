import Foundation

@testable import ConcordAuth

/// The parts of a client under test.
struct Rig {
    static let project = "demo"
    static let signUp = "/v1/accounts:signUp"
    static let password = "/v1/accounts:signInWithPassword"
    static let idp = "/v1/accounts:signInWithIdp"
    static let emailLink = "/v1/accounts:signInWithEmailLink"
    static let lookup = "/v1/accounts:lookup"
    static let token = "/v1/token"
    static let update = "/v1/accounts:update"

    /// In seconds. A busy machine must not end a call.
    static let patience: TimeInterval = 600

    let transport = ScriptedTransport()
    let store: any SessionStore
    /// Pauses between attempts that the client asked for.
    let pauses = Locked<[TimeInterval]>([])
    let clock: Locked<Date>

    init(
        store: any SessionStore = InMemorySessionStore(),
        clock: Locked<Date> = Locked(Date(timeIntervalSince1970: 1_800_000_000))
    ) {
        self.store = store
        self.clock = clock
    }

    /// A client, as a new process makes one.
    func auth(
        requestTimeout: TimeInterval = Self.patience,
        apiKey: String = "key",
        transport: (any HTTPTransport)? = nil
    ) throws -> Auth {
        guard let server = URL(string: "https://id.example.com") else { throw URLError(.badURL) }
        let clock = clock
        let pauses = pauses
        let configuration = AuthConfiguration(
            server: server,
            apiKey: apiKey,
            projectID: Self.project,
            bundleID: "com.example.app",
            sessions: store,
            transport: transport ?? self.transport,
            requestTimeout: requestTimeout,
            now: { clock.with { $0 } }
        )
        return try Auth(configuration: configuration) { seconds in pauses.with { $0.append(seconds) } }
    }

    /// Answers password sign-ins of `<uid>@example.com`, lookups and refreshes as a server does.
    func playServer() {
        transport.on(Self.password) { request in
            let email = request.json["email"]?.stringValue ?? ""
            return .json(200, .tokens(email.split(separator: "@").first.map(String.init) ?? ""))
        }
        transport.on(Self.lookup) { request in
            let uid = try IDToken(request.json["idToken"]?.stringValue ?? "").uid
            return .json(200, .account(uid))
        }
        transport.on(Self.token) { request in
            let refresh = request.form["refresh_token"] ?? ""
            return .json(200, .refreshed(refresh.split(separator: "-").dropFirst().first.map(String.init) ?? ""))
        }
    }

    func advance(_ seconds: TimeInterval) { clock.with { $0 += seconds } }
}

extension JSONValue {
    /// An unsigned ID token.
    static func idToken(
        _ uid: String,
        audience: String = Rig.project,
        issuer: String? = nil,
        provider: String = "password",
        extra: [String: JSONValue] = [:]
    ) -> String {
        var claims: [String: JSONValue] = [
            "sub": .string(uid), "aud": .string(audience), "jti": .string(UUID().uuidString),
            "iss": .string(issuer ?? "https://securetoken.google.com/\(audience)"),
            "iat": 1_800_000_000, "auth_time": 1_800_000_000, "exp": 1_800_003_600,
            "firebase": ["sign_in_provider": .string(provider)],
        ]
        claims.merge(extra) { $1 }
        let payload = (try? JSONEncoder().encode(JSONValue.object(claims))) ?? Data()
        let text = payload.base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        return "eyJhbGciOiJub25lIn0.\(text)."
    }

    /// The answer of a sign-in.
    static func tokens(_ uid: String, idToken: String? = nil) -> JSONValue {
        [
            "kind": "identitytoolkit#VerifyPasswordResponse", "localId": .string(uid),
            "idToken": .string(idToken ?? .init(JSONValue.idToken(uid))),
            "refreshToken": .string("refresh-\(uid)-\(UUID().uuidString)"), "expiresIn": "3600",
        ]
    }

    /// The answer of a refresh.
    static func refreshed(_ uid: String) -> JSONValue {
        let token = JSONValue.string(idToken(uid))
        return [
            "access_token": token, "id_token": token, "expires_in": "3600", "token_type": "Bearer",
            "refresh_token": .string("refresh-\(uid)-\(UUID().uuidString)"), "user_id": .string(uid),
        ]
    }

    /// The answer of a lookup.
    static func account(_ uid: String, _ members: [String: JSONValue] = [:]) -> JSONValue {
        var account: [String: JSONValue] = [
            "localId": .string(uid), "email": .string("\(uid)@example.com"), "emailVerified": true,
            "passwordHash": "UkVEQUNURUQ=", "createdAt": "1790000000000", "lastLoginAt": "1800000000000",
            "providerUserInfo": [["providerId": "password", "rawId": .string("\(uid)@example.com")]],
        ]
        account.merge(members) { $1 }
        return ["users": [.object(account)]]
    }
}

/// The error that `body` throws.
func failure(_ body: () async throws -> Void) async -> AuthError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? AuthError
    }
}

/// Waits until a condition holds, at most 10 minutes: the machine may be busy.
func eventually(_ condition: () -> Bool) async throws {
    for _ in 0..<60_000 where !condition() { try await Task.sleep(nanoseconds: 10_000_000) }
}

/// A directory that is removed at the end.
final class TemporaryDirectory: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("concord-auth-\(UUID().uuidString)")
    var file: URL { url.appendingPathComponent("state/session.json") }

    deinit { try? FileManager.default.removeItem(at: url) }
}
