package import AccountLinking
import AccountStore
import Crypto

/// Eight digits in a mail beside its link, to type in where the link cannot be opened. They are few enough to guess, so
/// they are sealed, not hashed, and wrong guesses are counted.
enum ShortCode {
    private static let digits = 8

    static func new(_ effects: Effects) -> String { effects.newDigits(digits) }

    /// Returns true if `typed` is the sealed code, ignoring spaces and hyphens. Takes constant time.
    static func isRight(_ typed: String, _ sealed: [UInt8]?, context: String, sealer: Sealer) -> Bool {
        let digits = typed.filter { !" -".contains($0) }
        guard let sealed, let code = try? sealer.open(sealed, context: context) else { return false }
        return SHA256.hash(data: Array(digits.utf8)).equals(Array(SHA256.hash(data: code)))
    }
}

extension ShortCodeRecord {
    /// The authenticated context of the sealed code.
    var codeContext: String {
        ["short-code", tenant.rawValue, kind.rawValue, mailbox.canonical].joined(separator: "\u{1F}")
    }
}

/// A code with the same effect as the link of the mail.
package struct ExchangedShortCode: Sendable {
    package let code: String
    /// The link to the action page, which replaces the mailed one.
    package let link: String
}

extension AccountOperations {
    /// Exchanges the short code of the newest mail of a kind to a mailbox for a new code, once. The link in that mail
    /// then becomes invalid.
    ///
    /// A wrong guess is counted before it is answered, also if no mail exists. At most 5 guesses are answered, from all
    /// callers together. After that even the correct short code is refused until the next mail; the link stays valid.
    /// Once the limits on guesses are reached, guesses are refused without being counted.
    ///
    /// - `locale`: the requested language of the link.
    /// - `clientAddress`: the guessing client, as limits count.
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
        let countedUntil = now.adding(seconds: project.settings.codeSeconds(kind))
        let limits = project.settings.guessLimits.limiting(
            .guess,
            to: "\(kind.rawValue) \(mailbox.canonical)",
            from: clientAddress
        )
        return try await retrying(effects) {
            guard try await store.reached(limits, tenant: tenant, at: now).isEmpty else {
                throw Denial.emailCode(.tooManyAttempts)
            }
            let known = try await store.shortCode(kind, of: mailbox, tenant: tenant)
            let current =
                known.flatMap { now < $0.expiresAt ? $0 : nil }
                ?? ShortCodeRecord(tenant: tenant, kind: kind, mailbox: mailbox, expiresAt: countedUntil)
            guard !current.isLocked else { throw Denial.emailCode(.tooManyAttempts) }
            let isRight = ShortCode.isRight(typed, current.sealedCode, context: current.codeContext, sealer: sealer)
            guard isRight, let linkHash = current.linkHash else {
                let isCounted = try await store.countFailedAttempt(
                    current,
                    until: countedUntil,
                    counting: limits,
                    at: now
                )
                guard isCounted else { throw FactsMoved() }
                throw Denial.emailCode(.wrongCode)
            }
            guard try await store.emailCode(linkHash, tenant: tenant)?.state(at: now) == .usable else {
                throw Denial.refusal(.invalidEmailCode)
            }
            try await store.exchange(current, for: code.hash, within: limits, at: now).requireApplied()
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
}
