package import AccountLinking
package import Postgres

/// The state that an undo of a step would find.
package struct UndoSituation: Sendable, Hashable {
    /// True if the journal has the step: it was applied, was not undone, and can still be undone.
    package let isKnown: Bool
    /// Sorted by table, user and subject.
    package let clashes: [JournalClash]
}

/// An undo of a step, to be applied.
package struct UndoWrite: Sendable {
    package var step: JournalStep
    /// Clashes that were found and accepted: their rows stay as they are. Each must be one that `canStay`.
    package var clashes: [JournalClash]
    /// The user whose history records the undo.
    package var user: UserID
    package var event: AccountEvent
    package var sideWrites: [AccountWrite.SideWrite]
    /// True to end the sessions of the changed users even if the step ended none. Needed if the step gave someone a
    /// sign-in method.
    package var endsSessions: Bool

    package init(
        _ step: JournalStep,
        accepting clashes: [JournalClash] = [],
        endsSessions: Bool = false,
        of user: UserID,
        event: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) {
        precondition(clashes.allSatisfy(\.canStay), "only a clash that can stay may be accepted")
        self.step = step
        self.clashes = clashes
        self.endsSessions = endsSessions
        self.user = user
        self.event = event
        self.sideWrites = sideWrites
    }
}

extension AccountStore {
    /// The state that an undo of `step` would find now. Two round trips.
    package func undoSituation(of step: JournalStep) async throws(PostgresError) -> UndoSituation {
        let (rows, clashes) = try await client.read(AccountJournalRow.of(step), AccountJournalRow.clashes(step))
        return UndoSituation(isKnown: !rows.isEmpty, clashes: clashes)
    }

    /// The accounts of `step` as an undo would leave them now. One round trip.
    package func restoredOwners(of step: JournalStep) async throws(PostgresError) -> [RestoredOwner] {
        try await client.read(AccountJournalRow.restoredOwners(step))
    }

    /// Restores every row of a step in one transaction.
    ///
    /// Concurrent undos of one step never both succeed. A decision taken on an account before is decided again, because
    /// the undo raises the version. Sessions, mailed codes, pending second factors, conflicts and stored answers are
    /// not restored. An account that the step deleted returns with another session epoch: its user must sign in again.
    /// - Returns: `.factsMoved` if the step is already undone, or has other clashes than `write` accepts.
    /// - Throws: a database error. Nothing is applied then.
    package func undo(_ write: UndoWrite) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("account-undo")
        batch.append(AccountJournalRow.hold(write.step))
        batch.append(AccountJournalRow.lockUsers(write.step))
        batch.append(AccountJournalRow.assertClashes(write.clashes, write.step))
        batch.append(AccountJournalRow.removeAfter(write.step))
        let now = write.event.occurredAt
        batch.append(AccountJournalRow.restoreUsers(write.step, endingSessions: write.endsSessions, at: now))
        batch.append(AccountJournalRow.insertUsers(write.step, at: now))
        batch.append(AccountJournalRow.deleteUsers(write.step))
        batch.append(AccountJournalRow.restoreRows(write.step))
        batch.append(AccountJournalRow.delete(write.step))
        batch.append(write.sideWrites.flatMap(\.statements))
        batch.append(AccountEventRow.insert(write.event, of: write.user, tenant: write.step.tenant))
        announce(
            write.sideWrites.flatMap(\.announcements),
            as: write.event,
            of: write.user,
            tenant: write.step.tenant,
            in: &batch
        )
        return try await run(batch, event: write.event, of: write.user, tenant: write.step.tenant)
    }
}
