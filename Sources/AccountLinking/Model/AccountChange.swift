/// Everything a decision changes about one account. Applying it needs no further thought: one function in
/// `AccountStore` turns it into writes, straight through.
///
/// The values that only the shell knows (the new password's hash, the time, the identifier of the event) travel beside
/// it. An empty change writes nothing and raises no version.
package struct AccountChange: Sendable, Hashable {
    package enum Email: Sendable, Hashable {
        case keep
        /// The account takes `address` (and its claim); the previous address and claim are given up.
        case set(EmailAddress, proof: EmailProof?)
        /// The current address becomes verified by `proof`.
        case prove(EmailProof)
        /// The current address stays and counts as unverified again.
        case unprove
        case remove
    }

    package enum Password: Sendable, Hashable {
        case keep
        /// The hash made by the shell becomes the password.
        case set
        case remove
    }

    package enum Phone: Sendable, Hashable {
        case keep
        case set(PhoneNumber)
        /// The claim is released; the number stays as unproven data (rule R4).
        case release
        case remove
    }

    package enum ProfileUpdate: Sendable, Hashable {
        case keep
        /// Only fields that the account does not have yet (rule I7).
        case fillBlanks(Profile)
        /// Every field, clearing those the provider lacks.
        case replace(Profile)
        /// The display name, as its owner wants it; the rest stays.
        case rename(String)
    }

    package var email = Email.keep
    /// The address to remember as the account's first, once (`initialEmail` on the wire).
    package var rememberedInitialEmail: EmailAddress?
    package var password = Password.keep
    /// `true`: sign-in by link is a proven method from now on. `false`: it no longer is. `nil`: unchanged.
    package var emailLink: Bool?
    package var phone = Phone.keep
    /// The identity to link; replaces a row of the same provider when that provider is in `unlinkedProviders` too.
    package var linkedIdentity: ProviderIdentity?
    package var unlinkedProviders: Set<ProviderID> = []
    /// What this takes off the account is suspended instead of gone, for as long as the project says: it may have been
    /// the owner's own.
    package var quarantinesRemovals = false
    package var profile = ProfileUpdate.keep
    /// The second factors that the account has from then on, in order; `nil`: unchanged.
    package var secondFactors: [SecondFactor]?
    package var isDisabled: Bool?
    /// Marks the account as one that custom tokens sign in to.
    package var usesCustomTokens: Bool?
    /// Raises the session epoch and moves `validSince`: every session and ID token issued so far is dead.
    package var endsSessions = false
    /// Outstanding action codes and open conflicts of the account are void, and its first address is
    /// forgotten: it was whoever's came before the owner, who would be mailed a way back at the next change.
    package var voidsOutstandingProofs = false

    package init() {}

    package var isEmpty: Bool { self == AccountChange() }
}
