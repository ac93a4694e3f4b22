/// A provider's first sign-in that waits for the person's choice: a new account, or the account that they have under
/// another address.
///
/// ``Auth/signIn(with:asksFirst:)`` throws `asksFirst`, and ``AuthError/firstSignIn`` has this value. The value is
/// `Codable`: its credential signs in for 10 minutes, so protect the encoded value like a password.
///
/// Source: `docs/guides/another-address.md`.
public struct FirstSignIn: Sendable, Codable, Hashable {
    /// The provider.
    public let providerID: String
    /// The address that the provider names.
    public let email: String?
    /// The name that the provider names.
    public let displayName: String?
    /// The credential that waits.
    public let credential: AuthCredential

    /// Creates an account, and signs in. If someone created it meanwhile, it signs in to it.
    ///
    /// - Throws: `invalidCredential` after 10 minutes: sign in with the provider again.
    @discardableResult
    public func createAccount(in auth: Auth) async throws(AuthError) -> AuthDataResult {
        try await auth.signIn(with: credential)
    }

    /// Links the provider to the account that the person has, after they signed in to it.
    ///
    /// - Throws: The errors of ``User/link(with:)``; `invalidCredential` after 10 minutes.
    @discardableResult
    public func link(to user: User) async throws(AuthError) -> AuthDataResult {
        try await user.link(with: credential)
    }
}

extension AuthError {
    /// The sign-in that waits for the person's choice, with ``AuthErrorCode/asksFirst``.
    public var firstSignIn: FirstSignIn? {
        guard code == .asksFirst, let updatedCredential else { return nil }
        return FirstSignIn(
            providerID: updatedCredential.provider,
            email: email,
            displayName: details["displayName"]?.stringValue,
            credential: updatedCredential
        )
    }
}

extension Auth {
    /// Signs in with a provider's credential, unless that would create an account.
    ///
    /// - Parameters:
    ///   - credential: The provider's credential.
    ///   - asksFirst: False to create an account, as ``signIn(with:)`` does.
    /// - Returns: The user.
    /// - Throws: `asksFirst` with ``AuthError/firstSignIn``. Nothing is created.
    @discardableResult
    public func signIn(
        with credential: AuthCredential,
        asksFirst: Bool
    ) async throws(AuthError) -> AuthDataResult {
        try await signIn(with: credential, for: .signIn(provider: credential.provider), asksFirst: asksFirst)
    }
}
