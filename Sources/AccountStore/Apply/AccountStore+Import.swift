package import AccountLinking
package import Postgres

/// One account of an import, to be written.
package struct ImportWrite: Sendable {
    /// The account as it was loaded; `nil` creates it.
    package var previous: UserRecord?
    package var user: UserRecord
    /// The hash to store. `nil` leaves the stored one if `user` has a password.
    package var passwordHash: String?
    package var event: AccountEvent
    /// The reservation of the account's address, if there is one: for the account itself, or expired.
    package var cleared: ReservedAddress?

    package init(
        previous: UserRecord?,
        user: UserRecord,
        passwordHash: String?,
        event: AccountEvent,
        cleared: ReservedAddress? = nil
    ) {
        self.previous = previous
        self.user = user
        self.passwordHash = passwordHash
        self.event = event
        self.cleared = cleared
    }
}

/// The facts that an import needs: the existing accounts, and the owners of identifiers.
package struct ImportSituation: Sendable {
    package var users: [UserID: UserRecord]
    package var passwordHashes: [UserID: String]
    /// A reserved address counts as owned by its account.
    package var owners: [Identifier: UserID]
    package var reserved: [Identifier: ReservedAddress]
    /// The ids of accounts that were merged into others.
    package var tombstones: Set<UserID>
}

extension AccountStore {
    /// The facts about `ids` and `identifiers`. Two round trips, and one for each address with a reservation, live or
    /// expired.
    package func importSituation(
        _ ids: [UserID],
        _ identifiers: [Identifier],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> ImportSituation {
        let values = Dictionary(grouping: identifiers, by: \.kind).mapValues { $0.map(\.value) }
        func owners(_ kind: String) -> Query<IdentifierRow> {
            IdentifierRow.owned(kind: kind, values: values[kind] ?? [], tenant: tenant)
        }
        let unwritten = activity.unwritten()
        let (users, emails, phones, identities, tombstones) = try await client.read(
            UserRow.withManyIDs(ids, tenant: tenant),
            owners("email"),
            owners("phone"),
            owners("federated"),
            MergeRow.tombstones(among: ids, tenant: tenant)
        )
        var owner: [String: [String: UserID]] = [:]
        for (kind, rows) in [("email", emails), ("phone", phones), ("federated", identities)] {
            owner[kind] = Dictionary(rows.map { ($0.value, $0.holder) }, uniquingKeysWith: { first, _ in first })
        }
        var reserved: [Identifier: ReservedAddress] = [:]
        for row in emails {
            guard let until = row.reservedUntil, let address = EmailAddress(row.value) else { continue }
            let found = try await self.reserved(address, for: row.holder, until: until, tenant: tenant, at: now)
            reserved[.email(address)] = found
            if found.reservation == nil { owner["email"]?[row.value] = nil }
        }
        let records = users.records.map(unwritten.overlay)
        let hashes = try await passwordHashes(records.filter { $0.passwordUpdatedAt != nil }.map(\.id), tenant: tenant)
        return ImportSituation(
            users: Dictionary(records.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }),
            passwordHashes: hashes,
            owners: Dictionary(
                identifiers.compactMap { identifier in
                    owner[identifier.kind]?[identifier.value].map { (identifier, $0) }
                },
                uniquingKeysWith: { first, _ in first }
            ),
            reserved: reserved,
            tombstones: Set(tombstones.map(\.value))
        )
    }

    /// Writes accounts of one tenant in one transaction: all of them, or none if a fact of any has changed.
    ///
    /// A replaced account loses everything that the new record does not have, including suspended methods, sessions and
    /// open conflicts. Its version guards it; the primary key of `identifiers` guards claims.
    package func importAccounts(_ writes: [ImportWrite], tenant: TenantID) async throws(PostgresError) -> Applied {
        // Sorted by id, so that two imports of the same accounts do not deadlock.
        let writes = writes.sorted { $0.user.id.rawValue < $1.user.id.rawValue }
        guard let first = writes.first else { return .applied }
        var batch = WriteBatch("account-import")
        batch.append(Self.statements(writes, tenant: tenant, at: first.event.occurredAt))
        // All or nothing: one event shows the outcome of all.
        let applied = try await run(batch, event: first.event, of: first.user.id, tenant: tenant)
        if applied == .applied { for write in writes.dropFirst() { observer?.applied(write.event) } }
        return applied
    }

