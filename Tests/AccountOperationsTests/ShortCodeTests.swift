import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The short codes in mails, over two processes, checked in the tables.
struct ShortCodeTests {
    private static let email = "ada@example.com"

    /// Two processes, and an account with a requested password reset.
    private static func withRequest(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        _ body: (_ first: TestService, _ second: TestService, _ mail: Mail) async throws -> Void
    ) async throws {
        try await TestService.withTwo(settings: settings) { first, second async throws in
            _ = try await first.signUp(email)
            #expect(try await first.askForReset(email).denial == nil)
            try await body(first, second, try await first.newestMail())
        }
    }

    private static let protected: JSONValue = {
        guard case .object(var members) = ProjectSettings.developmentDefaults else { return .null }
        members["emailPrivacyConfig"] = ["enableImprovedEmailPrivacy": true]
        return .object(members)
    }()

    @Test func `a short code has the effect of its link, and using either consumes both`() async throws {
        try await Self.withRequest { first, second, mail in
            let code = try #require(mail.shortCode)
            #expect(code.wholeMatch(of: /[0-9]{8}/) != nil)
            // Typed with blanks and a hyphen.
            let typed = "\(code.prefix(4)) -\(code.suffix(4)) "
            let exchanged = try await second.exchange(typed, "ADA@example.com").success()
            #expect(exchanged.link.contains("mode=resetPassword&oobCode=\(exchanged.code)&"))
            let used = Denial.refusal(.invalidEmailCode)
            #expect(try await first.exchange(code).denial == used)
            #expect(
                try await outcome(await first.operations.inspectEmailCode(try #require(mail.code), tenant: .project))
                    .denial == used
            )
            let reset = try await outcome(
                await first.operations
                    .resetPassword(exchanged.code, newPassword: "battery staple", tenant: .project)
            )
            #expect(reset.denial == nil)
            #expect(try await first.signIn(Self.email, "battery staple").denial == nil)

            first.clock.advance(seconds: 1)
            #expect(try await first.askForReset(Self.email).denial == nil)
            let next = try await first.newestMail()
            let byLink = try await outcome(
                await second.operations
                    .resetPassword(try #require(next.code), newPassword: "correct horse", tenant: .project)
            )
            #expect(byLink.denial == nil)
            #expect(try await first.exchange(try #require(next.shortCode)).denial == used)
        }
    }

    @Test func `a code is valid for its address, purpose and newest mail, and as long as the link`() async throws {
        try await Self.withRequest { first, second, mail in
            let code = try #require(mail.shortCode)
            let wrong = Denial.emailCode(.wrongCode)
            #expect(try await first.exchange(code, "bob@example.com").denial == wrong)
            #expect(try await first.exchange(code, of: .emailSignIn).denial == wrong)
            #expect(try await first.exchange(code, of: .verifyEmail).denial == wrong)
            first.clock.advance(seconds: 1)
            #expect(try await second.askForReset(Self.email).denial == nil)
            let newest = try #require(try await first.newestMail().shortCode)
            #expect(try await first.exchange(code).denial == wrong)
            first.clock.advance(seconds: Lifetimes.codeSeconds(.passwordReset))
            #expect(try await first.exchange(newest).denial == wrong)
            // The first mail's link is valid until its own time has passed.
            let link = try await outcome(
                await first.operations.inspectEmailCode(try #require(mail.code), tenant: .project)
            )
            #expect(link.denial == .emailCode(.expired))
        }
    }

    @Test func `after five wrong guesses the code is refused, but its link and the next mail's code work`()
        async throws
    {
        try await Self.withRequest { first, second, mail in
            let code = try #require(mail.shortCode)
            for (number, service) in [first, second, first, second, first].enumerated() {
                let guess = Self.another(than: code, number)
                #expect(try await service.exchange(guess).denial == .emailCode(.wrongCode))
            }
            for service in [first, second] {
                #expect(try await service.exchange(code).denial == .emailCode(.tooManyAttempts))
            }
            #expect(
                try await outcome(await first.operations.inspectEmailCode(try #require(mail.code), tenant: .project))
                    .denial == nil
            )
            first.clock.advance(seconds: 1)
            #expect(try await second.askForReset(Self.email).denial == nil)
            let next = try #require(try await first.newestMail().shortCode)
            #expect(try await first.exchange(next).denial == nil)
        }
    }

    @Test func `guesses at an address with an account and without one get the same answers`() async throws {
        try await Self.withRequest(settings: Self.protected) { first, second, mail in
            let code = try #require(mail.shortCode)
            #expect(try await second.askForReset("nobody@example.com").denial == nil)
            for kind in EmailCodeRecord.Kind.allCases.filter(\.hasShortCode) {
                for number in 0...6 {
                    let guess = Self.another(than: code, number)
                    let known = try await first.exchange(guess, of: kind).denial
                    let unknown = try await second.exchange(guess, "nobody@example.com", of: kind).denial
                    #expect(known == unknown)
                    #expect(known == .emailCode(number < 5 ? .wrongCode : .tooManyAttempts))
                }
            }
            let rows: Query<String> = "SELECT kind || ' ' || attempts FROM short_codes ORDER BY email_key, kind"
            let counted = try await first.database.rows(rows)
            #expect(counted.count == 10 && counted.prefix(5) == counted.suffix(5))
        }
    }

    // MARK: Races

    @Test func `of 64 callers with the correct code one succeeds`() async throws {
        try await Self.withRequest { first, second, mail in
            let code = try #require(mail.shortCode)
            let outcomes = try await first.race(with: second) { service, _ in try await service.exchange(code) }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.count { $0.denial == .refusal(.invalidEmailCode) } == 63)
            let exchanged = try #require(outcomes.first { $0.denial == nil }).success()
            let hashes: Query<[UInt8]> = "SELECT code_hash FROM one_time_codes"
            #expect(try await first.database.rows(hashes) == [NewEmailCode.hash(of: exchanged.code)])
            #expect(try await first.database.rows("SELECT attempts FROM short_codes" as Query<Int32>) == [0])
        }
    }

    @Test func `of 1000 wrong guesses five are answered, and the owner's next request works`() async throws {
        try await Self.withRequest { first, second, mail in
            let code = try #require(mail.shortCode)
            let denials = try await first.race(with: second, count: 1000) { service, number in
                try await service.exchange(Self.another(than: code, number)).denial
            }
            #expect(denials.count { $0 == .emailCode(.wrongCode) } == 5)
            #expect(denials.count { $0 == .emailCode(.tooManyAttempts) } == 995)
            #expect(try await first.database.rows("SELECT attempts FROM short_codes" as Query<Int32>) == [5])
            first.clock.advance(seconds: 1)
            #expect(try await second.askForReset(Self.email).denial == nil)
            let next = try #require(try await first.newestMail().shortCode)
            #expect(try await second.exchange(next).denial == nil)
        }
    }

    @Test func `concurrent uses of the link and the code consume them once`() async throws {
        try await Self.withRequest { first, second, mail in
            let (code, link) = (try #require(mail.shortCode), try #require(mail.code))
            let successes = try await first.race(with: second, count: 32) { service, caller in
                if caller.isMultiple(of: 4) {
                    return try await outcome(
                        await service.operations
                            .resetPassword(link, newPassword: "battery \(caller)", tenant: .project)
                    ).denial == nil
                }
                return try await service.exchange(code).denial == nil
            }
            #expect(successes.count { $0 } == 1)
        }
    }

    // MARK: Limits

    /// No limits on mails, and the given limits on guesses.
    private static func limited(_ limits: [String: JSONValue]) -> JSONValue {
        let unlimited = Dictionary(
            uniqueKeysWithValues: MessageLimits.ofGuesses.map { ($0.name, JSONValue.integer(0)) }
        )
        return ProjectSettings.developmentDefaults
            .setting(.object(unlimited.merging(limits) { _, given in given }), at: ["concord", "shortCodes"])
    }

    @Test func `a mailbox gets a limited number of guesses a day, over any number of mails`() async throws {
        try await Self.withRequest(settings: Self.limited(["perMailboxPerDay": 7])) { first, second, _ in
            var answered = 0
            for _ in 1...3 {
                for (number, service) in [first, second, first, second, first].enumerated() {
                    let denial = try await service.exchange(String(number)).denial
                    answered += denial == .emailCode(.wrongCode) ? 1 : 0
                }
                first.clock.advance(seconds: 1)
                #expect(try await first.askForReset(Self.email).denial == nil)
            }
            #expect(answered == 7)
            let code = try #require(try await first.newestMail().shortCode)
            for service in [first, second] {
                #expect(try await service.exchange(code).denial == .emailCode(.tooManyAttempts))
            }
            // Other mails and mailboxes have separate counts, and so does the next day.
            #expect(try await first.exchange("0", of: .emailSignIn).denial == .emailCode(.wrongCode))
            #expect(try await first.exchange("0", "bob@example.com").denial == .emailCode(.wrongCode))
            first.clock.advance(seconds: 86_400)
            #expect(try await first.askForReset(Self.email).denial == nil)
            let next = try #require(try await first.newestMail().shortCode)
            #expect(try await second.exchange(next).denial == nil)
        }
    }

    @Test func `a caller and the project have a limited number of guesses, over all mailboxes`() async throws {
        let limits: [String: JSONValue] = ["perAddressPerMinute": 3, "perProjectPerDay": 5]
        try await Self.withRequest(settings: Self.limited(limits)) { first, second, mail in
            let code = try #require(mail.shortCode)
            for (number, service) in [first, second, first].enumerated() {
                let denial = try await service.exchange("0", "a\(number)@example.com", from: "192.0.2.1").denial
                #expect(denial == .emailCode(.wrongCode))
            }
            // The correct code is refused too.
            let tooMany = Denial.emailCode(.tooManyAttempts)
            #expect(try await second.exchange(code, from: "192.0.2.1").denial == tooMany)
            for number in 0...1 {
                let denial = try await second.exchange("0", "b\(number)@example.com", from: "192.0.2.2").denial
                #expect(denial == .emailCode(.wrongCode))
            }
            #expect(try await first.exchange(code, from: "192.0.2.3").denial == tooMany)
            #expect(try await first.exchange(code).denial == tooMany)
            first.clock.advance(seconds: 86_400)
            #expect(try await first.askForReset(Self.email).denial == nil)
            let next = try #require(try await first.newestMail().shortCode)
            #expect(try await second.exchange(next, from: "192.0.2.1").denial == nil)
        }
    }

    @Test func `of 200 guesses of one caller at many mailboxes exactly the limit is answered`() async throws {
        try await Self.withRequest(settings: Self.limited(["perAddressPerHour": 20])) { first, second, mail in
            let denials = try await first.race(with: second, count: 200) { service, number in
                try await service.exchange("0", "a\(number)@example.com", from: "192.0.2.1").denial
            }
            #expect(denials.count { $0 == .emailCode(.wrongCode) } == 20)
            #expect(denials.count { $0 == .emailCode(.tooManyAttempts) } == 180)
            #expect(try await first.database.rows("SELECT messages FROM message_counts" as Query<Int64>) == [20])
            let guesses: Query<Int64?> = "SELECT sum(attempts) FROM short_codes"
            #expect(try await first.database.count(guesses) == 20)
            #expect(try await first.exchange(try #require(mail.shortCode), from: "192.0.2.2").denial == nil)
        }
    }

    @Test func `correct codes are not counted`() async throws {
        try await Self.withRequest(settings: Self.limited(["perAddressPerHour": 1])) { first, second, _ in
            for service in [first, second, first] {
                first.clock.advance(seconds: 1)
                #expect(try await first.askForReset(Self.email).denial == nil)
                let code = try #require(try await first.newestMail().shortCode)
                #expect(try await service.exchange(code, from: "192.0.2.1").denial == nil)
            }
        }
    }

    /// The tables contain neither the code nor a digest that reveals it.
    @Test func `a code is sealed, and bound to its address and purpose`() async throws {
        try await Self.withRequest { first, _, mail in
            let code = try #require(mail.shortCode)
            let sealed: Query<[UInt8]> = "SELECT sealed_code FROM short_codes"
            let kept = try #require(try await first.database.rows(sealed).first)
            #expect(!String(decoding: kept, as: UTF8.self).contains(code))
            try await first.database.execute(
                """
                INSERT INTO short_codes (kind, email_key, code_hash, sealed_code, expires_at)
                SELECT kind, 'mallory@example.com', code_hash, sealed_code, expires_at FROM short_codes
                """
            )
            #expect(try await first.exchange(code, "mallory@example.com").denial == .emailCode(.wrongCode))
        }
    }

    @Test func `expired codes are deleted`() async throws {
        try await Self.withRequest { first, _, _ in
            _ = try await first.exchange("0", "nobody@example.com")
            #expect(try await first.database.rows("SELECT count(*) FROM short_codes" as Query<Int64>) == [2])
            let cutoff = first.clock.now.adding(seconds: Lifetimes.codeSeconds(.passwordReset))
            #expect(try await first.operations.store.purge(.shortCodes, endedBefore: cutoff, rowsMax: 10) == 2)
        }
    }

    private static func another(than code: String, _ number: Int) -> String {
        let guess = String(10_000_000 + number)
        return guess == code ? "99999999" : guess
    }
}

extension TestService {
    fileprivate func exchange(
        _ code: String,
        _ email: String = "ada@example.com",
        of kind: EmailCodeRecord.Kind = .passwordReset,
        from clientAddress: String? = nil
    ) async throws -> Outcome<ExchangedShortCode> {
        guard let mailbox = EmailAddress(email) else { throw UnexpectedEnding("not an address") }
        return
            try await outcome(
                await operations
                    .exchangeShortCode(
                        code,
                        of: kind,
                        mailedTo: mailbox,
                        tenant: .project,
                        locale: nil,
                        clientAddress: clientAddress
                    )
            )
    }

    fileprivate func newestMail() async throws -> Mail {
        guard let mail = try await operations.mailsWithUsableCodes(tenant: .project).last else {
            throw UnexpectedEnding("no mail")
        }
        return mail
    }
}
