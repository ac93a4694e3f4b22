import AccountLinking
import AccountStore

extension AccountOperations {
    /// Codes for one method and mailbox in the first half of their lives, from which on a further change of it is not mailed: those in hand
    /// bring back an older state, and live long enough for their reader. So linking and unlinking fills no mailbox.
    static let revertCodesMax: Int64 = 5

    /// The write of a change that a person made, by a session or a sign-in, with the mail about what it does to the account's
    /// sign-in methods and the code that undoes it (`REVERT_SIGN_IN_METHOD_CHANGE`).
    ///
    /// The mail goes to the address as it was before the change, if it was proven: the session may be stolen. Nothing is
    /// read unless methods change. What suspends methods is mailed as that (`suspendingMethods`), and a migration of subjects
    /// (`subjectChange: move`) is not.
    func mailingMethods(_ write: AccountWrite, changedBy change: AccountChange) async throws -> AccountWrite {
        guard let previous = write.previous, change.touchesMethods, !change.quarantinesRemovals,
            !change.voidsOutstandingProofs, write.event.rule != .subjectMoved
        else { return write }
        let changes = MethodChanges(change, from: previous, to: write.user)
        if changes.isEmpty { return write }
        var write = write
        let revert = try await revert(changes, of: previous, at: write.event.occurredAt)
        if let revert {
            write.revert = revert.code
            write.sideWrites.append(.enqueue(revert.mail))
        }
        // Webhooks tell of each added and removed method anyway, but not of a replaced password.
        if revert != nil || changes.replacesPassword {
            write.sideWrites.append(.announce(changes, isMailed: revert != nil))
        }
        return write
    }

    private func revert(
        _ changes: MethodChanges,
        of user: UserRecord,
        at now: Timestamp
    ) async throws -> (code: MethodRevert, mail: OutboxMessage)? {
        let settings = project.settings
        guard settings.revertSeconds > 0, let email = user.email, email.isVerified else { return nil }
        let live = try await store.liveReverts(
            of: user.id,
            sentTo: email.address,
            tenant: user.tenant,
            until: now.adding(seconds: (settings.revertSeconds + 1) / 2),
            at: now
        )
        if changes.methods.allSatisfy({ live.count(of: $0) >= Self.revertCodesMax }) { return nil }
        // Codes are in the order of their changes, which requests may not come in.
        let next = live.newest.map { Timestamp(microsecondsSinceEpoch: $0.microsecondsSinceEpoch + 1) }
        let createdAt = max(now, next ?? now)
        let code = NewEmailCode(effects: effects)
        let record = EmailCodeRecord(
            tenant: user.tenant,
            hash: code.hash,
            kind: .revertSignInMethodChange,
            user: user.id,
            email: email.address,
            addressWasProven: true,
            createdAt: createdAt,
            expiresAt: createdAt.adding(seconds: settings.revertSeconds)
        )
        // The owner's language, not that of the request: a thief may have made it.
        var mail = mail(
            carrying: code,
            record,
            settings: EmailCodeSettings(),
            locale: user.profile.language
        )
        mail.displayName = user.profile.displayName
        mail.changed = Mail.Changed(changes, at: now, until: record.expiresAt)
        let message = try mail.message(
            id: code.messageID,
            tenant: user.tenant,
            createdAt: now,
            expiresAt: record.expiresAt,
            sealer: sealer
        )
        return (MethodRevert(record, changes.before), message)
    }

    /// Side writes of a change of `previous` into `user` that an administrator or the owner of a mailbox made: no code of before
    /// undoes what they did to sign-in methods.
    ///
    /// - `mailbox`: of the code that made the change. Codes that went elsewhere stay: the account may have moved to the mailbox of a
    ///   thief. `nil` for an administrator, who settles every code.
    func settling(
        _ change: AccountChange,
        from previous: UserRecord,
        to user: UserRecord,
        by mailbox: EmailAddress?
    ) -> [AccountWrite.SideWrite] {
        guard change.touchesMethods else { return [] }
        let changes = MethodChanges(change, from: previous, to: user)
        if changes.isEmpty { return [] }
        return [.settleReverts(of: changes.methods, of: user.id, sentTo: mailbox, tenant: user.tenant)]
    }

    /// Side writes of a change of address that an administrator made: no revert code in a mailbox that the account has left undoes
    /// anything. If it is the first address again, no code that went elsewhere is good for anything.
    func voidingFormerMailboxes(
        from previous: UserRecord,
        to user: UserRecord,
        at now: Timestamp
    ) -> [AccountWrite.SideWrite] {
        let address = user.email?.address
        if address == previous.email?.address { return [] }
        if let address, address == user.initialEmail.flatMap(EmailAddress.init) {
            return [.voidEmailCodes(of: user.id, tenant: user.tenant, sentElsewhereThanTo: address, at: now)]
        }
        return [.voidReverts(of: user.id, tenant: user.tenant, sentElsewhereThanTo: address, at: now)]
    }

    /// The mail that tells the owner of a proven address that a mailed code changed the sign-in methods. No code goes with it. Nothing
    /// where suspended methods are mailed, which says so too.
    ///
    /// - `isUndone`: the code was one of `REVERT_SIGN_IN_METHOD_CHANGE` in another mailbox. Otherwise the reader of this one has
    ///   reset the password.
    func changeNotice(
        _ write: AccountWrite,
        changedBy change: AccountChange,
        isUndone: Bool = false
    ) throws -> [AccountWrite.SideWrite] {
        guard project.settings.revertSeconds > 0, write.ownerMail == nil, let previous = write.previous,
            let email = previous.email, email.isVerified
        else { return [] }
        let changes = MethodChanges(change, from: previous, to: write.user)
        if changes.isEmpty { return [] }
        let now = write.event.occurredAt
        let mail = Mail(
            template: .signInMethodsChanged,
            to: email.address.raw,
            email: email.address.lowercased,
            displayName: previous.profile.displayName,
            locale: mailLocale(previous.profile.language),
            changed: Mail.Changed(changes, at: now, until: nil, isUndone: isUndone)
        )
        // One event, one such mail: it has the event's id.
        let message = try mail.message(
            id: write.event.id,
            tenant: previous.tenant,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.revertSeconds),
            sealer: sealer
        )
        return [.enqueue(message)]
    }
}

extension Mail.Changed {
    init(_ changes: MethodChanges, at now: Timestamp, until end: Timestamp?, isUndone: Bool = false) {
        func ending(_ number: PhoneNumber?) -> String? { (number?.rawValue.suffix(4)).map { String($0) } }
        self.init(
            added: changes.added.map(\.name),
            removed: changes.removed.map(\.name),
            replacesPassword: changes.replacesPassword,
            addedNumberEnding: ending(changes.numbers.added),
            removedNumberEnding: ending(changes.numbers.removed),
            at: RFC3339.text(now),
            until: end.map(RFC3339.text),
            isUndone: isUndone
        )
    }
}