    private static func statements(_ writes: [ImportWrite], tenant: TenantID, at now: Timestamp) -> [SQL] {
        let created = writes.filter { $0.previous == nil }.map(\.user)
        let replaced = writes.filter { $0.previous != nil }
        let replacedIDs = replaced.map(\.user.id)
        var statements: [SQL] = []
        if !created.isEmpty {
            statements.append(UserRow.insertMany(created, tenant: tenant))
            statements.append(MergeRow.assertNoTombstone(of: created.map(\.id), tenant: tenant))
        }
        if !replaced.isEmpty {
            let users = replaced.map(\.user)
            let epochs = replaced.compactMap { $0.previous?.sessionEpoch }
            statements.append(UserRow.updateMany(users, epochs: epochs, tenant: tenant))
            statements.append(UserRow.assertAllRaised(users, tenant: tenant))
            statements.append(
                IdentifierRow.releaseMany(
                    replaced.flatMap { write in
                        let kept = Set(write.user.identifiers)
                        return (write.previous?.identifiers ?? []).filter { !kept.contains($0) }
                            .map { ($0, write.user.id) }
                    },
                    tenant: tenant
                )
            )
            statements.append(LinkedProviderRow.deleteAll(of: replacedIDs, tenant: tenant))
            statements.append(SignInMethodRow.deleteAll(of: replacedIDs, tenant: tenant))
            statements.append(
                PasswordCredentialRow.deleteAll(
                    of: users.filter { $0.passwordUpdatedAt == nil }.map(\.id),
                    tenant: tenant
                )
            )
            statements.append(
                SecondFactorRow.deleteAll(
                    of: replaced.filter { $0.previous?.secondFactors != $0.user.secondFactors }.map(\.user.id),
                    tenant: tenant
                )
            )
            statements.append(QuarantinedMethodRow.deleteAll(of: replacedIDs, tenant: tenant))
            statements.append(CodeMethodRow.settleAll(of: replacedIDs, tenant: tenant))
            statements.append(ConflictRow.supersedeAllLive(of: replacedIDs, tenant: tenant, at: now))
            statements.append(SessionRow.deleteAll(of: replacedIDs, tenant: tenant))
        }
        let claims = writes.flatMap { write in
            let before = Set(write.previous?.identifiers ?? [])
            return write.user.identifiers.filter { !before.contains($0) }.map { ($0, write.user.id) }
        }
        for reserved in writes.compactMap(\.cleared) where claims.contains(where: { $0.0 == .email(reserved.address) })
        {
            statements.append(IdentifierRow.clear(reserved, tenant: tenant))
        }
        if !claims.isEmpty { statements.append(IdentifierRow.claimMany(claims, tenant: tenant)) }
        let hashes = writes.compactMap { write in
            write.passwordHash.map { (write.user.id, $0, write.user.passwordUpdatedAt ?? now) }
        }
        if !hashes.isEmpty { statements.append(PasswordCredentialRow.putMany(hashes, tenant: tenant)) }
        let providers = writes.flatMap { write in
            write.user.linkedProviders.sorted { $0.key < $1.key }.map { (write.user.id, $0.value) }
        }
        if !providers.isEmpty { statements.append(LinkedProviderRow.insertMany(providers, tenant: tenant)) }
        let proofs = writes.flatMap { write in
            write.user.methodProofs.sorted { $0.key.name < $1.key.name }.map { (write.user.id, $0.key, $0.value) }
        }
        if !proofs.isEmpty { statements.append(SignInMethodRow.insertMany(proofs, tenant: tenant)) }
        let factors = writes.filter { ($0.previous?.secondFactors ?? []) != $0.user.secondFactors }
            .flatMap { write in
                write.user.secondFactors.enumerated().map { (write.user.id, Int32($0.offset + 1), $0.element) }
            }
        if !factors.isEmpty { statements.append(SecondFactorRow.insertNumbers(factors, tenant: tenant)) }
        statements.append(AccountEventRow.insertMany(writes.map { ($0.event, $0.user.id) }, tenant: tenant))
        return statements
    }
}
