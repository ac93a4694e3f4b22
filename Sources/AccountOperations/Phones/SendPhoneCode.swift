package import AccountLinking
import AccountStore
import Postgres

/// A request for a code to sign in or to link with (`accounts:sendVerificationCode`).
package struct PhoneCodeRequest: Sendable {
    /// The typed text.
    package var number: String?
    package var credential: AppCredential
    package var iOSBundleID: String?
    package var apiKey: String?
    package var locale: String?
    package var clientAddress: String?
    /// The caller that limits count.
    package var subscriber: String?

    package init(
        number: String?,
        credential: AppCredential,
        iOSBundleID: String? = nil,
        apiKey: String? = nil,
        locale: String? = nil,
        clientAddress: String? = nil,
        subscriber: String? = nil
    ) {
        self.number = number
        self.credential = credential
        self.iOSBundleID = iOSBundleID
        self.apiKey = apiKey
        self.locale = locale
        self.clientAddress = clientAddress
        self.subscriber = subscriber
    }
}

struct PhoneRecipient: Sendable {
    let number: PhoneNumber
    /// The project configures the code, and nothing is sent.
    let isFictional: Bool
    /// True if the project sends messages to the number's region.
    let isRegionAllowed: Bool
}

struct PreparedPhoneCode: Sendable {
    var number: PhoneNumber
    /// The project configures the code, and nothing is sent.
    var isFictional = false
    var purpose: PhoneVerificationRecord.Purpose
    /// Owner of the second factor.
    var user: UserID?
    var locale: String?
    /// The caller that limits count.
    var subscriber: String?
    var tenant: TenantID
}

extension AccountOperations {
    /// Sends a code, with the checks in the order of docs/reference/protocol.md, "Phone verification". A fictional
    /// number needs no app, counts for no limit, and gets nothing.
    /// - Returns: `sessionInfo`.
    /// - Throws: an error of the app's verifier or the database, or `Contention`.
    package func sendPhoneCode(_ request: PhoneCodeRequest, tenant: TenantID) async throws -> String {
        func refusal(owner: Account?, isRegionAllowed: Bool) -> Verdict<Refusal>? {
            let verdict = decideSendPhoneCode(policy: policy, owner: owner, isRegionAllowed: isRegionAllowed)
            return verdict.decision.map { Verdict(verdict.rule, $0) }
        }
        // Decided as if the number had no owner: a refusal then needs no read.
        if let refusal = refusal(owner: nil, isRegionAllowed: true) {
            throw refused(.refusal(refusal.decision), by: refusal.rule)
        }
        let addressee = try await appraise(request, tenant: tenant) { refusal(owner: nil, isRegionAllowed: $0) }
        let number = addressee.number
        let owner = try await store.user(owning: .phone(number), tenant: tenant)
        if let refusal = refusal(owner: owner?.account, isRegionAllowed: true) {
            throw refused(.refusal(refusal.decision), by: refusal.rule)
        }
        return try await send(
            PreparedPhoneCode(
                number: number,
                isFictional: addressee.isFictional,
                purpose: .signIn,
                locale: request.locale,
                subscriber: request.subscriber,
                tenant: tenant
            )
        )
    }

    /// Judges the number without network or database.
    func judge(_ number: String?) throws(Denial) -> PhoneRecipient {
        let settings = project.settings
        if let fictional = number.flatMap(PhoneNumber.init), settings.testPhoneNumbers[fictional] != nil {
            return PhoneRecipient(number: fictional, isFictional: true, isRegionAllowed: true)
        }
        let dialable: DialableNumber
        switch NumberingPlan.judge(number ?? "") {
        case .failure(let defect):
            guard let example = number.flatMap({ developmentNumbers?.example($0) }) else {
                throw Denial.phone(.invalidNumber(defect))
            }
            dialable = example
        case .success(let judged): dialable = judged
        }
        return PhoneRecipient(
            number: dialable.number,
            isFictional: false,
            isRegionAllowed: settings.messageRegions.contains(dialable.region)
        )
    }

    /// Verifies the app's credential, except for a fictional number.
    ///
    /// - `refusal`: the verdict of the rules.
    func appraise(
        _ request: PhoneCodeRequest,
        tenant: TenantID,
        refusal: (_ isRegionAllowed: Bool) -> Verdict<Refusal>?
    ) async throws -> PhoneRecipient {
        let addressee = try judge(request.number)
        if let refusal = refusal(addressee.isRegionAllowed) {
            throw refused(.refusal(refusal.decision), by: refusal.rule)
        }
        if addressee.isFictional { return addressee }
        let app = AppRequest(
            credential: request.credential,
            number: addressee.number,
            iOSBundleID: request.iOSBundleID,
            apiKey: request.apiKey,
            clientAddress: request.clientAddress
        )
        if apps.isPaid(app) { try await countAssessment(for: request.subscriber, tenant: tenant) }
        if let denial = try await apps.denial(of: app) { throw Denial.phone(denial) }
        return addressee
    }

