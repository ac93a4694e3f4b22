package import AccountLinking
package import Postgres

extension AccountStore {
    /// Whether a write took effect.
    package enum Applied: Sendable, Hashable {
        case applied
        /// Another request changed a fact the decision was taken on: load and decide again.
        case factsMoved
    }

    /// Applies one decision in one transaction: all of it or nothing.
    ///
    /// Safe under any concurrency: ownership is judged by the primary key of `identifiers`, staleness by the user's
    /// version, existence by foreign keys and `assertRaised`. When the connection is lost after COMMIT was sent, the
    /// event made beforehand tells whether it took effect.
    /// - Throws: `PostgresError` when the database could not do it; nothing is half-done then.
    package func apply(_ write: AccountWrite) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("account-write", isShared: write.standsAlone)
        batch.order = write.order
        append(write, to: &batch)
        return try await run(batch, event: write.event, of: write.user.id, tenant: write.user.tenant)
    }

    /// Applies a decision by which one account takes an address from another: both changes in one transaction, or neither.
    ///
    /// - `loss`: the account that loses the address.
    package func apply(
        _ write: AccountWrite,
        takingAddressFrom loss: AccountWrite
    ) async throws(PostgresError) -> Applied {
        let (user, tenant) = (write.user.id, write.user.tenant)
        var batch = WriteBatch("address-take")
        // In the order of their ids, so that two accounts that take from each other never wait in a circle.
        batch.append(UserRow.hold([user.rawValue, loss.user.id.rawValue].sorted(), tenant: tenant))
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
        // After the announcements, which tell whether a method is back or new.
        if !gained.isEmpty { batch.append(QuarantinedMethodRow.delete(gained, of: user, tenant: tenant)) }
        batch.append(write.journal?.closing ?? [])
    }

    /// Deletes an account with everything that hangs off it, and frees its identifiers.
    package func delete(_ user: UserRecord, event: AccountEvent) async throws(PostgresError) -> Applied {
        try await delete([(user, event)])
    }

    /// Deletes several accounts of one tenant as one decision: all of them, or none when a fact of any has moved.
    ///
    /// Name them in the order of their ids, so that two such calls never wait for each other in a circle.
    package func delete(_ deletions: [(user: UserRecord, event: AccountEvent)]) async throws(PostgresError) -> Applied {
        guard let first = deletions.first else { return .applied }
        // A code that comes later changes its account.
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
        // All or nothing, so one event tells of all.
        let applied = try await run(batch, event: first.event, of: first.user.id, tenant: first.user.tenant)
        if applied == .applied { for (_, event) in deletions.dropFirst() { observer?.applied(event) } }
        return applied
    }

    /// What frees the addresses that are reserved for accounts, in the order of their keys. One round trip.
    func freeingReserved(of users: [UserID], tenant: TenantID) async throws(PostgresError) -> [SQL] {
        try await client.read(EmailCodeRow.recoverable(of: users, tenant: tenant))
            .map { IdentifierRow.clearAny($0.key, of: $0.user, tenant: tenant) }
    }

    /// What makes an account go whose row is held and whose identifiers are free.
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

    /// Writes `batch`, whose last word is `event`; where the answer is lost, the event tells whether it took effect.
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
    /// - `whenUnknown`: finds out what became of the batch if the answer to its commit is lost; `nil` if nothing tells.
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
    /// Whether a guard of a write stopped it: somebody else was first.
    var saysFactsMoved: Bool {
        guard case .server(let state) = code else { return false }
        switch state {
        case .uniqueViolation, .foreignKeyViolation, .divisionByZero, .serializationFailure, .deadlockDetected:
            return true
        case .notNullViolation:
            // The columns that a stale writer sets to NULL.
            return column == "version" || column == "state" || column == "messages"
        default:
            return false
        }
    }
}
