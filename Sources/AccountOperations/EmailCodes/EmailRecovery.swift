import AccountLinking
import AccountStore

/// The random values of a recovery mail, made before the first attempt.
struct EmailRecovery: Sendable {
    let code: NewEmailCode
    let locale: String?

    init(effects: Effects, locale: String?) {
        self.code = NewEmailCode(effects: effects)
        self.locale = locale
    }
}

extension AccountOperations {
    /// The writes to other tables when `change` turns `previous` into `user`.
    ///
    /// `voidsOutstandingProofs` voids codes and open conflicts (`codesVoided(byTakeoverOf:)`). If the address changes,
    /// the session may be stolen, so the former owner gets a mail that restores the address (`decideReplaceAddress`),
    /// at the cost of one read.
    ///
    /// - `recovery`: `nil` for changes without such a mail: by an administrator, without a replaced address, and by the
    ///   code that restores one.
    func sideWrites(
        of change: AccountChange,
        from previous: UserRecord,
        to user: UserRecord,
        recovery: EmailRecovery? = nil,
        at now: Timestamp
    ) async throws -> [AccountWrite.SideWrite] {
        var sideWrites: [AccountWrite.SideWrite] = []
        if change.voidsOutstandingProofs {
            sideWrites = [
                .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: now),
                .voidEmailCodes(
                    of: user.id,
                    tenant: user.tenant,
                    policy.codesVoided(byTakeoverOf: previous.account),
                    at: now
                ),
            ]
        }
        if let recovery, user.email?.address != previous.email?.address {
            sideWrites += try await recoveryMail(recovery, for: user, replacing: previous, at: now)
        }
        return sideWrites
    }

    /// The code and mail with which a former owner recovers the address (`RECOVER_EMAIL`). The address is reserved
    /// while the code lives. One round trip, unless the account never had an address.
    private func recoveryMail(
        _ recovery: EmailRecovery,
        for user: UserRecord,
        replacing previous: UserRecord,
        at now: Timestamp
    ) async throws -> [AccountWrite.SideWrite] {
        guard previous.email != nil || user.initialEmail != nil else { return [] }
        let replacement = decideReplaceAddress(
            policy: policy,
            account: previous.account,
            next: user.email,
            initial: user.initialEmail.flatMap(EmailAddress.init),
            live: try await store.recoveries(of: user.id, tenant: user.tenant, at: now)
        )
        switch replacement {
        case .silent: return []
        case .returned: return user.email.map { voiding(elsewhereThan: $0.address, of: user, at: now) } ?? []
        case .mail(let email, let wasProven, let since):
            let record = EmailCodeRecord(
                tenant: user.tenant,
                hash: recovery.code.hash,
                kind: .recoverEmail,
                user: user.id,
                email: email,
                addressWasProven: wasProven,
                createdAt: since ?? now,
                expiresAt: now.adding(seconds: project.settings.codeSeconds(.recoverEmail))
            )
            return [.issueRecovery(record, of: user.id, at: now), try mail(recovery, record, to: user, at: now)]
        }
    }

    /// Voids what a thief may have requested: open conflicts, and codes mailed to other addresses than `address`. Codes
    /// in that mailbox undo earlier changes and stay valid.
    func voiding(
        elsewhereThan address: EmailAddress,
        of user: UserRecord,
        at now: Timestamp
    ) -> [AccountWrite.SideWrite] {
        [
            .supersedeLiveConflicts(of: user.id, tenant: user.tenant, at: now),
            .voidEmailCodes(of: user.id, tenant: user.tenant, sentElsewhereThanTo: address, at: now),
        ]
    }

    /// The mail about a new second factor, with the code that removes it (`REVERT_SECOND_FACTOR_ADDITION`). Empty
    /// without an address.
    ///
    /// - `elsewhere`: a proven address that gets the mail instead.
    func revertMail(
        _ recovery: EmailRecovery,
        of factor: SecondFactor,
        to user: UserRecord,
        elsewhere: EmailAddress? = nil,
        at now: Timestamp
    ) throws -> [AccountWrite.SideWrite] {
        guard let email = elsewhere.map({ AccountEmail(address: $0, proof: .emailCode) }) ?? user.email else {
            return []
        }
        let record = EmailCodeRecord(
            tenant: user.tenant,
            hash: recovery.code.hash,
            kind: .revertSecondFactorAddition,
            user: user.id,
            email: email.address,
            secondFactor: factor.id,
            addressWasProven: email.isVerified,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeSeconds(.revertSecondFactorAddition))
        )
        let mail = try mail(
            recovery,
            record,
            to: user,
            at: now,
            numberEnding: (factor.number?.rawValue.suffix(4)).map { String($0) }
        )
        return [.issue(record), mail]
    }

    /// The same mail to the address that a live code can restore, because the present one may be a thief's. Empty
    /// without such a code. One round trip.
    func revertMailToFirstAddress(
        _ recovery: EmailRecovery,
        of factor: SecondFactor,
        to user: UserRecord,
        at now: Timestamp
    ) async throws -> [AccountWrite.SideWrite] {
        let recoveries = try await store.recoveries(of: user.id, tenant: user.tenant, at: now)
        guard let first = recoveries.first(where: \.wasProven)?.email, first != user.email?.address else { return [] }
        return try revertMail(recovery, of: factor, to: user, elsewhere: first, at: now)
    }

    private func mail(
        _ recovery: EmailRecovery,
        _ record: EmailCodeRecord,
        to user: UserRecord,
        at now: Timestamp,
        numberEnding: String? = nil
    ) throws -> AccountWrite.SideWrite {
        let code = recovery.code
        var mail = mail(carrying: code, record, settings: EmailCodeSettings(), locale: recovery.locale)
        mail.displayName = user.profile.displayName
        mail.numberEnding = numberEnding
        let message = try mail.message(
            id: code.messageID,
            tenant: user.tenant,
            createdAt: now,
            expiresAt: record.expiresAt,
            sealer: sealer
        )
        return .enqueue(message)
    }
}
