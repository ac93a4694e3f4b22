/// The treatment of an unproven address from a provider whose identity has no account.
package enum UnprovenAddress: String, Sendable, Hashable, CaseIterable {
    /// Creates an account if the address is free, and opens a conflict otherwise. The answer says which.
    case link
    /// Mails the address in both cases, and gives one answer. The owner of the mailbox continues.
    case confirm
}

extension LinkPolicy {
    /// Returns true if an unproven address from a provider must be confirmed. If duplicates are allowed, an address
    /// identifies no account, so an answer says nothing.
    package var confirmsUnprovenAddresses: Bool { isOneAccountPerEmail && unprovenAddress == .confirm }
}
