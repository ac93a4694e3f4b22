package import AccountLinking
package import Postgres

/// A merge of two accounts, to be written.
package struct MergeWrite: Sendable {
    package var merge: MergeRecord
    /// Both accounts as they were loaded.
    package var survivor: UserRecord
    package var absorbed: UserRecord
    package var plan: MergePlan
    /// Hash of the absorbed account, if its password is taken.
    package var passwordHash: String?
    /// Secrets of authenticator apps that move, sealed for the surviving account.
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
    /// Prepares a merge and asks the webhook receivers. The accounts do not change.
    ///
    /// Locks the rows of both accounts in the order of their ids: of several merges with one account, one is prepared.
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

    /// Merges the two accounts in one transaction. Writes nothing if a fact of either account has changed or the merge
    /// no longer waits. Data of the absorbed account that the survivor does not take is deleted with it.
    package func commitMerge(_ write: MergeWrite) async throws(PostgresError) -> Applied {
        let (merge, tenant) = (write.merge, write.merge.tenant)
        // A code that is issued later changes the account.
        let freed = try await freeingReserved(of: [merge.absorbed], tenant: tenant)
        let journal = JournalEntry(
            step: merge.journalStep,
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
        // The codes are deleted with the account. An undo restores no reservation, because another account may have the
        // address by then.
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

    /// Aborts a waiting merge. The accounts have not changed.
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

    /// Restores both accounts, except `clashes`, which stay as they are.
    ///
    /// Ends every session of both accounts: a method that moves back may have opened one. Voids every mailed code,
    /// except those that undo a change of the surviving account (`sideWrites` may void more).
    /// - `survivorVersion`: the version of the surviving account for which the mails in `sideWrites` were written.
    package func undoMerge(
        _ merge: MergeRecord,
        accepting clashes: [JournalClash],
        survivorVersion: Int64,
        survivorEvent: AccountEvent,
        absorbedEvent: AccountEvent,
        sideWrites: [AccountWrite.SideWrite] = []
    ) async throws(PostgresError) -> Applied {
        let mergeEvents = AccountWrite.SideWrite([
            // The undo itself raises it by one.
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

    /// The answers of webhook receivers to a waiting merge: number of receivers that have not approved, and whether one
    /// vetoed.
    package func answers(to merge: MergeRecord) async throws(PostgresError) -> (waitingCount: Int64, isVetoed: Bool) {
        let answers = try await client.read(WebhookMessageRow.answers(to: merge.id)).first
        return (answers?.waitingCount ?? 0, (answers?.vetoCount ?? 0) > 0)
    }
}

extension MergeRecord {
    /// The journal step that has the rows of both accounts as they were.
    package var journalStep: JournalStep { JournalStep(tenant: tenant, change: id, number: 0) }
}
