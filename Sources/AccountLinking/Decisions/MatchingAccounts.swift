/// The facts a provider's credential is judged by, loaded together.
package struct MatchingAccounts: Sendable, Hashable {
    /// The account that holds (provider, subject).
    package var identityOwner: Account?
    /// The account whose top-level address equals the credential's, whether or not policy trusts the provider.
    /// `nil` when the credential names no address. Addresses inside provider rows never count.
    package var emailOwner: Account?

    package init(identityOwner: Account?, emailOwner: Account?) {
        self.identityOwner = identityOwner
        self.emailOwner = emailOwner
    }
}
