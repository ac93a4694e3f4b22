/// All changes of one account by one decision. A function in `AccountStore` turns them into writes, without further
/// choices.
///
/// Values from outside the core (the hash of a new password, the time, the event's id) are passed beside it. An empty
/// change writes nothing and does not raise `version`.
package struct AccountChange: Sendable, Hashable {
    package enum Email: Sendable, Hashable {
        case keep
        /// The account gets `address` and its claim, and loses the previous ones.
        case set(EmailAddress, proof: EmailProof?)
        /// The current address becomes verified by `proof`.
        case prove(EmailProof)
        /// The current address stays, unverified.
        case unprove
        case remove
    }

    package enum Password: Sendable, Hashable {
        case keep
        /// The hash that is passed beside the change becomes the password.
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
        /// Sets only fields that the account lacks (rule I7).
        case fillBlanks(Profile)
        /// Sets every field, and clears those that the provider lacks.
        case replace(Profile)
        /// Sets the display name, chosen by the owner. The rest stays.
        case rename(String)
    }

    package var email = Email.keep
    /// The account's first address, stored once (`initialEmail` on the wire).
    package var rememberedInitialEmail: EmailAddress?
    package var password = Password.keep
    /// `true`: sign-in by link becomes a proven method. `false`: it no longer is one. `nil`: unchanged.
    package var emailLink: Bool?
    package var phone = Phone.keep
    /// The identity to link. It replaces the row of the same provider if `unlinkedProviders` contains that provider.
    package var linkedIdentity: ProviderIdentity?
    package var unlinkedProviders: Set<ProviderID> = []
    /// True if removed methods are suspended for the project's quarantine instead of deleted, because they may be the
    /// owner's.
    package var quarantinesRemovals = false
    package var profile = ProfileUpdate.keep
    /// The second factors after the change, in order; `nil`: unchanged.
    package var secondFactors: [SecondFactor]?
    package var isDisabled: Bool?
    package var usesCustomTokens: Bool?
    /// Raises the session epoch and moves `validSince`: every session and ID token so far becomes invalid.
    package var endsSessions = false
    /// Voids the account's mailed codes and open conflicts, and deletes its first address. That address belongs to the
    /// previous user, who would otherwise get a recovery mail at the next change.
    package var voidsOutstandingProofs = false

    package init() {}

    package var isEmpty: Bool { self == AccountChange() }
}
