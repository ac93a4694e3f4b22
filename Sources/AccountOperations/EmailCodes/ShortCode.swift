package import AccountLinking
import AccountStore
import Crypto

/// Eight digits in a mail, to type in where its link cannot be opened. They can be guessed, so they are sealed, not
/// hashed, and wrong guesses are counted.
enum ShortCode {
    private static let digits = 8

    static func new(_ effects: Effects) -> String { effects.newDigits(digits) }

    /// Ignores spaces and hyphens. Constant time.
    static func isRight(_ typed: String, _ sealed: [UInt8]?, context: String, sealer: Sealer) -> Bool {
        let digits = typed.filter { !" -".contains($0) }
        guard let sealed, let code = try? sealer.open(sealed, context: context) else { return false }
        return SHA256.hash(data: Array(digits.utf8)).equals(Array(SHA256.hash(data: code)))
    }
}

extension ShortCodeRecord {
    /// The authenticated context of the sealed code.
    var codeContext: String {
        SealingContext.shortCode(tenant: tenant.rawValue, kind: kind.rawValue, mailbox: mailbox.canonical)
    }
}

package struct ExchangedShortCode: Sendable {
    package let code: String
    /// To the action page. Replaces the mailed link.
    package let link: String
}

extension AccountOperations {
    /// Exchanges the short code of the newest mail of a kind for a new code, once. The mailed link then becomes
    /// invalid.
    ///
    /// A wrong guess is counted before it is answered, also without a mail. At most 5 guesses are answered, from all
    /// callers. After that even the correct code is refused until the next mail, but the link stays valid. Guesses
    /// beyond the limits are refused without being counted.
    ///
    /// - `locale`: for the link.
    /// - `clientAddress`: the address that limits count.
    package func exchangeShortCode(
        _ typed: String,
        of kind: EmailCodeRecord.Kind,
        mailedTo mailbox: EmailAddress,
        tenant: TenantID,
        locale: String?,
        clientAddress: String?
    ) async throws -> ExchangedShortCode {
        let now = effects.now()
        let code = NewEmailCode(effects: effects)
        return try await retrying(effects) {
            let (current, linkHash, limits) = try await guess(
                typed,
                of: kind,
                mailedTo: mailbox,
                tenant,
                from: clientAddress,
                now
            )
            let linked = try await store.emailCode(linkHash, tenant: tenant)
            if let refusal = refusalOfShortCode(linkedTo: linked, now: now) { throw refused(refusal) }
            guard let linked else { throw FactsMoved() }
            try await store.exchange(current, linkedTo: linked, for: code.hash, within: limits, at: now)
                .requireApplied()
            let link = mailLinks.page(
                for: kind,
                code: code.text,
                apiKey: project.apiKey ?? "",
                locale: mailLocale(locale),
                continueURL: nil
            )
            return ExchangedShortCode(code: code.text, link: link)
        }
    }

    /// Checks a guess of the short code of the newest mail of a kind, and counts a wrong one before the answer.
    ///
    /// - Returns: the right code, the hash of the code in the same mail's link, and the limits that guesses count
    ///   against.
    /// - Throws: the refusal of the rule, `FactsMoved`, or a database error.
    func guess(
        _ typed: String,
        of kind: EmailCodeRecord.Kind,
        mailedTo mailbox: EmailAddress,
        _ tenant: TenantID,
        from clientAddress: String?,
        _ now: Timestamp
    ) async throws -> (code: ShortCodeRecord, linkHash: [UInt8], limits: [CountedLimit]) {
        let countedUntil = now.adding(seconds: project.settings.codeSeconds(kind))
        let limits = project.settings.guessLimits.limiting(
            .guess,
            to: "\(kind.rawValue) \(mailbox.canonical)",
            from: clientAddress
        )
        let isLimitReached = try await !store.reached(limits, tenant: tenant, at: now).isEmpty
        // Beyond the limits nothing more is read or compared.
        let known = isLimitReached ? nil : try await store.shortCode(kind, of: mailbox, tenant: tenant)
        let current =
            known.flatMap { now < $0.expiresAt ? $0 : nil }
            ?? ShortCodeRecord(tenant: tenant, kind: kind, mailbox: mailbox, expiresAt: countedUntil)
        let isRight =
            current.isLocked
            ? false
            : ShortCode.isRight(typed, current.sealedCode, context: current.codeContext, sealer: sealer)
        let verdict = decideGuessShortCode(current, isRight: isRight, isLimitReached: isLimitReached)
        switch verdict.decision {
        case .exchange(let hash): return (current, hash, limits)
        case .refuse(let refusal): throw refused(Verdict(verdict.rule, refusal))
        case .wrong:
            let isCounted = try await store.countFailedAttempt(
                current,
                until: countedUntil,
                counting: limits,
                at: now
            )
            guard isCounted else { throw FactsMoved() }
            throw refused(Verdict(verdict.rule, .wrongCode))
        }
    }
}
