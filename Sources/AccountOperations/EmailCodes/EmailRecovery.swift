package import AccountLinking
package import AccountStore

extension AccountOperations {
    /// The code and the mail that let the owner of an account's first address take it back (`RECOVER_EMAIL`), to be
    /// written with the change that replaces an address. Nothing for an account whose address has not been replaced.
    ///
    /// `code` is made once per request, before the first attempt; `user` is the account as it will be; `locale` is the
    /// language asked for, as sent. Fails only when the system has no randomness to give.
    package func recoveryMail(
        _ code: ActionCode,
        for user: UserRecord,
        locale: String?,
        at now: Timestamp
    ) throws -> [AccountWrite.Companion] {
        guard let initial = user.initialEmail.flatMap(EmailAddress.init), user.email?.address != initial else {
            return []
        }
        let record = OneTimeCodeRecord(
            tenant: user.tenant,
            hash: code.hash,
            kind: .recoverEmail,
            user: user.id,
            email: initial,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeLifetimes.seconds(.recoverEmail))
        )
        let message = try mail(carrying: code, record, settings: ActionCodeSettings(), locale: locale)
            .message(
                id: code.messageID,
                tenant: user.tenant,
                createdAt: now,
                expiresAt: record.expiresAt,
                sealer: sealer
            )
        return [.issue(record), .enqueue(message)]
    }
}
