package import AccountLinking
package import Postgres

/// One decision to be applied: the account before and after it, and its side writes.
package struct AccountWrite: Sendable {
    /// The account as it was loaded; `nil` creates it.
    package var previous: UserRecord?
    package var user: UserRecord
    /// The hash to store. Required if the write sets a password.
    package var passwordHash: String?
    /// The secret to store. Required if the write enrols a factor without a number.
    package var totpSecret: NewTOTPSecret?
    /// The factors of `user` that come from another account.
    var movedFactors: [SecondFactorID: MovedFactor] = [:]
    /// The session to open. Its epoch must be the one of `user`.
    package var session: SessionRecord?
    package var event: AccountEvent
    package var sideWrites: [SideWrite]
    /// End of the suspension of removed methods; `nil` deletes them at once.
    package var quarantinedUntil: Timestamp?
    /// The code that undoes the write's changes of sign-in methods.
    package var revert: MethodRevert?
    /// The id of the side write's mail to the owner about suspended methods; `nil` if there is none.
    package var ownerMail: PostgresUUID?
    /// True to raise the version even if the record does not change, because something beside it does (ADR 0030).
    package var raisesVersion = false
    /// Stores the rows as they were, so that the write can be undone.
    package var journal: JournalEntry?

    /// Statements on another table that belong to the same decision. Each table's file lists them.
    ///
    /// A side write that must not be applied to changed facts has its own guard.
    package struct SideWrite: Sendable {
        let statements: [SQL]
        /// Announcements of what the statements change.
        let announcements: [WebhookEvent]
        /// True if the statements touch no existing row, or update only rows in `order`. Such a write can share a
        /// transaction with others (ADR 0070).
        let standsAlone: Bool
        /// Position among writes applied together, if the statements update a row that others update.
        let order: [UInt8]
        /// The reservation to clear first, if the write claims the address.
        let cleared: ReservedAddress?

        init(
            _ statements: [SQL],
            announcing announcements: [WebhookEvent] = [],
            standsAlone: Bool = false,
            order: [UInt8] = [],
            clearing cleared: ReservedAddress? = nil
        ) {
            self.statements = statements
            self.announcements = announcements
            self.standsAlone = standsAlone
            self.order = order
            self.cleared = cleared
        }
    }

    package init(
        previous: UserRecord?,
        user: UserRecord,
        passwordHash: String? = nil,
        totpSecret: NewTOTPSecret? = nil,
        session: SessionRecord? = nil,
        event: AccountEvent,
        sideWrites: [SideWrite] = []
    ) {
        self.previous = previous
        self.user = user
        self.passwordHash = passwordHash
        self.totpSecret = totpSecret
        self.session = session
        self.event = event
        self.sideWrites = sideWrites
    }

    /// True if the write touches no existing row: it creates an account or opens a session. Such writes can share a
    /// transaction (ADR 0070).
    var standsAlone: Bool {
        (previous == nil || previous == user) && !raisesVersion && sideWrites.allSatisfy(\.standsAlone)
            && journal == nil
    }

    var order: [UInt8] { sideWrites.lazy.map(\.order).first { !$0.isEmpty } ?? [] }

    /// The methods that the write removes from the account and suspends.
    package var quarantinedMethods: [SignInMethod] {
        guard let previous, quarantinedUntil != nil else { return [] }
        return methodsLost(from: previous.account, to: user.account)
    }

    /// The methods that the write adds to an existing account. Their earlier suspensions end.
    var gainedMethods: [SignInMethod] {
        guard let previous else { return [] }
        return user.methodProofs.keys.filter { $0 != .emailLink && user.methodProofs[$0] != previous.methodProofs[$0] }
            .sorted { $0.name < $1.name }
    }
}

