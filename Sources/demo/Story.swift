import Crypto
import JSON
import NIOHTTP1

/// The state of the player, and its calls to the two servers.
struct Story {
    let concord: HTTPCaller
    let issuer: HTTPCaller
    let project: String

    /// New in every run, so that the story can be played again on the same server.
    let email: String
    let subject: String
    let password = "correct horse battery staple"

    var userID = ""
    var idToken = ""
    var pendingToken = ""
    /// The window of a recent sign-in before the story shortened it.
    var recentSignInSeconds: JSONValue = .integer(300)

    static let provider = "oidc.demo"
    static let clientID = "concord-demo"

    init(concord: HTTPCaller, issuer: HTTPCaller, project: String) {
        self.concord = concord
        self.issuer = issuer
        self.project = project
        let run = String(UInt64.random(in: .min ... .max), radix: 36)
        email = "ada.\(run)@example.com"
        subject = "ada-\(run)"
    }

    /// Calls as a client with an API key.
    func asClient(_ path: String, _ body: [String: JSONValue]) async throws -> HTTPCaller.Answer {
        try await concord.send(.POST, "/identitytoolkit.googleapis.com/v1/accounts:\(path)?key=demo", body)
    }

    /// Calls as an administrator, below the project's path.
    func asAdministrator(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [String: JSONValue]? = nil
    ) async throws -> HTTPCaller.Answer {
        let root = "/identitytoolkit.googleapis.com/v2/projects/\(project)"
        return try await concord.send(method, root + path, body, bearer: "owner")
    }

    /// Signs in with the provider as Ada. `extra` is added to the request.
    func signInWithProvider(_ extra: [String: JSONValue] = [:]) async throws -> HTTPCaller.Answer {
        let nonce = SymmetricKey(size: .bits128).withUnsafeBytes { Base64URL.encode($0) }
        let digest = Hexadecimal.encode(Array(SHA256.hash(data: Array(nonce.utf8))))
        let answer = try await issuer.send(
            .POST,
            "/token",
            [
                "sub": .string(subject), "aud": .string(Self.clientID), "nonce": .string(digest),
                "email": .string(email), "email_verified": .bool(false), "name": .string("Ada Lovelace"),
            ]
        )
        guard let token = answer.json["id_token"]?.string else {
            throw UnexpectedAnswer(expected: "an ID token from the issuer", came: answer.summary)
        }
        let body: [String: JSONValue] = [
            "requestUri": .string("http://localhost"),
            "postBody": .string("providerId=\(Self.provider)&id_token=\(token)&nonce=\(nonce)"),
            "returnIdpCredential": .bool(true),
            "returnSecureToken": .bool(true),
        ]
        return try await asClient("signInWithIdp", body.merging(extra) { _, added in added })
    }

    func signInWithPassword() async throws -> HTTPCaller.Answer {
        try await asClient(
            "signInWithPassword",
            ["email": .string(email), "password": .string(password), "returnSecureToken": .bool(true)]
        )
    }

    /// Returns the session of a successful sign-in with `method`. Verifies its ID token with Concord's published keys.
    func session(in answer: HTTPCaller.Answer, with method: String) async throws -> (userID: String, idToken: String) {
        guard answer.status == 200, let userID = answer.json["localId"]?.string,
            let idToken = answer.json["idToken"]?.string
        else { throw UnexpectedAnswer(expected: "a session", came: answer.summary) }
        let keySet = try await concord.send(
            .GET,
            "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com"
        )
        let checked = try PublishedKeys(keySet: keySet.json).claims(
            of: idToken,
            issuer: "https://securetoken.google.com/\(project)",
            audience: project
        )
        switch checked {
        case .failure(let problem):
            throw UnexpectedAnswer(expected: "an ID token that verifies", came: problem.description)
        case .success(let claims):
            try expect(claims["sub"]?.string, userID, as: "the token's subject")
            try expect(claims["firebase"]?["sign_in_provider"]?.string, method, as: "the token's sign-in provider")
            return (userID, idToken)
        }
    }

    /// Returns the providers of the account of `idToken`, as the account's own lookup shows them.
    func linkedProviders(_ idToken: String) async throws -> [String] {
        let answer = try await asClient("lookup", ["idToken": .string(idToken)])
        guard let user = answer.json["users"]?.array?.first else {
            throw UnexpectedAnswer(expected: "one account", came: answer.summary)
        }
        return (user["providerUserInfo"]?.array ?? []).compactMap { $0["providerId"]?.string }.sorted()
    }
}

/// A result that differs from the story.
struct UnexpectedAnswer: Error {
    let expected: String
    let came: String
}

func expect<Value: Equatable>(_ came: Value?, _ expected: Value, as what: String) throws(UnexpectedAnswer) {
    guard came == expected else {
        throw UnexpectedAnswer(expected: "\(what) \(expected)", came: came.map { "\($0)" } ?? "none")
    }
}

/// Expects a refusal with `code`. The text after the code is for people.
func expectRefusal(_ answer: HTTPCaller.Answer, _ code: String) throws(UnexpectedAnswer) {
    let message = answer.json["error"]?["message"]?.string ?? answer.json["errorMessage"]?.string
    guard message == code || message?.hasPrefix(code + " : ") == true, answer.json["idToken"] == nil else {
        throw UnexpectedAnswer(expected: code, came: answer.summary)
    }
}

func expectSuccess(_ answer: HTTPCaller.Answer) throws(UnexpectedAnswer) {
    guard answer.status == 200 else { throw UnexpectedAnswer(expected: "200", came: answer.summary) }
}
