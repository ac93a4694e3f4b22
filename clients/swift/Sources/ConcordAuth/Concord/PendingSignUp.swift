public import Foundation

/// A sign-up with a password that waits for its mailbox, from the link in the mail.
///
/// Where a project requires it (`concord.signUp.requires: mailbox`), ``Auth/createUser(withEmail:password:)`` throws
/// `operationNotAllowed` for every address, and Concord mails a link. The app gets the link as a universal link, or the
/// person pastes it.
///
/// The value is `Codable`. Protect the encoded value like a password.
///
/// Source: `docs/reference/decisions.md`, `signUp/pending` of `docs/openapi.json`.
public struct PendingSignUp: Sendable, Codable, Hashable {
    /// A proven mailbox.
    public struct Proven: Sendable, Codable, Hashable {
        /// The address of the mailbox.
        public let email: String
        /// The provider whose credential waits; `nil` for a sign-up with a password.
        public let providerID: String?
        /// True if an account has the address. Then ``PendingSignUp/create(_:password:displayName:in:)`` is refused.
        public let accountExists: Bool
        /// The end of the proof.
        public let expireTime: Date
        let proofToken: Secret

        private enum CodingKeys: String, CodingKey {
            case email, accountExists, expireTime, proofToken
            case providerID = "providerId"
        }
    }

    private let handle: Secret
    private let linkSecret: Secret?

    /// Returns `nil` if `link` is no link of a sign-up: `…/signin#signUp=…&proof=…`.
    public init?(link: URL) {
        let parameters = link.fragmentParameters
        guard let handle = parameters["signUp"] else { return nil }
        self.handle = Secret(handle)
        linkSecret = parameters["proof"].map(Secret.init)
    }

    /// Proves the mailbox with the link.
    ///
    /// - Throws: `codeUnusable` if the sign-up has expired: begin again.
    public func prove(in auth: Auth) async throws(AuthError) -> Proven {
        guard let linkSecret else { throw AuthError(.invalidActionCode, "The link has no proof. Enter the code.") }
        return try await auth.backend.call(Self.proveCall(handle, ["linkSecret": linkSecret.text.json]))
    }

    /// Proves the mailbox with the code in the mail.
    public func prove(code: String, in auth: Auth) async throws(AuthError) -> Proven {
        try await auth.backend.call(Self.proveCall(handle, ["code": code.json]))
    }

    /// Creates the account, whose address is proven, and signs in.
    ///
    /// A repetition after a lost answer gets the answer of the first request.
    ///
    /// - Parameters:
    ///   - proven: The proof of the mailbox.
    ///   - password: `nil` if the credential of a provider waits.
    ///   - displayName: The name of the new user.
    ///   - auth: The client that gets the session.
    /// - Returns: The new user.
    /// - Throws: `codeUnusable` if the sign-up has expired, or an account has the address meanwhile; `weakPassword`.
    @discardableResult
    public func create(
        _ proven: Proven,
        password: String?,
        displayName: String? = nil,
        in auth: Auth
    ) async throws(AuthError) -> AuthDataResult {
        let path = Self.path + ":create"
        let body: [String: JSONValue?] = [
            "proofToken": proven.proofToken.text.json,
            "password": password?.json,
            "displayName": displayName?.json,
        ]
        let key = Digest.idempotencyKey(handle, path, proven.proofToken.text, password ?? "", displayName ?? "")
        let provider = proven.providerID ?? EmailAuthProvider.id
        let call = Call<SignInAnswer>.post(path, body, bearer: handle.text).once(key)
        return try await auth.signIn(call, for: .signIn(provider: provider)).ofNewUser
    }

    // MARK: Wire

    static let path = "/concord/v1/signUp/pending"

    struct Opened: Decodable, Sendable {
        let pendingToken: Secret
        let proofToken: Secret
        let conflict: ConflictWire
    }

    private static func proveCall(_ handle: Secret, _ body: [String: JSONValue?]) -> Call<Proven> {
        .post(path + ":prove", body, bearer: handle.text)
    }

    /// Proves the mailbox of a conflict with an unproven address.
    static func prove(
        _ conflict: AuthConflict,
        _ body: [String: JSONValue?],
        in auth: Auth
    ) async throws(AuthError) -> ConflictProof {
        let call = proveCall(conflict.handle, body)
        let proven = try await conflict.ending(in: auth) { () throws(AuthError) in try await auth.backend.call(call) }
        return ConflictProof(
            suspended: [],
            replaced: [],
            signInMethods: [],
            accountExists: proven.accountExists,
            expireTime: proven.expireTime,
            token: proven.proofToken
        )
    }

    /// Opens the conflict of the account that has the proven address.
    static func open(_ conflict: AuthConflict, in auth: Auth) async throws(AuthError) -> Opened {
        let token = conflict.proof?.token ?? Secret("")
        let call = Call<Opened>.post(path + ":link", ["proofToken": token.text.json], bearer: conflict.handle.text)
            .once(Digest.idempotencyKey(conflict.handle, path + ":link", token.text))
        return try await conflict.ending(in: auth) { () throws(AuthError) in try await auth.backend.call(call) }
    }
}

extension AuthDataResult {
    /// The result of a sign-in that created the account: its answer does not say so.
    var ofNewUser: AuthDataResult {
        AuthDataResult(
            user: user,
            additionalUserInfo: AdditionalUserInfo(
                providerID: additionalUserInfo?.providerID ?? "",
                profile: additionalUserInfo?.profile,
                username: additionalUserInfo?.username,
                isNewUser: true
            ),
            credential: credential
        )
    }
}

extension URL {
    /// The parameters behind the `#`, where Concord's links have their secrets.
    var fragmentParameters: [String: String] {
        let text = absoluteString
        guard let mark = text.firstIndex(of: "#") else { return [:] }
        let components = URLComponents(string: "?" + text[text.index(after: mark)...])
        return Dictionary(
            (components?.queryItems ?? []).compactMap { item in item.value.map { (item.name, $0) } },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
