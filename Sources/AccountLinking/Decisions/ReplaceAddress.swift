/// A live code that recovers an address of an account (`RECOVER_EMAIL`).
package struct LiveRecovery: Sendable, Hashable {
    package let email: EmailAddress
    /// True if the address was proven before it was replaced.
    package let wasProven: Bool
    package let createdAt: Timestamp

    package init(email: EmailAddress, wasProven: Bool, createdAt: Timestamp) {
        self.email = email
        self.wasProven = wasProven
        self.createdAt = createdAt
    }
}

/// The effect of a change of address on its former owner.
package enum AddressReplacement: Sendable, Hashable {
    /// Mail a code that recovers the address to a former address.
    ///
    /// - `wasProven`: the former address was proven.
    /// - `since`: the time of the first such code, from which the new code counts too; `nil` if this is the first.
    case mail(to: EmailAddress, wasProven: Bool, since: Timestamp?)
    /// The account has a proven address again that a live code names. Codes that went to other addresses are void.
    case returned
    /// Mail no one.
    case silent
}

/// Decides which mailbox gets the code that undoes a change of address. The first that applies:
///
/// 1. The proven address that live codes already name. A thief who changes the address again must not become the
///    recipient.
/// 2. The replaced address, if it is proven. An address that its owner left long ago may belong to another person by
///    now.
/// 3. The unproven first address, when it is replaced, and while a live code names it.
///
/// - `account`: before the change.
/// - `next`: the address after the change.
/// - `initial`: the account's first address, after the change.
/// - `live`: the live codes of the account, the oldest first.
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
