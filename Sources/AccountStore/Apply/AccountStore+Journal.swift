package import AccountLinking
package import Postgres

/// What undoing a step would come upon.
package struct UndoSituation: Sendable, Hashable {
    /// Whether the step is in the journal: it was applied, was not undone, and can be still.
    package let isKnown: Bool
    /// In the order of tables, users and subjects.
    package let clashes: [JournalClash]
}

/// A step to undo, ready to be applied.
package struct UndoWrite: Sendable {
    package var step: JournalStep
    /// What was found and accepted: these stay as they are now. Each must be one that `canStay`.
    package var clashes: [JournalClash]
    /// Whose history tells of it.
    package var user: UserID
    package var event: AccountEvent
    package var sideWrites: [AccountWrite.SideWrite]
    /// Whether the sessions of users that the step changed end, also where the step had ended none: needed where it gave
    /// somebody a way in.
    package var endsSessions: Bool

    package init(
        _ step: JournalStep,
        accepting clashes: [JournalClash] = [],
        endsSessions: Bool = false,
        of user: UserID,
        event: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) {
        precondition(clashes.allSatisfy(\.canStay), "what owns something cannot be left half-way")
        self.step = step
        self.clashes = clashes
        self.endsSessions = endsSessions
        self.user = user
        self.event = event
        self.sideWrites = sideWrites
    }
}

extension AccountStore {
    /// What undoing `step` would come upon now. Two round trips.
    package func undoSituation(of step: JournalStep) async throws(PostgresError) -> UndoSituation {
        let (rows, clashes) = try await client.read(AccountJournalRow.of(step), AccountJournalRow.clashes(step))
        return UndoSituation(isKnown: !rows.isEmpty, clashes: clashes)
    }

    /// The accounts of `step` as an undo would leave them now. One round trip.
    package func restoredOwners(of step: JournalStep) async throws(PostgresError) -> [RestoredOwner] {
        try await client.read(AccountJournalRow.restoredOwners(step))
    }

    /// Puts every row of a step back as it was, in one transaction: all of it or nothing.
    ///
    /// Two that undo the same step never both do; a change of an account that was decided before is decided again, because
    /// its version has grown. Sessions, mailed codes, sign-ins that wait for a second factor, conflicts and kept answers do
    /// not come back, and an account that the step deleted comes back with another session epoch: whoever had a session
    /// before has to sign in again.
    /// - Returns: `.factsMoved` where the step is undone already, or clashes with other things than `write` accepts.
    /// - Throws: `PostgresError` when the database could not do it; nothing is half-done then.
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
