/// A live code that brings an address back to an account (`RECOVER_EMAIL`).
package struct LiveRecovery: Sendable, Hashable {
    package let email: EmailAddress
    /// True if the reader of the mailbox had shown to own the address before it was replaced.
    package let wasProven: Bool
    package let createdAt: Timestamp

    package init(email: EmailAddress, wasProven: Bool, createdAt: Timestamp) {
        self.email = email
        self.wasProven = wasProven
        self.createdAt = createdAt
    }
}

/// Effect of another address on the owner of the one before.
package enum AddressReplacement: Sendable, Hashable {
    /// A mail to a former address carries a code that brings the address back.
    ///
    /// - `wasProven`: true if its reader had shown to own it.
    /// - `since`: the time of the first such code, which the new one counts from as well; `nil` if it is the first.
    case mail(to: EmailAddress, wasProven: Bool, since: Timestamp?)
    /// The account has a proven address again that a live code would have brought back. What went anywhere else is void.
    case returned
    /// Nobody is mailed.
    case silent
}

/// Decides whose mailbox gets the code that undoes a change of address.
///
/// Total and pure; the first that fits wins:
///
/// 1. The address that live codes name already, if it had been proven: a thief who moves the account again must not become the one
///    who is mailed.
/// 2. The replaced address, if it is proven. An address that its owner left long ago gets nothing: it may be another person's by now.
/// 3. An unproven first address, when it is replaced, and as long as a live code names it.
///
/// - `account`: before the change.
/// - `next`: the address after it.
/// - `initial`: the account's first address, after the change.
/// - `live`: the codes of the account that live, the oldest first.
package func decideReplaceAddress(
    policy: LinkPolicy,
    account: Account,
    next: AccountEmail?,
    initial: EmailAddress?,
    live: [LiveRecovery]
) -> AddressReplacement {
    if next?.address == account.email?.address { return .silent }
    let proven = live.filter(\.wasProven)
    if let next, proven.contains(where: { $0.email == next.address }) { return next.isVerified ? .returned : .silent }
    if let first = proven.first { return .mail(to: first.email, wasProven: true, since: first.createdAt) }
    if let replaced = account.email, policy.isProven(account) {
        return .mail(to: replaced.address, wasProven: true, since: nil)
    }
    guard let initial, initial != next?.address,
        initial == account.email?.address || live.contains(where: { $0.email == initial })
    else { return .silent }
    return .mail(to: initial, wasProven: false, since: nil)
}
