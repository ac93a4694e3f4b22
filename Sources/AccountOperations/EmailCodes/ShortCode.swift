package import AccountLinking
import AccountStore
import Crypto

/// Eight digits that travel by mail beside a link, to be typed in where the link cannot be opened. Few enough to be guessed,
/// so they are sealed, not hashed, and wrong ones are counted.
enum ShortCode {
    private static let digits = 8

    static func new(_ effects: Effects) -> String { effects.newDigits(digits) }

    /// Whether `typed` is the sealed code; spaces and hyphens do not count. Takes the same time wherever the two differ.
    static func isRight(_ typed: String, _ sealed: [UInt8]?, context: String, sealer: Sealer) -> Bool {
        let digits = typed.filter { !" -".contains($0) }
        guard let sealed, let code = try? sealer.open(sealed, context: context) else { return false }
        return SHA256.hash(data: Array(digits.utf8)).equals(Array(SHA256.hash(data: code)))
    }
}

extension ShortCodeRecord {
    /// What its sealed code is bound to.
    var codeContext: String {
        ["short-code", tenant.rawValue, kind.rawValue, mailbox.canonical].joined(separator: "\u{1F}")
    }
}

/// A code that does what the link of the same mail does.
package struct ExchangedShortCode: Sendable {
    package let code: String
    /// To the action page, in place of the mailed one.
    package let link: String
}

extension AccountOperations {
    /// Exchanges the short code of the newest mail of a kind to a mailbox for another code of the link beside it, once. The
    /// link is worth nothing any more then.
    ///
    /// A wrong guess is counted before it is answered, whether or not there is anything to guess at: five are answered,
    /// however many come at once and from wherever. Until the next mail is asked for a right one is then refused as well; the
    /// link works on. Beyond the limits on guesses none counts either, whichever mailbox it is at.
    ///
    /// - `locale`: the language of the link, as asked for.
    /// - `clientAddress`: who guesses, as limits count.
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
