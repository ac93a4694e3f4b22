import Foundation
import Testing

@testable import ConcordAuth

/// A server in memory with one account, Ada's, and one identity that waits for her: enough for whole journeys.
///
/// Each process of an app has a ``Process`` as its transport, which can lose power at any request.
final class FakeConcord: Sendable {
    static let projectID = "demo"
    static let code = "12345678"

    struct State {
        var requests: [HTTPRequest] = []
        var isLinked = false
        var links = 0
        var mails = 0
        var isDeclined = false
        var hasAccount = true
        var confirmsAddresses = false
        var usedLinks: Set<String> = []
        /// Answers to applied requests by idempotency key, path and credential.
        var applied: [String: HTTPResponse] = [:]
        /// Answers by path that replace the server's.
        var scripted: [String: HTTPResponse] = [:]
        var handle = "handle-1"
        var proofToken: String?
    }

    let state = Locked(State())

    var requests: [HTTPRequest] { state.with { $0.requests } }
    var isLinked: Bool { state.with { $0.isLinked } }

    func script(_ path: String, status: Int = 200, _ body: JSONValue) {
        state.with { $0.scripted[path] = .json(body, status) }
    }

    func script(_ path: String, problem: String, status: Int) {
        script(path, status: status, ["type": .string("urn:concord:problem:\(problem)"), "title": "no"])
    }

