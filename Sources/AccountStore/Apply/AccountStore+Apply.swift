package import AccountLinking
package import Postgres

extension AccountStore {
    package enum Applied: Sendable, Hashable {
        case applied
        /// Another request changed a fact of the decision: load and decide again.
        case factsMoved
    }

    /// Applies one decision in one transaction.
    ///
    /// Safe under any concurrency: the primary key of `identifiers` decides ownership, the user's version detects stale
    /// facts, and foreign keys and `assertRaised` check existence. If the connection is lost after COMMIT, the event
    /// shows whether the write took effect.
    /// - Throws: a database error. Nothing is applied then.
    package func apply(_ write: AccountWrite) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("account-write", isShared: write.standsAlone)
        batch.order = write.order
        append(write, to: &batch)
        return try await run(batch, event: write.event, of: write.user.id, tenant: write.user.tenant)
    }

    /// Applies a decision by which one account takes an address from another, in one transaction.
    ///
    /// - `loss`: the write to the account that loses the address.
    package func apply(
        _ write: AccountWrite,
        takingAddressFrom loss: AccountWrite
    ) async throws(PostgresError) -> Applied {
        let (user, tenant) = (write.user.id, write.user.tenant)
        var batch = WriteBatch("address-take")
        // In the order of their ids, so that two accounts that take from each other do not deadlock.
        batch.append(UserRow.hold([user.rawValue, loss.user.id.rawValue], tenant: tenant))
        append(loss, to: &batch)
        append(write, to: &batch)
        let applied = try await run(batch, event: write.event, of: user, tenant: tenant)
        if applied == .applied { observer?.applied(loss.event) }
        return applied
    }

    private func append(_ write: AccountWrite, to batch: inout WriteBatch) {
        batch.append(write.journal?.opening ?? [])
        batch.append(write.statements())
        let (user, tenant) = (write.user.id, write.user.tenant)
        announce(write.announcements, as: write.event, of: user, tenant: tenant, in: &batch)
        let gained = write.gainedMethods
        // After the announcements: they read whether a method was suspended before.
        if !gained.isEmpty { batch.append(QuarantinedMethodRow.delete(gained, of: user, tenant: tenant)) }
        batch.append(write.journal?.closing ?? [])
    }

    /// Deletes an account with all its rows, and frees its identifiers.
    package func delete(_ user: UserRecord, event: AccountEvent) async throws(PostgresError) -> Applied {
        try await delete([(user, event)])
    }

    /// Deletes several accounts of one tenant: all of them, or none if a fact of any has changed.
    ///
    /// Pass them sorted by id, so that concurrent calls do not deadlock.
    package func delete(_ deletions: [(user: UserRecord, event: AccountEvent)]) async throws(PostgresError) -> Applied {
        guard let first = deletions.first else { return .applied }
        // A code that is issued later changes its account.
        let freed = try await freeingReserved(of: deletions.map(\.user.id), tenant: first.user.tenant)
        var batch = WriteBatch("account-delete")
        for (user, event) in deletions {
            batch.append(UserRow.lock(user))
            batch.append(UserRow.assertRaised(user))
            for identifier in user.identifiers {
                batch.append(IdentifierRow.release(identifier, of: user.id, tenant: user.tenant))
            }
            batch.append(Self.deletion(of: user, event: event))
        }
        batch.append(freed)
        // All or nothing: one event shows the outcome of all.
        let applied = try await run(batch, event: first.event, of: first.user.id, tenant: first.user.tenant)
        if applied == .applied { for (_, event) in deletions.dropFirst() { observer?.applied(event) } }
        return applied
    }

    /// Statements that free the addresses reserved for accounts, in the order of their keys. One round trip.
    func freeingReserved(of users: [UserID], tenant: TenantID) async throws(PostgresError) -> [SQL] {
        try await client.read(EmailCodeRow.recoverable(of: users, tenant: tenant))
            .map { IdentifierRow.clearAny($0.key, of: $0.user, tenant: tenant) }
    }

    /// Statements that delete an account whose row is locked and whose identifiers are free.
    static func deletion(of user: UserRecord, event: AccountEvent) -> [SQL] {
        var statements = [
            EmailCodeRow.deleteAll(of: user.id, tenant: user.tenant),
            StoredResponseRow.deleteAnswers(to: user.id, tenant: user.tenant),
        ]
        if let address = user.email?.address {
            statements.append(PasswordAttemptRow.clearSources(of: address, tenant: user.tenant))
        }
        return statements + [
            UserRow.delete(user.id, tenant: user.tenant),
            AccountEventRow.insert(event, of: user.id, tenant: user.tenant),
        ]
    }

    /// Writes `batch`, which ends with `event`. If the answer is lost, the event shows whether the batch took effect.
    func run(
        _ batch: WriteBatch,
        event: AccountEvent,
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> Applied {
        let applied = try await applying(batch) { () throws(PostgresError) in
            let found = try await client.read(AccountEventRow.withID(event.id, of: user, tenant: tenant))
            return found.isEmpty ? .factsMoved : .applied
        }
        if applied == .applied { observer?.applied(event) }
        return applied
    }

    /// Writes `batch`.
    ///
    /// - `whenUnknown`: finds out whether the batch took effect if the answer to its commit is lost; `nil` if it
    ///   cannot.
    /// - Returns: `.factsMoved` if a guard of the batch stopped it.
    func applying(
        _ batch: WriteBatch,
        whenUnknown: () async throws(PostgresError) -> Applied? = { nil }
    ) async throws(PostgresError) -> Applied {
        do {
            try await client.write(batch)
            return .applied
        } catch {
            if error.saysFactsMoved { return .factsMoved }
            guard error.code == .commitOutcomeUnknown, let applied = try await whenUnknown() else { throw error }
            return applied
        }
    }
}

extension PostgresError {
    /// Returns true if a guard stopped the write, because another request changed the facts.
    var saysFactsMoved: Bool {
        guard case .server(let state) = code else { return false }
        switch state {
        case .uniqueViolation, .foreignKeyViolation, .divisionByZero, .serializationFailure, .deadlockDetected:
            return true
        case .notNullViolation:
            // Columns that a stale writer sets to NULL. Citus names them only in the message.
            return ["version", "state", "messages", "failures"].contains(column ?? columnInMessage)
        case .internalError:
            // The form in which Citus reports 23505 for a row that it copies to a shard (`INSERT … SELECT`).
            return quotedNames.count == 1 && quotedNames[0].contains(#/_pkey_\d+$/#)
        default:
            return false
        }
    }

    /// The column that the message of 23502 from Citus names, in any language: of the two quoted names, the one that is
    /// not the shard. The name of a shard ends with `_` and its number.
    private var columnInMessage: String? {
        let names = quotedNames
        guard names.count == 2, let shard = names.firstIndex(where: { $0.contains(#/_\d+$/#) }) else { return nil }
        return names[1 - shard]
    }

    /// The names that the message quotes.
    private var quotedNames: [String] {
        let parts = message.split(omittingEmptySubsequences: false) { #""«»„“”"#.contains($0) }
        // Every second part is between quotes. Some languages put spaces inside them.
        return parts.indices.filter { !$0.isMultiple(of: 2) }.map { place in
            String(parts[place].drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
        }
    }
}
