/// Sessions of one account to end.
package enum SessionsToEnd: Sendable, Hashable {
    /// The session of the request.
    case own
    /// One other session.
    case one
    /// All sessions but that of the request.
    case others
    case all
}

package enum EndSessionsDecision: Sendable, Hashable {
    /// The sessions have ended already.
    case unchanged
    /// Delete only the named sessions.
    ///
    /// - `voiding`: codes that become void with every open conflict if the user asks, because an ended session may have
    ///   begun them.
    case delete(voiding: VoidedCodes)
    /// End every session and revoke every ID token.
    case endAll(AccountChange, voiding: VoidedCodes)
}

/// Decides whether sessions end at the request of their user or an administrator.
///
/// The owner does not know what a thief's session began. So ending a session voids every conflict, and every code that
/// does not undo a change. A session that ends itself voids only address changes: people sign out, and open the mail
/// that verifies their address later.
///
/// No recent sign-in is required. Ending a session reveals nothing, and an owner whose account is abused must not lose
/// time. A thief gains nothing by ending the owner's sessions: the owner signs in again and ends the thief's.
///
/// - `account`: the account of the session, which `decideAccess` has accepted, or the one that an administrator names.
/// - `areThere`: at least one of the sessions exists. Unused for `all`, because ID tokens outlive the rows of sessions.
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