    /// The bodies of the requests to `path`.
    func bodies(_ path: String) -> [JSONValue] {
        requests.filter { $0.url.path == path }.map { $0.body.flatMap(JSONValue.parse) ?? [:] }
    }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        state.with { state in
            state.requests.append(request)
            let path = request.url.path
            if let scripted = state.scripted[path] { return scripted }
            let key = request.headers["Idempotency-Key"].map { $0 + path + (request.headers["Authorization"] ?? "") }
            if let key, let stored = state.applied[key] { return stored }
            let answer = Self.apply(path, request.body.flatMap(JSONValue.parse) ?? [:], request, &state)
            if let key, answer.status < 300 { state.applied[key] = answer }
            return answer
        }
    }

    // MARK: Routes

    private static func apply(
        _ path: String,
        _ body: JSONValue,
        _ request: HTTPRequest,
        _ state: inout State
    ) -> HTTPResponse {
        let bearer = request.headers["Authorization"]?.replacingOccurrences(of: "Bearer ", with: "")
        switch path {
        case "/v1/accounts:signInWithPassword", "/v1/accounts:signInWithPhoneNumber":
            // As the server does, the sign-in settles a conflict whose mailbox is proven.
            if state.proofToken != nil, !state.isLinked {
                state.isLinked = true
                state.links += 1
            }
            return signedIn("password", state)
        case "/v1/accounts:signInWithEmailLink":
            let code = body["oobCode"]?.stringValue ?? ""
            guard state.usedLinks.insert(code).inserted else { return .refused("INVALID_OOB_CODE") }
            return signedIn("password", state)
        case "/v1/accounts:signInWithIdp": return signInWithIdp(body, &state)
        case "/v1/accounts:lookup": return .json(["users": [account(state)]])
        case "/v1/accounts:sendOobCode": return .json(["email": "ada@example.com"])
        case "/v1/token":
            return .json([
                "access_token": .string(token()), "id_token": .string(token()), "refresh_token": "refresh",
                "expires_in": "3600", "user_id": "ada",
            ])
        default: break
        }
        guard bearer == state.handle || bearer == "handle-2" else { return .problem("conflict-unknown", 404) }
        guard !state.isDeclined else { return .problem("conflict-closed", 409) }
        switch path {
        case "/concord/v1/conflict": return .json(conflict(state))
        case "/concord/v1/conflict/proof":
            state.mails += 1
            return .json(conflict(state), 202)
        case "/concord/v1/conflict/proof:complete":
            guard body["code"]?.stringValue == code else { return .problem("wrong-proof", 403) }
            state.proofToken = "proof-1"
            return .json(["conflict": conflict(state), "proofToken": "proof-1"])
        case "/concord/v1/conflict:resolve":
            guard !state.isLinked else { return .problem("conflict-closed", 409) }
            guard let proof = state.proofToken, body["proofToken"]?.stringValue == proof else {
                return .problem("proof-required", 403)
            }
            state.isLinked = true
            state.links += 1
            return signedIn("github.com", state)
        case "/concord/v1/conflict:decline":
            state.isDeclined = true
            return .json(conflict(state))
        case "/concord/v1/signUp/pending:prove":
            guard body["code"]?.stringValue == code else { return .problem("wrong-proof", 403) }
            return .json([
                "email": "ada@example.com", "providerId": "github.com", "accountExists": .bool(state.hasAccount),
                "proofToken": "sign-up-proof", "expireTime": "2030-01-01T00:00:00.000Z",
            ])
        case "/concord/v1/signUp/pending:link":
            guard body["proofToken"]?.stringValue == "sign-up-proof" else { return .problem("proof-required", 403) }
            state.proofToken = "proof-2"
            return .json(["pendingToken": "handle-2", "proofToken": "proof-2", "conflict": conflict(state)])
        case "/concord/v1/signUp/pending:create":
            guard !state.isLinked else { return .problem("code-unusable", 400) }
            state.isLinked = true
            state.links += 1
            return signedIn("github.com", state)
        default: return .problem("not-found", 404)
        }
    }

    private static func signInWithIdp(_ body: JSONValue, _ state: inout State) -> HTTPResponse {
        if body["pendingToken"]?.stringValue != nil {
            guard !state.isLinked, !state.isDeclined else { return .refused("INVALID_PENDING_TOKEN") }
            guard body["idToken"]?.stringValue != nil else { return .refused("INVALID_PENDING_TOKEN") }
            state.isLinked = true
            state.links += 1
            return signedIn("github.com", state)
        }
        if state.isLinked { return signedIn("github.com", state) }
        var answer: [String: JSONValue] = [
            "needConfirmation": true, "email": "ada@example.com", "providerId": "github.com", "localId": "ada",
            "oauthAccessToken": "github-token", "pendingToken": .string(state.handle),
        ]
        if !state.confirmsAddresses { answer["verifiedProvider"] = [] }
        return .json(.object(answer))
    }

    private static func signedIn(_ provider: String, _ state: State) -> HTTPResponse {
        .json([
            "localId": "ada", "email": "ada@example.com", "idToken": .string(token()), "refreshToken": "refresh",
            "expiresIn": "3600", "providerId": .string(provider), "deviceToken": "device-token", "suspended": [],
            "replaced": [],
        ])
    }

    private static func account(_ state: State) -> JSONValue {
        let password: JSONValue = [
            "providerId": "password", "rawId": "ada@example.com", "federatedId": "ada@example.com",
            "email": "ada@example.com",
        ]
        let github: JSONValue = ["providerId": "github.com", "rawId": "77", "federatedId": "77"]
        return [
            "localId": "ada", "email": "ada@example.com", "emailVerified": true, "createdAt": "1700000000000",
            "lastLoginAt": "1700000000000", "passwordHash": "UkVEQUNURUQ=",
            "providerUserInfo": .array(state.isLinked ? [password, github] : [password]),
        ]
    }

    private static func conflict(_ state: State) -> JSONValue {
        [
            "state": step(state),
            "kind": "account-exists-with-different-credential", "providerId": "github.com", "email": "a***@e***.com",
            "openTime": "2026-01-05T09:00:00.000Z", "expireTime": "2030-01-01T00:00:00.000Z",
            "suspended": [
                ["method": "password", "reason": "address-proven", "restore": ["by": "password", "route": ""]]
            ],
        ]
    }

    private static func step(_ state: State) -> JSONValue {
        if state.isLinked { return "resolved" }
        return state.isDeclined ? "declined" : state.proofToken == nil ? "open" : "proven"
    }

    /// An unsigned ID token of Ada.
    static func token(uid: String = "ada", project: String = projectID) -> String {
        let now = Int64(Date().timeIntervalSince1970)
        let claims: JSONValue = [
            "iss": .string("https://securetoken.google.com/\(project)"), "aud": .string(project), "sub": .string(uid),
            "user_id": .string(uid), "iat": .integer(now), "exp": .integer(now + 3_600), "auth_time": .integer(now),
            "email": "ada@example.com", "firebase": ["sign_in_provider": "password", "identities": [:]],
        ]
        let parts = [JSONValue.object(["alg": "none"]), claims].map { part in
            ((try? JSONEncoder().encode(part)) ?? Data()).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
        }
        return parts.joined(separator: ".") + "."
    }

    /// An app's process: its client uses the server until the process loses power.
    final class Process: HTTPTransport {
        enum End: Sendable {
            /// Before the server gets request `n`.
            case before(Int)
            /// After the server applied request `n`, and before its answer arrives.
            case after(Int)
        }

        private let server: FakeConcord
        private let end: End?
        private let count = Locked(0)

        init(_ server: FakeConcord, _ end: End? = nil) {
            self.server = server
            self.end = end
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let number = count.with { count in
                count += 1
                return count
            }
            switch end {
            case .before(let last) where number >= last: throw URLError(.networkConnectionLost)
            case .after(let last) where number > last: throw URLError(.networkConnectionLost)
            case .after(let last) where number == last:
                _ = server.answer(request)
                throw URLError(.networkConnectionLost)
            default: return server.answer(request)
            }
        }
    }

    /// The client of one process.
    func auth(
        _ store: any SessionStore,
        _ end: Process.End? = nil,
        project: String = projectID,
        server: String = "https://id.example.com",
        now: @escaping @Sendable () -> Date = { Date() }
    ) throws -> Auth {
        let url = try #require(URL(string: server))
        var configuration = AuthConfiguration(
            server: url,
            apiKey: "key",
            projectID: project,
            appID: "1:42:ios:ab",
            bundleID: "com.example.app",
            sessions: store,
            transport: Process(self, end),
            requestTimeout: Rig.patience,
            now: now
        )
        configuration.languageCode = "fr"
        return try Auth(configuration: configuration, pause: { _ in })
    }
}

extension HTTPResponse {
    static func json(_ body: JSONValue, _ status: Int = 200, headers: [String: String] = [:]) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: headers.merging(["Content-Type": "application/json", "ETag": "\"1\""]) { first, _ in first },
            body: (try? JSONEncoder().encode(body)) ?? Data()
        )
    }

    static func refused(_ message: String) -> HTTPResponse {
        .json(["error": ["code": 400, "message": .string(message), "errors": []]], 400)
    }

    static func problem(_ type: String, _ status: Int) -> HTTPResponse {
        .json(
            ["type": .string("urn:concord:problem:\(type)"), "title": "no", "status": .integer(Int64(status))],
            status
        )
    }
}

/// Expects an error of this code.
@discardableResult
func expect(
    _ code: AuthErrorCode,
    _ operation: () async throws -> some Any,
    sourceLocation: SourceLocation = #_sourceLocation
) async -> AuthError? {
    do {
        _ = try await operation()
        Issue.record("no error instead of \(code)", sourceLocation: sourceLocation)
        return nil
    } catch {
        let error = error as? AuthError
        #expect(error?.code == code, sourceLocation: sourceLocation)
        return error
    }
}
