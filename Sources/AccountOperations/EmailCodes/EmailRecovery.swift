import AccountLinking
import AccountStore

/// What a mail needs that lets a change be taken back: made once per request, before the first attempt.
struct EmailRecovery: Sendable {
    let code: NewEmailCode
    /// The language asked for, as sent.
    let locale: String?

    init(effects: Effects, locale: String?) {
        self.code = NewEmailCode(effects: effects)
        self.locale = locale
    }
}

extension AccountOperations {
    /// What `change` writes into other tables, when it makes `user` of `previous`.
    ///
    /// With `voidsOutstandingProofs`, every code and open conflict of the account is void (`spec/09` 7). When the address
    /// is another afterwards, whoever had the account's first address is told and can take it back: the session that
    /// changed it may be stolen. Without `recovery` nobody is told: that is for an administrator's changes and for those
    /// that replace no address.
    func companions(
        of change: AccountChange,
        from previous: UserRecord,
        to user: UserRecord,
        recovery: EmailRecovery? = nil,
        at now: Timestamp
    ) throws -> [AccountWrite.Companion] {
        var companions: [AccountWrite.Companion] = []
        if change.voidsOutstandingProofs {
            companions = [
                .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: now),
                .voidEmailCodes(of: user.id, tenant: user.tenant, includingRecovery: true, at: now),
            ]
        }
        if let recovery, user.email?.address != previous.email?.address {
            companions += try recoveryMail(recovery, for: user, at: now)
        }
        return companions
    }

    /// The code and the mail that let the owner of an account's first address take it back (`RECOVER_EMAIL`). Nothing
    /// for an account that has its first address.
    private func recoveryMail(
        _ recovery: EmailRecovery,
        for user: UserRecord,
        at now: Timestamp
    ) throws -> [AccountWrite.Companion] {
        guard let initial = user.initialEmail.flatMap(EmailAddress.init), user.email?.address != initial else {
            return []
        }
        let record = EmailCodeRecord(
            tenant: user.tenant,
            hash: recovery.code.hash,
            kind: .recoverEmail,
            user: user.id,
            email: initial,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeSeconds(.recoverEmail))
        )
        return try mail(recovery, record, to: user)
    }

    /// The code and the mail that tell of a new second factor, and take it off again (`REVERT_SECOND_FACTOR_ADDITION`).
    /// Nothing for an account that has no address.
    func revertMail(
        _ recovery: EmailRecovery,
        of factor: SecondFactor,
        to user: UserRecord,
        at now: Timestamp
    ) throws -> [AccountWrite.Companion] {
        guard let address = user.email?.address else { return [] }
        let record = EmailCodeRecord(
            tenant: user.tenant,
            hash: recovery.code.hash,
            kind: .revertSecondFactorAddition,
            user: user.id,
            email: address,
            secondFactor: factor.id,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeSeconds(.revertSecondFactorAddition))
        )
        return try mail(
            recovery,
            record,
            to: user,
            numberEnding: (factor.number?.rawValue.suffix(4)).map { String($0) }
        )
    }

    private func mail(
        _ recovery: EmailRecovery,
        _ record: EmailCodeRecord,
        to user: UserRecord,
        numberEnding: String? = nil
    ) throws -> [AccountWrite.Companion] {
        let code = recovery.code
        var mail = mail(carrying: code, record, settings: EmailCodeSettings(), locale: recovery.locale)
        mail.displayName = user.profile.displayName
        mail.numberEnding = numberEnding
        let message = try mail.message(
            id: code.messageID,
            tenant: user.tenant,
            createdAt: record.createdAt,
            expiresAt: record.expiresAt,
            sealer: sealer
        )
        return [.issue(record), .enqueue(message)]
    }
}
