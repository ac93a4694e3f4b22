package import AccountLinking
import AccountStore
import Postgres

/// A request for a code by mail (`accounts:sendOobCode`).
package struct EmailCodeRequest: Sendable {
    package enum Action: Sendable {
        case passwordReset(EmailAddress)
        case emailSignIn(EmailAddress)
        case lookUp(EmailAddress)
        case verifyEmail(Subject)
        case verifyAndChangeEmail(Subject, newAddress: EmailAddress)
    }

    package enum Subject: Sendable {
        case session(idToken: String)
        /// Only for administrators.
        case owner(of: EmailAddress)
    }

    package var action: Action
    package var settings: EmailCodeSettings
    package var locale: String?
    /// Administrators learn whether accounts exist, and their mails are neither limited nor counted. With enumeration
    /// protection a password reset gets the protected answer even so, as in Firebase.
    package var isAdministrator: Bool
    /// Returns the link instead of mailing it. The route requires an administrator.
    package var returnsLink: Bool
    package var clientAddress: String?
    package var tenant: TenantID

    package init(
        action: Action,
        settings: EmailCodeSettings,
        locale: String?,
        isAdministrator: Bool,
        returnsLink: Bool,
        clientAddress: String? = nil,
        tenant: TenantID
    ) {
        self.action = action
        self.settings = settings
        self.locale = locale
        self.isAdministrator = isAdministrator
        self.returnsLink = returnsLink
        self.clientAddress = clientAddress
        self.tenant = tenant
    }
}

package struct SentEmailCode: Sendable {
    /// In the form that clients see.
    package let email: String
    /// Set if the request wants the link and the code is not withheld.
    package let returned: (code: String, link: String)?
}

extension AccountOperations {
    /// Makes a code and writes its mail to the outbox, in one transaction.
    ///
    /// With enumeration protection, strangers get the same answer after the same work whether or not an address has an
    /// account: if there is nothing to send, the same rows are written without usable content.
    package func sendEmailCode(_ request: EmailCodeRequest) async throws -> SentEmailCode {
        if let denial = request.settings.denial(in: self) { throw denial }
        return try await send(try await plan(request), request)
    }

    private struct Plan: Sendable {
        var kind: EmailCodeRecord.Kind
        /// The requested spelling, which the answer repeats: the account's would reveal the account.
        var answered: EmailAddress
        /// The account's spelling, otherwise the requested one. A mail host that distinguishes spellings may deliver
        /// the requested one to a stranger.
        var email: EmailAddress
        var newEmail: EmailAddress?
        var displayName: String?
        var user: UserID?
        var sessionEpoch: Int64?
        /// The requesting session; `nil` if none is needed.
        var caller: AuthenticatedSession?
        /// Void from the start, and not mailed.
        var isWithheld = false
        /// The mail goes to the new address's owner, and reports the request.
        var warnsOwner = false
    }

    private func plan(_ request: EmailCodeRequest) async throws -> Plan {
        let tenant = request.tenant
        switch request.action {
        case .emailSignIn(let email):
            if let refusal = SignInWithEmailLinkQuestion.refusal(under: policy) { throw refused(refusal) }
            let recipient = try await store.recipient(of: email, tenant: tenant, at: effects.now())
            return Plan(
                kind: .emailSignIn,
                answered: email,
                email: recipient.spelling ?? email,
                user: recipient.owner
            )
        case .lookUp(let email):
            let recipient = try await store.recipient(of: email, tenant: tenant, at: effects.now())
            return Plan(
                kind: .lookUp,
                answered: email,
                email: recipient.spelling ?? email,
                user: recipient.owner
            )
        case .passwordReset(let email):
            let recipient = try await store.recipient(of: email, tenant: tenant, at: effects.now())
            let plan = Plan(
                kind: .passwordReset,
                answered: email,
                email: recipient.spelling ?? email,
                user: recipient.owner
            )
            return try follow(decideSendPasswordReset(policy: policy, owner: recipient.owner), plan)
        case .verifyEmail(let subject):
            let (user, session) = try await load(subject, tenant: tenant)
            let mailed = try fact(decideFindMailedAccount(user))
            return Plan(
                kind: .verifyEmail,
                answered: mailed.address,
                email: mailed.address,
                displayName: mailed.user.profile.displayName,
                user: mailed.user.id,
                caller: session
            )
        case .verifyAndChangeEmail(let subject, let newAddress):
            let (user, session) = try await load(subject, tenant: tenant)
            let mailed = try fact(decideFindMailedAccount(user))
            let recipient = try await store.recipient(of: newAddress, tenant: tenant, at: effects.now())
            let isSessionRecent =
                session?.isRecent(for: .requestEmailChange, policy: policy, now: effects.now()) ?? true
            let verdict = decideSendEmailChange(
                policy: policy,
                account: mailed.user.id,
                newAddress: newAddress,
                owner: recipient.owner,
                reservation: recipient.reservation,
                isSessionRecent: isSessionRecent,
                isAdministrator: request.isAdministrator
            )
            let plan = Plan(
                kind: .verifyAndChangeEmail,
                answered: mailed.address,
                email: mailed.address,
                newEmail: recipient.spelling ?? newAddress,
                displayName: mailed.user.profile.displayName,
                user: mailed.user.id,
                sessionEpoch: mailed.user.sessionEpoch,
                caller: session
            )
            return try follow(verdict, plan)
        }
    }

    /// Adds the decision to the plan.
    /// - Throws: the refusal of the rule.
    private func follow(_ verdict: Verdict<SendEmailCodeDecision>, _ plan: Plan) throws(Denial) -> Plan {
        var plan = plan
        switch verdict.decision {
        case .refuse(let refusal): throw refused(Verdict(verdict.rule, refusal))
        case .mail: break
        case .withhold(let warnsOwner):
            plan.isWithheld = true
            plan.warnsOwner = warnsOwner
        }
        return plan
    }

