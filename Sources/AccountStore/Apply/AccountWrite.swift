package import AccountLinking
package import Postgres

/// One decision, ready to be applied: what the account was, what it becomes, and what goes with it.
package struct AccountWrite: Sendable {
    /// The account as it was loaded; `nil` creates it.
    package var previous: UserRecord?
    package var user: UserRecord
    /// The hash to store; required when the write sets a password.
    package var passwordHash: String?
    /// The secret to store; required when the write enrols a factor that has no number.
    package var totpSecret: NewTOTPSecret?
    /// The factors among those of `user` that come from another account.
    var movedFactors: [SecondFactorID: MovedFactor] = [:]
    /// The session to open. Its epoch must be the one `user` has.
    package var session: SessionRecord?
    package var event: AccountEvent
    package var sideWrites: [SideWrite]
    /// Until when what the write takes off the account is suspended; `nil`: it is gone at once.
    package var quarantinedUntil: Timestamp?
    /// The code that undoes what the write does to the account's sign-in methods.
    package var revert: MethodRevert?
    /// The id of the mail among the side writes that tells the owner of suspended methods; `nil` for none.
    package var ownerMail: PostgresUUID?
    /// Whether the version rises where nothing of the record changes, because something beside it does (ADR 0030).
    package var raisesVersion = false
    /// Keeps what rows were, so that the write can be undone.
    package var journal: JournalEntry?

    /// Statements of another table that belong to the same decision. Each table's file says which there are.
    ///
    /// A side write that must not be applied to facts that moved brings its own guard.
    package struct SideWrite: Sendable {
        let statements: [SQL]
        /// What the statements make true.
        let announcements: [WebhookEvent]
        /// True if the statements touch no row that is there, or update only such in `order`: such a write can be one with
        /// others (ADR 0070).
        let standsAlone: Bool
        /// The place among writes that are applied together, where the statements update a row that others update.
        let order: [UInt8]
        /// What is freed first, where the write claims the address.
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

    /// Whether it touches no row that is there: an account is made, or a session opened. Many such writes can be one
    /// (ADR 0070).
    var standsAlone: Bool {
        (previous == nil || previous == user) && !raisesVersion && sideWrites.allSatisfy(\.standsAlone)
            && journal == nil
    }

    /// The place among writes that are applied together.
    var order: [UInt8] { sideWrites.lazy.map(\.order).first { !$0.isEmpty } ?? [] }

    /// The methods that the write takes off the account and that are suspended then.
    package var quarantinedMethods: [SignInMethod] {
        guard let previous, quarantinedUntil != nil else { return [] }
        return methodsLost(from: previous.account, to: user.account)
    }

    /// The methods that the write gives to an account that was there before: nothing of theirs is suspended any more.
    var gainedMethods: [SignInMethod] {
        guard let previous else { return [] }
        return user.methodProofs.keys.filter { $0 != .emailLink && user.methodProofs[$0] != previous.methodProofs[$0] }
            .sorted { $0.name < $1.name }
    }
}

extension AccountWrite {
    /// The statements, in an order that meets every guard before what depends on it.
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
            // While what is suspended is there still.
            statements += quarantinedMethods.map { method in
                method == .password
                    ? QuarantinedMethodRow.insertPassword(of: previous, by: event, until: quarantinedUntil)
                    : QuarantinedMethodRow.insert(method, of: previous, by: event, until: quarantinedUntil)
            }
        }
        if let revert {
            // Likewise.
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
        // After the side writes: one of them may insist that the password was not locked.
        if passwordHash != nil, let address = user.email?.address {
            statements.append(PasswordAttemptRow.clearSources(of: address, tenant: tenant))
            statements.append(PasswordAttemptRow.clear(.password(of: address), tenant: tenant))
        }
        statements.append(AccountEventRow.insert(event, of: id, tenant: tenant))
        return statements
    }

    /// Places and numbers are compared at the end of the transaction, so the order of these does not matter.
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
                    statements.append(SecondFactorRow.move(factor, moved, slot: slot, to: id, tenant: tenant))
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
    /// Whether the account, as this record has it, owns `identifier`.
    package func holds(_ identifier: Identifier) -> Bool { identifiers.contains(identifier) }

    /// In a fixed order, so that two writers never wait for each other in a circle.
    var identifiers: [Identifier] { account.identifiers }
}
