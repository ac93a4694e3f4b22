/// The sessions of one account that are to end.
package enum SessionsToEnd: Sendable, Hashable {
    /// The one that asks.
    case own
    /// Another one.
    case one
    /// All but the one that asks.
    case others
    case all
}

package enum EndSessionsDecision: Sendable, Hashable {
    /// They have ended already.
    case unchanged
    /// Delete the sessions that were named, and no other.
    ///
    /// - `voiding`: the codes that are void if the user asks, with every open conflict: an ended session may have begun them.
    case delete(voiding: VoidedCodes)
    /// End every session there is, and revoke every ID token.
    case endAll(AccountChange, voiding: VoidedCodes)
}

/// Decides whether sessions of an account end because its user, or an administrator, asks for it.
///
/// Total and pure. What an ended session began ends with it: the owner does not know what a thief's session asked for, so every
/// conflict and code goes that does not take something back. A session that ends itself takes along only what no one but a session
/// asks for: people sign out and open the mail that confirms their address later.
///
/// Ending asks for no recent sign-in: a session gives nothing away by it, and the owner of an account in
/// strange hands must not lose time. A stolen session that ends the owner's gains nothing, because the owner signs in again
/// and ends the stolen one.
///
/// - `account`: that of the session that asks, which `decideAccess` found alive; or that an administrator names.
/// - `areThere`: whether a session to be ended exists. `all` does not ask: ID tokens live without a session's row.
package func decideEndSessions(
    _ sessions: SessionsToEnd,
    of account: Account,
    areThere: Bool
) -> Verdict<EndSessionsDecision> {
    switch sessions {
    case .own, .one, .others:
        guard areThere else { return Verdict(.sessionsEndedAlready, .unchanged) }
        return Verdict(
            .sessionsEndedByRequest,
            .delete(voiding: sessions == .own ? .addressChanges : .allButRecovery)
        )
    case .all:
        var change = AccountChange()
        change.endsSessions = true
        return Verdict(.sessionsEndedByRequest, .endAll(change, voiding: .allButRecovery))
    }
}
