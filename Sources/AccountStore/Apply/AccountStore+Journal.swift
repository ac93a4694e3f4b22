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
    /// The state that an undo of `step` would find now. One round trip, and one for each user and claim of the step.
    package func undoSituation(of step: JournalStep) async throws(PostgresError) -> UndoSituation {
        let journal = try await journal(of: step)
        var clashes: [JournalClash] = []
        for (user, rows) in journal.users {
            clashes += try await client.read(AccountJournalRow.clashes(rows, of: user, tenant: step.tenant))
        }
        for (claim, row) in journal.claims {
            let owners = try await client.read(AccountJournalRow.owner(of: claim, row, tenant: step.tenant))
            guard owners.first != row.userAfter else { continue }
            clashes.append(JournalClash(table: row.table, user: row.user, subject: row.key))
        }
        return UndoSituation(isKnown: !journal.isEmpty, clashes: clashes.sorted { $0.precedes($1) })
    }

    /// The accounts of `step` as an undo would leave them now. One round trip, and one for each account.
    package func restoredOwners(of step: JournalStep) async throws(PostgresError) -> [RestoredOwner] {
        let journal = try await journal(of: step)
        var owners: [RestoredOwner] = []
        for row in journal.accounts where row.before != nil {
            owners += try await client.read(AccountJournalRow.restoredOwner(row, tenant: step.tenant))
        }
        return owners
    }

    /// Restores every row of a step in one transaction.
    ///
    /// Reads the journal before. The transaction locks the step and asserts that nothing has changed since.
    ///
    /// Concurrent undos of one step never both succeed. A decision taken on an account before is decided again, because
    /// the undo raises the version. Sessions, mailed codes, pending second factors, conflicts and stored answers are
    /// not restored. An account that the step deleted returns with another session epoch: its user must sign in again.
    /// - Returns: `.factsMoved` if the step is already undone, has other clashes than `write` accepts, or has a secret
    ///   that was sealed again during the undo.
    /// - Throws: a database error. Nothing is applied then.
    package func undo(_ write: UndoWrite) async throws(PostgresError) -> Applied {
        try await undo(write, restoring: try await journal(of: write.step))
    }

    /// The change of `step` as the journal has it now.
    func journal(of step: JournalStep) async throws(PostgresError) -> JournaledChange {
        JournaledChange(step, try await client.read(AccountJournalRow.of(step)))
    }

    /// - `journal`: the change that was read. The transaction asserts that the journal still has it.
    func undo(_ write: UndoWrite, restoring journal: JournaledChange) async throws(PostgresError) -> Applied {
        let users = Set(journal.users.map(\.user))
        guard !journal.isEmpty, write.clashes.allSatisfy({ users.contains($0.user) }) else { return .factsMoved }
        var batch = WriteBatch("account-undo")
        batch.append(journal.assertions(accepting: write.clashes))
        batch.append(journal.restoration(endingSessions: write.endsSessions, at: write.event.occurredAt))
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

/// The rows of a step in the journal, by the shards of the rows that they restore.
struct JournaledChange {
    private let step: JournalStep
    private let rows: [AccountJournalRow]
    /// The rows of each user, in the order of user ids.
    let users: [(user: String, rows: [AccountJournalRow])]

    init(_ step: JournalStep, _ rows: [AccountJournalRow]) {
        self.step = step
        self.rows = rows
        let ofUsers = Dictionary(grouping: rows, by: \.user)
        users = Array(ofUsers.keys).inOrderOfIDs.map { ($0, ofUsers[$0] ?? []) }
    }

    var isEmpty: Bool { rows.isEmpty }

    /// The rows of `users`.
    var accounts: [AccountJournalRow] { users.flatMap(\.rows).filter { $0.table == "users" } }

    var claims: [(claim: JournalEntry.Claim, row: AccountJournalRow)] {
        rows.compactMap { row in row.claim.map { ($0, row) } }
    }

    /// Locks the step and its users. Raises 22012 (division by zero) if the step is undone, if an image was sealed again
    /// after it was read, or if the step has other clashes than `clashes`.
    func assertions(accepting clashes: [JournalClash]) -> [SQL] {
        let tenant = step.tenant
        var statements = [AccountJournalRow.hold(step, count: rows.count)]
        if let assertion = AccountJournalRow.assertImages(rows, of: step) { statements.append(assertion) }
        statements += users.map { UserRow.hold($0.user, tenant: tenant) }
        statements += users.map { user, rows in
            let accepted = clashes.filter { $0.user == user }.sorted { $0.precedes($1) }
            return AccountJournalRow.assertClashes(accepted, rows, of: user, tenant: tenant)
        }
        return statements + claims.map { AccountJournalRow.assertOwner(of: $0, $1, tenant: tenant) }
    }

    /// Restores all rows that have not changed after the step.
    func restoration(endingSessions: Bool, at now: Timestamp) -> [SQL] {
        let tenant = step.tenant
        var statements = users.flatMap { AccountJournalRow.removeAfter($0.rows, of: $0.user, tenant: tenant) }
        for row in rows where row.table == "one_time_codes" && row.after != nil {
            statements.append(AccountJournalRow.removeCode(row, tenant: tenant))
        }
        statements += claims.map { AccountJournalRow.removeClaim($0, $1, tenant: tenant) }
        statements += accounts.flatMap { row -> [SQL] in
            switch (row.before, row.after) {
            case (.some, .some):
                [
                    AccountJournalRow.restoreUser(row, tenant: tenant, endingSessions: endingSessions, at: now),
                    AccountJournalRow.deleteEndedSessions(of: row.user, tenant: tenant),
                ]
            case (.some, nil): [AccountJournalRow.insertUser(row, at: now)]
            case (nil, .some): [AccountJournalRow.deleteUser(row.user, tenant: tenant)]
            case (nil, nil): []
            }
        }
        statements += users.flatMap { AccountJournalRow.restoreRows($0.rows, of: $0.user, tenant: tenant) }
        for (_, row) in claims where row.before != nil { statements.append(AccountJournalRow.restoreClaim(row)) }
        return statements
    }
}

extension JournalClash {
    /// In the order of the database, which compares bytes.
    fileprivate func precedes(_ other: JournalClash) -> Bool {
        for (left, right) in [(table, other.table), (user, other.user), (subject, other.subject)] where left != right {
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        }
        return false
    }
}
