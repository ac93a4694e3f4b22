package import AccountLinking
import AccountStore

/// A merge as the owner of one of the accounts sees it.
package struct OwnMerge: Sendable {
    package let merge: Merge
    /// True if the owner may undo the merge, unless later changes prevent it.
    package let canUndo: Bool
}

extension AccountOperations {
    /// The newest merges of a session's account, as survivor or absorbed, 100 at most. Two round trips.
    package func merges(idToken: String, tenant: TenantID) async throws -> [OwnMerge] {
        let user = try await authenticate(idToken: idToken, tenant: tenant).user
        return try await merges(of: user)
    }

    /// The same for a user that was read already. One round trip.
    func merges(of user: UserRecord) async throws -> [OwnMerge] {
        let now = effects.now()
        return try await merges.merges(of: user.id, tenant: user.tenant).merges.map { merge in
            // The session and later changes are judged when the owner asks for the undo.
            let verdict = decideUndoMergeByOwner(
                MergeUndoByOwner(
                    isOfSurvivor: merge.survivor == user.id,
                    isMergedByOwners: merge.requestedBy == .owners,
                    isCommitted: merge.state == .committed,
                    isInTime: merge.undoUntil.map { now < $0 } ?? false,
                    hasLaterChanges: false,
                    isSessionRecent: true,
                    lacksSecondFactor: false
                )
            )
            return OwnMerge(merge: merge, canUndo: verdict.decision == nil)
        }
    }

    /// Undoes a merge into a session's account (rules H7 to H14).
    ///
    /// Ends all sessions of both accounts, also the calling one, so a repeated request is refused. Mails both owners.
    /// If several callers undo it at once, also administrators, one succeeds.
    ///
    /// - `expectedVersion`: the version of the merge that the caller has read; `nil` accepts any.
    /// - Throws: `Contention`, or a database error.
    package func undoMerge(
        _ id: String,
        idToken: String,
        expectedVersion: Int64?,
        tenant: TenantID
    ) async throws -> UndoneMerge {
        let session = try await authenticate(idToken: idToken, tenant: tenant)
        let challenge = challenge(session, for: .mergeAccounts, now: effects.now())
        return try await merges.undo(id, expectedVersion: expectedVersion, tenant: tenant) {
            let user = try await account(of: session, asItIs: store.user(session.user.id, tenant: tenant))
            return MergeOwner(
                account: user,
                challenge: challenge,
                lacksSecondFactor: !user.secondFactors.isEmpty && session.token.secondFactor == nil
            )
        }
    }
}
