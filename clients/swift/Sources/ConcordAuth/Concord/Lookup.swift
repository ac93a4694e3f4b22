public import Foundation

/// The answer to a lookup.
public enum LookupOutcome: Sendable, Hashable {
    /// A mail was sent, if an account has the address or the project mails strangers. Ask for the code in it.
    case mailSent
    /// The account knows this device: the methods, without a mail.
    case known(KnownAccount)
}

/// The sign-in methods of an account, for a device that it knows.
public struct KnownAccount: Sendable, Hashable, Decodable {
    /// The address.
    public let email: String
    /// The methods of the account.
    public let methods: [SignInMethod]
    /// True if the account has no password and may set one.
    public let offersPassword: Bool
}

/// A proven mailbox, with the sign-in methods of its account. The proof is for one step, within 10 minutes.
///
/// Source: `docs/guides/lookup.md`.
public struct ProvenLookup: Sendable, Hashable, Decodable {
    /// The address.
    public let email: String
    /// The methods of the account, also suspended ones.
    public let methods: [SignInMethod]
    /// The method of the newest sign-in.
    public let lastUsed: String?
    /// True if ``signIn(in:linking:)`` signs in.
    public let signsIn: Bool
    /// True if the account has no password and may set one.
    public let offersPassword: Bool
    /// Methods that ``signIn(in:linking:)`` suspends. Show them before the press.
    public let suspended: [Suspension]?
    /// The end of the proof.
    public let expireTime: Date
    let proofToken: Secret
}

extension Auth {
    private static let lookupPath = "/concord/v1/lookup"

    private struct LookupWire: Decodable, Sendable {
        let email: String?
        let methods: [SignInMethod]?
        let offersPassword: Bool?
    }

    /// Mails the owner of an address how to sign in. A stranger gets the same answer for every address.
    ///
    /// On a device that the account knows, the answer has the methods at once.
    ///
    /// - Parameters:
    ///   - email: The address.
    ///   - continueURL: A page of the app on an authorized domain. The links in the mail lead back to it.
    /// - Returns: The methods, on a device that the account knows; else that the mail was sent.
    /// - Throws: `invalidArgument` for no address; `tooManyMails` above the limits on mails.
    public func lookup(email: String, continueURL: URL? = nil) async throws(AuthError) -> LookupOutcome {
        let body: [String: JSONValue?] = [
            "email": email.json,
            "continueUrl": continueURL?.absoluteString.json,
            "deviceToken": try keeper.read().deviceToken?.text.json,
        ]
        let answer = try await backend.call(Call<LookupWire>.post(Self.lookupPath, body))
        guard let methods = answer.methods else { return .mailSent }
        return .known(
            KnownAccount(
                email: answer.email ?? email,
                methods: methods,
                offersPassword: answer.offersPassword ?? false
            )
        )
    }

    /// Proves the mailbox with the eight digits of the mail. The code stays usable until a step uses the proof.
    ///
    /// - Throws: `wrongProof` for a wrong code, `codeUnusable` for an old or used one.
    public func prove(lookupCode code: String, email: String) async throws(AuthError) -> ProvenLookup {
        try await backend.call(.post(Self.lookupPath + ":prove", ["email": email.json, "code": code.json]))
    }

    /// Proves the mailbox with a button's link: `…/signin#lookup=…`.
    ///
    /// - Throws: `invalidActionCode` if `link` is no link of a lookup.
    public func prove(lookupLink link: URL) async throws(AuthError) -> ProvenLookup {
        guard let secret = link.fragmentParameters["lookup"] else {
            throw AuthError(.invalidActionCode, "The link is no link of a lookup. Open the newest mail.")
        }
        return try await backend.call(.post(Self.lookupPath + ":prove", ["linkSecret": secret.json]))
    }
}

extension ProvenLookup {
    private static let path = "/concord/v1/lookup:continue"

    private struct Code: Decodable, Sendable {
        let oobCode: String
    }

    /// Signs in as a mailed link does, and suspends ``suspended``.
    ///
    /// - Parameters:
    ///   - auth: The client that gets the session.
    ///   - conflict: A conflict of the account. The sign-in links its credential too.
    /// - Returns: The user.
    /// - Throws: `secondFactorRequired` with a resolver; `proofExpired`, `proofStale`, `codeUnusable`:
    ///   request a new lookup.
    @discardableResult
    public func signIn(in auth: Auth, linking conflict: AuthConflict? = nil) async throws(AuthError) -> AuthDataResult {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let conflict = try conflict.map { (conflict) throws(AuthError) in try auth.newest(conflict) }
            let body: [String: JSONValue?] = [
                "proofToken": proofToken.text.json,
                "way": "signIn",
                "pendingToken": conflict?.handle.text.json,
            ]
            let call = Call<SignInAnswer>.post(Self.path, body)
            let result = try await auth.signIn(call, for: .signIn(provider: EmailAuthProvider.id))
            if let conflict { try await conflict.settled(by: result.user) }
            return result
        }
    }

    /// Sets a password of the account, and returns its address. It does not sign in.
    ///
    /// - Throws: `weakPassword`; `proofExpired`, `proofStale`, `codeUnusable`: request a new lookup.
    @discardableResult
    public func setPassword(_ password: String, in auth: Auth) async throws(AuthError) -> String {
        try await Deadline.limit(auth.configuration.requestTimeout) { () throws(AuthError) in
            let code = try await passwordResetCode(in: auth)
            try await auth.confirmPasswordReset(withCode: code, newPassword: password)
            return email
        }
    }

    /// Exchanges the proof for the code of a password reset, for ``Auth/confirmPasswordReset(withCode:newPassword:)``.
    ///
    /// - Parameters:
    ///   - auth: The client.
    ///   - continueURL: The page to which Concord's page for the new password leads on.
    /// - Returns: The code.
    /// - Throws: `proofExpired`, `proofStale`, `codeUnusable`: request a new lookup.
    public func passwordResetCode(in auth: Auth, continueURL: URL? = nil) async throws(AuthError) -> String {
        let body: [String: JSONValue?] = [
            "proofToken": proofToken.text.json,
            "way": "setPassword",
            "continueUrl": continueURL?.absoluteString.json,
        ]
        return try await auth.backend.call(Call<Code>.post(Self.path, body)).oobCode
    }

    /// Proves a conflict of the account, as the conflict's own code does, and stores the proof.
    ///
    /// - Returns: The changes that settling the conflict makes. Show them before ``AuthConflict/resolve(_:in:)``.
    @discardableResult
    public func prove(_ conflict: AuthConflict, in auth: Auth) async throws(AuthError) -> ConflictProof {
        var conflict = try auth.newest(conflict)
        let body: [String: JSONValue?] = [
            "proofToken": proofToken.text.json,
            "way": "linkProvider",
            "pendingToken": conflict.handle.text.json,
        ]
        let call = Call<ProvenConflictWire>.post(Self.path, body)
            .once(Digest.idempotencyKey(proofToken, Self.path, conflict.handle.text))
        let proven = try await conflict.ending(in: auth) { () throws(AuthError) in try await auth.backend.call(call) }
        return try conflict.store(proven, in: auth)
    }
}

extension AuthConflict {
    /// Removes the conflict if a sign-in has linked its credential.
    func settled(by user: User) async throws(AuthError) {
        guard user.providerData.contains(where: { $0.providerID == providerID }) else { return }
        try user.auth.forget(self)
    }
}
