package import AccountLinking
package import Postgres

/// Two accounts that become one, ready to be written.
package struct MergeWrite: Sendable {
    package var merge: MergeRecord
    /// Both as they were loaded.
    package var survivor: UserRecord
    package var absorbed: UserRecord
    package var plan: MergePlan
    /// The absorbed account's, where its password is taken.
    package var passwordHash: String?
    /// The secrets of apps among the factors that come over, sealed for the account that stays.
    package var sealedSecrets: [SecondFactorID: [UInt8]]
    package var survivorEvent: AccountEvent
    package var absorbedEvent: AccountEvent
    package var undoUntil: Timestamp
    package var sideWrites: [AccountWrite.SideWrite]

    package init(
        merge: MergeRecord,
        survivor: UserRecord,
        absorbed: UserRecord,
        plan: MergePlan,
        passwordHash: String?,
        sealedSecrets: [SecondFactorID: [UInt8]],
        survivorEvent: AccountEvent,
        absorbedEvent: AccountEvent,
        undoUntil: Timestamp,
        sideWrites: [AccountWrite.SideWrite] = []
    ) {
        self.merge = merge
        self.survivor = survivor
        self.absorbed = absorbed
        self.plan = plan
        self.passwordHash = passwordHash
        self.sealedSecrets = sealedSecrets
        self.survivorEvent = survivorEvent
        self.absorbedEvent = absorbedEvent
        self.undoUntil = undoUntil
        self.sideWrites = sideWrites
    }
}

extension AccountStore {
    /// Prepares a merge, and asks the receivers of webhooks. Nothing of the accounts changes.
    ///
    /// The rows of both accounts are held meanwhile, in the order of their ids, so that of several merges about one of them
    /// one is prepared.
    package func prepareMerge(
        _ merge: MergeRecord,
        event: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("merge-prepare")
        let tenant = merge.tenant
        batch.append(UserRow.hold([merge.survivor.rawValue, merge.absorbed.rawValue], tenant: tenant))
        batch.append(UserRow.assertVersion(merge.survivorVersion, of: merge.survivor, tenant: tenant))
        batch.append(UserRow.assertVersion(merge.absorbedVersion, of: merge.absorbed, tenant: tenant))
        batch.append(MergeRow.insert(merge))
        batch.append(MergeRow.assertAlone(merge))
        batch.append(sideWrites.flatMap(\.statements))
        batch.append(AccountEventRow.insert(event, of: merge.survivor, tenant: tenant))
        batch.append(WebhookMessageRow.insertMergeEvent(.mergePrepared, of: merge, id: event.id, by: event))
        return try await run(batch, event: event, of: merge.survivor, tenant: tenant)
    }

    /// Makes the two accounts one: all of it in one transaction, or nothing where a fact of either has moved or the merge
    /// waits no more. What the absorbed account has and the other does not take is gone with it.
    package func commitMerge(_ write: MergeWrite) async throws(PostgresError) -> Applied {
        let (merge, tenant) = (write.merge, write.merge.tenant)
        // A code that comes later changes the account.
        let freed = try await freeingReserved(of: [merge.absorbed], tenant: tenant)
        let journal = JournalEntry(
            merge.journalStep,
            users: [merge.survivor.rawValue, merge.absorbed.rawValue],
            claims: (write.survivor.identifiers + write.absorbed.identifiers).map(JournalEntry.Claim.init),
            retainedUntil: write.undoUntil
        )
        var change = AccountWrite(
            previous: write.survivor,
            user: write.plan.merged,
            passwordHash: write.passwordHash,
            event: write.survivorEvent
        )
        change.movedFactors = Dictionary(
            uniqueKeysWithValues: write.plan.movedFactors.map {
                ($0, MovedFactor(from: merge.absorbed, sealedSecret: write.sealedSecrets[$0]))
            }
        )
        change.raisesVersion = true
        change.sideWrites = write.sideWrites
        var batch = WriteBatch("merge-commit")
        batch.append(journal.opening)
        batch.append(UserRow.lock(write.absorbed))
        batch.append(UserRow.assertRaised(write.absorbed))
        for identifier in write.absorbed.identifiers {
            batch.append(IdentifierRow.release(identifier, of: merge.absorbed, tenant: tenant))
        }
        // The codes go with the account. An undo brings back no reservation: somebody may have the address by then.
        batch.append(freed)
        batch.append(change.statements())
        batch.append(Self.deletion(of: write.absorbed, event: write.absorbedEvent))
        announce(change.announcements, as: write.survivorEvent, of: merge.survivor, tenant: tenant, in: &batch)
        let gained = change.gainedMethods
        if !gained.isEmpty { batch.append(QuarantinedMethodRow.delete(gained, of: merge.survivor, tenant: tenant)) }
        batch.append(MergeRow.commit(merge, at: write.survivorEvent.occurredAt, undoUntil: write.undoUntil))
        let mergeEvents = WebhookMessageRow.insertMergeEvent(
            .mergeCommitted,
            of: merge,
            id: write.absorbedEvent.id,
            by: write.survivorEvent
        )
        batch.append(mergeEvents)
        batch.append(journal.closing)
        let applied = try await run(batch, event: write.survivorEvent, of: merge.survivor, tenant: tenant)
        if applied == .applied { observer?.applied(write.absorbedEvent) }
        return applied
    }