extension AccountWrite {
    /// The statements, with every guard before the statements that depend on it.
    func statements() -> [SQL] {
        let tenant = user.tenant
        let id = user.id
        var statements: [SQL] = []

        if let previous {
            if previous != user || raisesVersion {
                statements.append(UserRow.update(user, epoch: previous.sessionEpoch))
                statements.append(UserRow.assertRaised(user))
            }
        } else {
            statements.append(UserRow.insert(user))
            statements.append(MergeRow.assertNoTombstone(of: [id], tenant: tenant))
        }

        let claimsBefore = previous?.identifiers ?? []
        let claimsAfter = user.identifiers
        for identifier in claimsBefore where !claimsAfter.contains(identifier) {
            statements.append(IdentifierRow.release(identifier, of: id, tenant: tenant))
        }
        for identifier in claimsAfter where !claimsBefore.contains(identifier) {
            if let reserved = sideWrites.lazy.compactMap(\.cleared).first(where: { .email($0.address) == identifier }) {
                statements.append(IdentifierRow.clear(reserved, tenant: tenant))
            }
            statements.append(IdentifierRow.claim(identifier, for: id, tenant: tenant))
        }

        if let previous, let quarantinedUntil {
            // Before the deletion: copies the rows that are suspended.
            statements += quarantinedMethods.map { method in
                method == .password
                    ? QuarantinedMethodRow.insertPassword(of: previous, by: event, until: quarantinedUntil)
                    : QuarantinedMethodRow.insert(method, of: previous, by: event, until: quarantinedUntil)
            }
        }
        if let revert {
            // Before the deletion, as above.
            statements.append(EmailCodeRow.insert(revert.code))
            statements += revert.methods.map { CodeMethodRow.insert($0, of: revert.code, user: id) }
        }
        if let passwordHash {
            statements.append(
                PasswordCredentialRow.put(
                    passwordHash,
                    for: id,
                    tenant: tenant,
                    at: user.passwordUpdatedAt ?? event.occurredAt
                )
            )
        } else if previous?.passwordUpdatedAt != nil, user.passwordUpdatedAt == nil {
            statements.append(PasswordCredentialRow.delete(of: id, tenant: tenant))
        }

        let providersBefore = previous?.linkedProviders ?? [:]
        for provider in providersBefore.keys.sorted() where user.linkedProviders[provider] == nil {
            statements.append(LinkedProviderRow.delete(provider, of: id, tenant: tenant))
        }
        for (provider, row) in user.linkedProviders.sorted(by: { $0.key < $1.key })
        where providersBefore[provider] != row {
            statements.append(LinkedProviderRow.put(row, for: id, tenant: tenant))
        }

        let proofsBefore = previous?.methodProofs ?? [:]
        for method in proofsBefore.keys.sorted(by: { $0.name < $1.name }) where user.methodProofs[method] == nil {
            statements.append(SignInMethodRow.delete(method, of: id, tenant: tenant))
        }
        for (method, proof) in user.methodProofs.sorted(by: { $0.key.name < $1.key.name })
        where proofsBefore[method] != proof {
            statements.append(SignInMethodRow.put(method, proof, for: id, tenant: tenant))
        }

        statements += secondFactorChanges()

        if let previous, previous.sessionEpoch != user.sessionEpoch {
            statements.append(SessionRow.deleteEnded(of: id, tenant: tenant, epoch: user.sessionEpoch))
        }
        if let session { statements.append(SessionRow.insert(session)) }
        for sideWrite in sideWrites { statements += sideWrite.statements }
        // After the side writes: one of them may assert that the password was not locked.
        if passwordHash != nil, let address = user.email?.address {
            statements.append(PasswordAttemptRow.clearSources(of: address, tenant: tenant))
            statements.append(PasswordAttemptRow.clear(.password(of: address), tenant: tenant))
        }
        statements.append(AccountEventRow.insert(event, of: id, tenant: tenant))
        return statements
    }

    /// The order does not matter: slots and numbers are compared at the end of the transaction.
    private func secondFactorChanges() -> [SQL] {
        let (id, tenant) = (user.id, user.tenant)
        let before = previous?.secondFactors ?? []
        if before == user.secondFactors { return [] }
        let left = Set(user.secondFactors.map(\.id))
        var statements = before.filter { !left.contains($0.id) }
            .map { SecondFactorRow.delete($0.id, of: id, tenant: tenant) }
        for (index, factor) in user.secondFactors.enumerated() {
            let slot = Int32(index + 1)
            guard let place = before.firstIndex(where: { $0.id == factor.id }) else {
                if let moved = movedFactors[factor.id] {
                    statements += SecondFactorRow.move(factor, moved, slot: slot, to: id, tenant: tenant)
                    continue
                }
                let secret = factor.kind == .totp ? totpSecret : nil
                statements.append(SecondFactorRow.insert(factor, slot: slot, secret: secret, for: id, tenant: tenant))
                continue
            }
            if place != index || before[place] != factor {
                statements.append(SecondFactorRow.update(factor, slot: slot, of: id, tenant: tenant))
            }
        }
        return statements
    }
}

extension UserRecord {
    /// Returns true if the account in this record owns `identifier`.
    package func holds(_ identifier: Identifier) -> Bool { identifiers.contains(identifier) }

    /// In a fixed order, so that concurrent writers do not deadlock.
    var identifiers: [Identifier] { account.identifiers }
}
