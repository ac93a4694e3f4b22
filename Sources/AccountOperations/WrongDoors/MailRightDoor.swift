package import AccountLinking
import AccountStore

// The answer at a wrong door stays the compatible one. The owner of the address learns from a mail how to sign in
// (ADR 0118).

extension AccountOperations {
    /// Mails the owner of an address how to sign in, once in `concord.wrongDoor.windowSeconds`.
    ///
    /// Every address gets the same reads and writes, with and without an account. The worker that sends the mail reads
    /// the account, and drops a mail that has nothing to say (`resolveRightDoor`). Of concurrent requests one is mailed.
    ///
    /// - `clientAddress`: the network address of the client, if known.
    /// - `locale`: the language of the mail, as sent.
    /// - Throws: a database error.
    package func mailRightDoor(
        after door: WrongDoor,
        to email: EmailAddress,
        from clientAddress: String?,
        locale: String?,
        tenant: TenantID
    ) async throws {
        let limits = limitsOnRightDoors(to: email, from: clientAddress)
        try await mailRightDoor(after: door, to: email, counting: limits, locale: locale, tenant: tenant)
    }

    /// The same, within other limits.
    ///
    /// - `continueURL`: the page of the app to which the mail leads back.
    func mailRightDoor(
        after door: WrongDoor,
        to email: EmailAddress,
        counting limits: [CountedLimit],
        returningTo continueURL: String? = nil,
        locale: String?,
        tenant: TenantID
    ) async throws {
        guard project.settings.mailsRightDoors else { return }
        let now = effects.now()
        let reached = try await limits.isEmpty ? [] : store.reached(limits, tenant: tenant, at: now)
        guard reached.isEmpty else { return }
        let recipient = try await store.recipient(of: email, tenant: tenant, at: now)
        let code = NewEmailCode(effects: effects)
        // The mail proves the mailbox, as that of a lookup does.
        let record = EmailCodeRecord(
            tenant: tenant,
            hash: code.hash,
            kind: .lookUp,
            user: recipient.owner,
            email: recipient.spelling ?? email,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeSeconds(.lookUp))
        )
        var shortCode = ShortCodeRecord(
            tenant: tenant,
            kind: .lookUp,
            mailbox: record.email,
            linkHash: record.hash,
            expiresAt: record.expiresAt
        )
        let digits = ShortCode.new(effects)
        shortCode.sealedCode = try sealer.seal(Array(digits.utf8), context: shortCode.codeContext)
        let locale = mailLocale(locale)
        let mail = Mail(
            template: .wrongDoor,
            to: record.email.raw,
            email: record.email.lowercased,
            shortCode: digits,
            link: mailLinks.lookUpPage(secret: code.text, locale: locale, continueURL: continueURL),
            locale: locale,
            door: door
        )
        let message = try mail.message(
            id: code.messageID,
            tenant: tenant,
            createdAt: now,
            expiresAt: record.expiresAt,
            sealer: sealer
        )
        // Strangers cause these mails, so a short code that the owner has requested stays valid. Facts that moved are no
        // reason to retry: a concurrent request is mailed, or the account is gone.
        _ = try await store.issue(
            record,
            message: message,
            shortCode: shortCode,
            replacesShortCode: false,
            counting: limits
        )
    }

    /// Mails the right door after a sign-up that was refused, if the address is the reason and `createAuthUri` does not
    /// name its methods.
    func mailRightDoor(
        afterSignUp refusal: Refusal,
        with email: EmailAddress,
        from clientAddress: String?,
        locale: String?,
        tenant: TenantID
    ) async throws {
        guard refusal == .emailExists, policy.protectsEmailEnumeration else { return }
        try await mailRightDoor(after: .signUp, to: email, from: clientAddress, locale: locale, tenant: tenant)
    }

    /// Counted apart from the mails that people request: wrong passwords of strangers use up none of those. The limits for
    /// a mailbox apply too if their windows are longer than `concord.wrongDoor.windowSeconds`.
    private func limitsOnRightDoors(to email: EmailAddress, from clientAddress: String?) -> [CountedLimit] {
        let once = MessageLimit(.recipient, windowSeconds: project.settings.rightDoorSeconds, countMax: 1)
        let others = project.settings.mailLimits.filter {
            $0.scope != .recipient || $0.windowSeconds > once.windowSeconds
        }
        return ([once] + others).limiting(.rightDoor, to: email.canonical, from: clientAddress)
    }

    /// The mail after a wrong door as it is sent; `nil` if there is nothing to say.
    ///
    /// Reads as much for an address without an account.
    func resolveRightDoor(_ mail: Mail, tenant: TenantID) async throws -> Mail? {
        guard project.settings.mailsRightDoors, let door = mail.door, let link = mail.link else { return nil }
        let found = try await owner(of: mail, tenant: tenant)
        let isShortCodeCurrent = try await isShortCodeCurrent(in: mail, tenant: tenant)
        let owner = found.user.map { user in (user: user, ways: ways(to: user, found.suspended)) }
        let verdict = decideMailRightDoor(after: door, ways: owner?.ways)
        metrics.decided(verdict.rule)
        guard case .mail = verdict.decision, let owner else { return nil }
        var resolved = listing(owner.ways, of: owner.user, by: link, in: mail)
        if !isShortCodeCurrent || resolved.ways.isEmpty { resolved.shortCode = nil }
        return resolved
    }

    /// Returns true if Concord accepts the mail's short code. It does not if a lookup's code was valid at the request,
    /// or was mailed since.
    private func isShortCodeCurrent(in mail: Mail, tenant: TenantID) async throws -> Bool {
        guard let digits = mail.shortCode, let mailbox = EmailAddress(mail.to),
            let current = try await store.shortCode(.lookUp, of: mailbox, tenant: tenant), !current.isLocked
        else { return false }
        return ShortCode.isRight(digits, current.sealedCode, context: current.codeContext, sealer: sealer)
    }

    /// The mail about a password reset as it is sent: an account without a password gets its other methods first.
    func resolveReset(_ mail: Mail, tenant: TenantID) async throws -> Mail {
        guard project.settings.mailsRightDoors else { return mail }
        let found = try await owner(of: mail, tenant: tenant)
        guard let user = found.user, let mailbox = EmailAddress(mail.to) else { return mail }
        let first = waysBeforeReset(
            of: user.account,
            at: mailbox,
            ways: ways(to: user, found.suspended),
            policy: policy
        )
        var mail = mail
        mail.ways = first.methods.map { method in
            let link = mailLinks.signInPage(
                email: mail.email,
                way: method.name,
                locale: mail.locale,
                continueURL: mail.continueURL
            )
            return Mail.Way(method: method.name, link: link)
        }
        mail.suspendsWays = first.areSuspended
        return mail
    }
}