    /// Ends a merge that waits; nothing of the accounts has changed.
    package func abortMerge(
        _ merge: MergeRecord,
        _ reason: MergeAbortReason,
        event: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("merge-abort")
        batch.append(MergeRow.abort(merge, reason, at: event.occurredAt))
        batch.append(sideWrites.flatMap(\.statements))
        batch.append(AccountEventRow.insert(event, of: merge.survivor, tenant: merge.tenant))
        batch.append(WebhookMessageRow.insertMergeEvent(.mergeAborted, of: merge, id: event.id, by: event))
        return try await run(batch, event: event, of: merge.survivor, tenant: merge.tenant)
    }

    /// Puts both accounts back as they were, but for `clashes`, which stay as they are.
    ///
    /// Every session of both accounts ends, and every mailed code but those that take back a change of the account that
    /// stays (`sideWrites` may end more of them). Whoever came by a method that goes back holds a session of the account that stays. Whoever the merge ended may
    /// have held one of the absorbed account.
    /// - `survivorVersion`: the version of the account that stays, which the mails in `sideWrites` were written for.
    package func undoMerge(
        _ merge: MergeRecord,
        accepting clashes: [JournalClash],
        survivorVersion: Int64,
        survivorEvent: AccountEvent,
        absorbedEvent: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        let mergeEvents = AccountWrite.SideWrite([
            // Raised by one by the undo itself.
            UserRow.assertVersion(survivorVersion + 1, of: merge.survivor, tenant: merge.tenant),
            MergeRow.undo(merge, at: survivorEvent.occurredAt),
            AccountEventRow.insert(absorbedEvent, of: merge.absorbed, tenant: merge.tenant),
            WebhookMessageRow.insertMergeEvent(.mergeUndone, of: merge, id: absorbedEvent.id, by: survivorEvent),
        ])
        let voided = AccountWrite.SideWrite.voidEmailCodes(
            of: merge.survivor,
            tenant: merge.tenant,
            .allButRecovery,
            at: survivorEvent.occurredAt
        )
        let applied = try await undo(
            UndoWrite(
                merge.journalStep,
                accepting: clashes,
                endsSessions: true,
                of: merge.survivor,
                event: survivorEvent,
                sideWrites: [mergeEvents, voided] + sideWrites
            )
        )
        if applied == .applied { observer?.applied(absorbedEvent) }
        return applied
    }

    /// What the receivers of webhooks have said to a merge that waits: how many have not said yes, and whether one said no.
    package func answers(to merge: MergeRecord) async throws(PostgresError) -> (waitingCount: Int64, isVetoed: Bool) {
        let answers = try await client.read(WebhookMessageRow.answers(to: merge.id)).first
        return (answers?.waitingCount ?? 0, (answers?.vetoCount ?? 0) > 0)
    }
}

extension MergeRecord {
    /// Where the rows of both accounts are kept as they were.
    package var journalStep: JournalStep { JournalStep(tenant: tenant, change: id) }
}