    /// Counts before the request, because a refused assessment costs money too. The limits are those of messages.
    private func countAssessment(for subscriber: String?, tenant: TenantID) async throws {
        let now = effects.now()
        let limits = project.settings.messageLimits.filter { $0.scope != .recipient }
            .limiting(.assessment, to: "", from: subscriber)
        try await retrying(effects) {
            if let reached = try await store.reached(limits, tenant: tenant, at: now).first {
                throw Denial.phone(reached.scope.denial)
            }
            try await store.count(limits, tenant: tenant, at: now).requireApplied()
        }
    }

    /// Stores a verification and its message, within the limits. If such a message is on its way, adds a session to its
    /// verification instead. One of many concurrent callers sends.
    /// - Returns: `sessionInfo`.
    func send(_ order: PreparedPhoneCode) async throws -> String {
        let now = effects.now()
        let session = PhoneSession(effects: effects)
        var verification = PhoneVerificationRecord(
            tenant: order.tenant,
            id: session.id,
            sessionDigests: [session.digest],
            purpose: order.purpose,
            user: order.user,
            number: order.number,
            sealedCode: nil,
            createdAt: now,
            expiresAt: now.adding(seconds: project.settings.phoneCodeSeconds)
        )
        if order.isFictional {
            let shown = try developmentMessage(to: order, verification, session)
            return try await retrying(effects) {
                try await store.issue(
                    verification,
                    isCurrent: false,
                    superseding: nil,
                    message: shown,
                    counting: [],
                    at: now
                ).requireApplied()
                return session.text
            }
        }
        let code = effects.newDigits(PhoneVerificationRecord.codeDigits)
        verification.sealedCode = try sealer.seal(Array(code.utf8), context: verification.codeContext)
        let message = try message(carrying: code, verification, session, locale: order.locale)
        let limits = project.settings.messageLimits.limiting(
            .message(.sms),
            // Each purpose has its own count, so that strangers who request sign-in codes do not block a second factor.
            to: "\(order.purpose.rawValue) \(order.number.rawValue)",
            from: order.subscriber
        )
        return try await retrying(effects) { [verification] in
            let facts = try await store.phoneFacts(
                of: order.number,
                for: order.purpose,
                limits: limits,
                tenant: order.tenant,
                at: now
            )
            let window = project.settings.messageWindowSeconds
            if let current = facts.current, current.user == order.user,
                current.answersRequest(at: now, windowSeconds: window)
            {
                guard current.sessionDigests.count < PhoneVerificationRecord.sessionsMax else {
                    throw Denial.phone(.tooManyMessages)
                }
                guard try await store.join(current, sessionDigest: session.digest) else { throw FactsMoved() }
                var joined = session
                joined.id = current.id
                return joined.text
            }
            if let reached = facts.reached.first {
                throw Denial.phone(reached.scope.denial)
            }
            try await store.issue(
                verification,
                isCurrent: true,
                superseding: facts.current,
                message: message,
                counting: limits,
                at: now
            ).requireApplied()
            return session.text
        }
    }

    /// The message that development shows for a fictional number; `nil` in production.
    private func developmentMessage(
        to order: PreparedPhoneCode,
        _ verification: PhoneVerificationRecord,
        _ session: PhoneSession
    ) throws -> OutboxMessage? {
        guard developmentNumbers != nil, let code = project.settings.testPhoneNumbers[order.number] else { return nil }
        return try message(carrying: code, verification, session, locale: order.locale)
    }

    private func message(
        carrying code: String,
        _ verification: PhoneVerificationRecord,
        _ session: PhoneSession,
        locale: String?
    ) throws -> OutboxMessage {
        let settings = project.settings
        let locale = mailLocale(locale)
        let sms = SMS(
            to: verification.number,
            text: SMSText.text(
                code: code,
                appName: settings.displayName ?? settings.projectID,
                locale: locale,
                template: settings.messageTemplate
            ),
            code: code,
            sessionInfo: session.text,
            locale: locale
        )
        return try sms.message(
            id: effects.newEventID(),
            tenant: verification.tenant,
            createdAt: verification.createdAt,
            expiresAt: verification.expiresAt,
            sealer: sealer
        )
    }
}

extension MessageLimit.Scope {
    fileprivate var denial: PhoneDenial {
        switch self {
        case .recipient, .address: .tooManyMessages
        case .project: .quotaExceeded
        }
    }
}