    /// The account, if there is one, and the requesting session (`nil` for an administrator).
    private func load(
        _ subject: EmailCodeRequest.Subject,
        tenant: TenantID
    ) async throws -> (user: UserRecord?, session: AuthenticatedSession?) {
        switch subject {
        case .session(let idToken):
            let session = try await authenticate(idToken: idToken, tenant: tenant)
            return (session.user, session)
        case .owner(let address): return (try await store.user(owning: .email(address), tenant: tenant), nil)
        }
    }

    private func send(_ plan: Plan, _ request: EmailCodeRequest) async throws -> SentEmailCode {
        let now = effects.now()
        let code = NewEmailCode(effects: effects)
        let record = record(of: code, plan, tenant: request.tenant, at: now)
        var mail = mail(carrying: code, record, settings: request.settings, locale: request.locale)
        mail.displayName = plan.displayName
        let digits = ShortCode.new(effects)
        mail.shortCode = digits
        let shortCode = try shortCode(digits, plan, record)
        let message = try (plan.warnsOwner ? mail.warning(about: plan.newEmail) : mail).message(
            id: code.messageID,
            tenant: request.tenant,
            createdAt: now,
            expiresAt: record.expiresAt,
            isWithheld: plan.isWithheld && !plan.warnsOwner,
            sealer: sealer
        )
        try await issue(record, message, shortCode, plan, request)
        let returnsLink = request.returnsLink && !plan.isWithheld
        if returnsLink { answeredLinks?.add(mail, tenant: request.tenant, at: now) }
        return SentEmailCode(
            email: plan.answered.lowercased,
            returned: returnsLink ? (code.text, mail.link ?? "") : nil
        )
    }

    private func record(of code: NewEmailCode, _ plan: Plan, tenant: TenantID, at now: Timestamp) -> EmailCodeRecord {
        EmailCodeRecord(
            tenant: tenant,
            hash: code.hash,
            kind: plan.kind,
            user: plan.user,
            sessionEpoch: plan.sessionEpoch,
            email: plan.email,
            newEmail: plan.newEmail,
            requesterAuthTime: plan.kind == .verifyEmail ? plan.caller?.token.authTime : nil,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.codeSeconds(plan.kind)),
            consumedAt: plan.isWithheld ? now : nil
        )
    }

    /// The digits that can be typed instead of opening the link of `record`.
    private func shortCode(_ digits: String, _ plan: Plan, _ record: EmailCodeRecord) throws -> ShortCodeRecord {
        var shortCode = ShortCodeRecord(
            tenant: record.tenant,
            kind: plan.kind,
            mailbox: plan.newEmail ?? plan.email,
            linkHash: record.hash,
            expiresAt: record.expiresAt
        )
        shortCode.sealedCode = try sealer.seal(Array(digits.utf8), context: shortCode.codeContext)
        return shortCode
    }

    /// Writes the code and its mail, within the limits. A withheld mail counts like one that is sent.
    /// - Throws: `Denial` if a limit is reached or the session has ended, `Contention`, or what the database could not do.
    private func issue(
        _ record: EmailCodeRecord,
        _ message: OutboxMessage,
        _ shortCode: ShortCodeRecord,
        _ plan: Plan,
        _ request: EmailCodeRequest
    ) async throws {
        let limits =
            request.isAdministrator
            ? []
            : project.settings.mailLimits.limiting(
                .message(.mail),
                // Each purpose has its own count, so that useless mails do not use up useful ones.
                to: "\(plan.kind.rawValue) \(shortCode.mailbox.canonical)",
                from: request.clientAddress
            )
        try await retrying(effects) {
            if let reached = try await store.reached(limits, tenant: request.tenant, at: record.createdAt).first {
                if plan.kind == .lookUp {
                    throw Denial.conflict(.tooManyMails(waitSeconds: reached.windowSeconds))
                }
                let isForReset = plan.kind == .passwordReset
                throw Denial.emailCode(reached.scope == .project ? .quotaExceeded : .tooManyMails(forReset: isForReset))
            }
            var sideWrites: [AccountWrite.SideWrite] = []
            if let caller = plan.caller {
                let user = try await account(of: caller, asItIs: store.user(caller.user.id, tenant: request.tenant))
                // The end of the session voids the code too.
                sideWrites = [.requireUnchanged(user)]
            }
            try await store.issue(
                record,
                message: request.returnsLink ? nil : message,
                shortCode: request.returnsLink ? nil : shortCode,
                counting: limits,
                sideWrites: sideWrites
            ).requireApplied()
        }
    }

    func mail(
        carrying code: NewEmailCode,
        _ record: EmailCodeRecord,
        settings: EmailCodeSettings,
        locale: String?
    ) -> Mail {
        let locale = mailLocale(locale)
        return Mail(
            template: .code(record.kind),
            to: (record.newEmail ?? record.email).raw,
            email: record.email.lowercased,
            newEmail: record.newEmail?.lowercased,
            code: code.text,
            link: mailLinks.link(
                for: record.kind,
                code: code.text,
                settings: settings,
                project: project.settings,
                apiKey: project.apiKey ?? "",
                locale: locale
            ),
            locale: locale,
            continueURL: record.kind == .passwordReset ? settings.continueURL : nil
        )
    }
}

extension Mail {
    /// The mail to the owner of an address that another account asks for. It carries neither the code nor the name of that account.
    fileprivate func warning(about address: EmailAddress?) -> Mail {
        Mail(template: .addressInUse, to: to, email: address?.lowercased ?? email, locale: locale)
    }
}
