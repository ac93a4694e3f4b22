import AccountLinking
import AccountStore

extension AccountOperations {
    /// Number of live codes for one method and mailbox beyond which its changes are not mailed, so that repeated
    /// changes do not fill the mailbox. Only codes in the first half of their lives count.
    static let revertCodesMax: Int64 = 5

    /// Adds the mail about changed methods, with the code that undoes the change (`REVERT_SIGN_IN_METHOD_CHANGE`). For
    /// changes by a session or a sign-in.
    ///
    /// The session may be stolen, so the mail goes to the address from before the change, if it was proven. Reads the
    /// database only if methods change. Suspended methods have their own mail (`suspendingMethods`).
    func mailingMethods(_ write: AccountWrite, changedBy change: AccountChange) async throws -> AccountWrite {
        guard let previous = write.previous, change.isMailedToUndo(by: write.event.rule) else { return write }
        let changes = MethodChanges(change, from: previous, to: write.user)
        if changes.isEmpty { return write }
        var write = write
        let revert = try await revert(changes, of: previous, at: write.event.occurredAt)
        if let revert {
            write.revert = revert.code
            write.sideWrites.append(.enqueue(revert.mail))
        }
        // Webhooks already report added and removed methods, but not a replaced password.
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
        // Codes are in the order of their changes, but requests may arrive out of order.
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
        // The request may be a thief's, so its language does not count.
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

    /// Voids older codes after an administrator or a mailbox's owner changed methods, so that no earlier code undoes
    /// that.
    ///
    /// - `mailbox`: of the code that made the change. Codes mailed elsewhere stay valid, because the account may have
    ///   moved to a thief's mailbox. `nil` for an administrator, who voids every code.
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

    /// For an administrator's change of address: voids revert codes in mailboxes that the account has left. If the
    /// first address returns, voids all codes mailed elsewhere.
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

    /// Reports to a proven address that a mailed code changed the methods. Carries no code. Empty if a mail about
    /// suspended methods reports it.
    ///
    /// - `isUndone`: true if another mailbox used a `REVERT_SIGN_IN_METHOD_CHANGE` code; false if this one reset the
    ///   password.
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
        // An event has one such mail at most, so they share the id.
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
