/// The sessions of one account that are to end.
package enum SessionsToEnd: Sendable, Hashable {
    case one
    /// All but the one that asks.
    case others
    case all
}

package enum EndSessionsDecision: Sendable, Hashable {
    /// They have ended already.
    case unchanged
    /// Delete the sessions that were named, and no other.
    case delete
    /// End every session there is, and revoke every ID token.
    case endAll(AccountChange)
}

/// Decides whether sessions of an account end because its user, or an administrator, asks for it.
///
/// Total and pure. Ending asks for no recent sign-in: a session gives nothing away by it, and the owner of an account in
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
    case .one, .others:
        return areThere ? Verdict(.sessionsEndedByRequest, .delete) : Verdict(.sessionsEndedAlready, .unchanged)
    case .all:
        var change = AccountChange()
        change.endsSessions = true
        return Verdict(.sessionsEndedByRequest, .endAll(change))
    }
}
