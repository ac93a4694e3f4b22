import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Lookups by proof, over two processes, checked in the tables.
struct LookUpTests {
    private static let email = "ada@example.com"
    private static let stranger = "nobody@example.com"

    private static func with(
        settings: JSONValue = ProjectSettings.developmentDefaults,
        _ body: (_ first: TestService, _ second: TestService) async throws -> Void
    ) async throws {
        try await TestService.withTwo(settings: settings) { first, second async throws in
            _ = try await first.signUp(email)
            first.clock.advance(seconds: 1)
            try await body(first, second)
        }
    }

    /// Limits of production on mails.
    private static let limited = ProjectSettings.developmentDefaults.setting(.object([:]), at: ["concord", "mail"])

    // MARK: The mail

    @Test func `the mail names the sign-in methods as they are when it is sent`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp("ADA@example.com")
            let mail = try await first.lookUpMail()
            #expect(mail.to == Self.email && mail.code != nil && mail.shortCode != nil)
            #expect(mail.ways.map(\.method) == ["password"])
            let secret = try #require(mail.code)
            let page = "http://127.0.0.1:9099/signin#lookup=\(secret)&lang=en"
            #expect(mail.link == page && mail.ways.map(\.link) == [page + "&email=ada%40example.com&way=password"])
            // Signing in by a link proves the address, and works from then on.
            let proven = try await second.proveLookUp(.linkSecret(secret)).success()
            _ = try await first.continueLookUp(proven.proofToken).success()
            first.clock.advance(seconds: 1)
            try await second.requestLookUp(Self.email)
            let ways = try await second.lookUpMail().ways
            #expect(ways.map(\.method) == ["emailLink", "password"])
            #expect(ways.map(\.setsPassword) == [false, true] && ways[1].link.hasSuffix("&way=setPassword"))
        }
    }

    @Test func `an address without an account gets a mail without code and links, if the project mails that`()
        async throws
    {
        for mails in [true, false] {
            let settings = ProjectSettings.developmentDefaults
                .setting(.bool(mails), at: ["concord", "lookup", "mailsUnknownAddresses"])
            try await Self.with(settings: settings) { first, _ in
                try await first.requestLookUp(Self.stranger)
                let channel = FakeChannel()
                let deliveries = OutboxDeliveries(first.operations, over: channel)
                #expect(try await deliveries.sendDue() == 1)
                let sent = channel.contents.compactMap { Mail(plaintext: $0) }
                #expect(sent.map(\.to) == (mails ? [Self.stranger] : []))
                #expect(sent.allSatisfy { $0.code == nil && $0.shortCode == nil && $0.link == nil && $0.ways.isEmpty })
                let state: Query<String> = "SELECT state FROM outbox WHERE sealed_payload IS NULL"
                #expect(try await first.database.rows(state) == [mails ? "sent" : "withheld"])
            }
        }
    }

    @Test func `the rows of addresses with and without an account have the same form`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            try await second.requestLookUp("eve@example.com")
            let messages: Query<String> = """
                SELECT concat_ws(' ', kind, length(sealed_payload), state, is_withheld, expires_at - created_at)
                FROM outbox
                """
            let mails = try await first.database.rows(messages)
            #expect(mails.count == 2 && Set(mails).count == 1, "\(mails)")
            let stored: Query<String> = """
                SELECT concat_ws(' ', kind, length(code_hash), session_epoch, consumed_at, expires_at - created_at)
                FROM one_time_codes
                """
            let codes = try await first.database.rows(stored)
            #expect(codes.count == 2 && Set(codes).count == 1, "\(codes)")
            let short: Query<String> = """
                SELECT concat_ws(' ', kind, length(code_hash), length(sealed_code), attempts) FROM short_codes
                """
            let shortCodes = try await first.database.rows(short)
            #expect(shortCodes.count == 2 && Set(shortCodes).count == 1, "\(shortCodes)")
        }
    }

    // MARK: The proof

    @Test func `the link and the short code show the methods as often as they are presented`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let mail = try await first.lookUpMail()
            let (secret, digits) = (try #require(mail.code), try #require(mail.shortCode))
            for answer in [
                LookUpAnswer.linkSecret(secret), .code("\(digits.prefix(4)) \(digits.suffix(4))", mailbox: try .ada),
            ] {
                for service in [first, second, first] {
                    let proven = try await service.proveLookUp(answer).success()
                    #expect(proven.account.ways.methods == [WayIn(.password, .works)])
                    #expect(proven.account.lastUsed == .password)
                    #expect(proven.signsIn && !proven.account.ways.offersPassword)
                    #expect(proven.account.email.raw == Self.email)
                    // The address was never proven, so the password may be an intruder's.
                    #expect(proven.suspended.map(\.method) == [.password])
                }
            }
            let codes: Query<Int64?> = "SELECT count(*) FROM one_time_codes WHERE consumed_at IS NULL"
            #expect(try await first.database.count(codes) == 1)
        }
    }

    @Test func `a code proves the mailbox that it was mailed to, for an hour`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let mail = try await first.lookUpMail()
            let (secret, digits) = (try #require(mail.code), try #require(mail.shortCode))
            let wrong = Denial.emailCode(.wrongCode)
            let bob = try #require(EmailAddress("bob@example.com"))
            #expect(try await first.proveLookUp(.code(digits, mailbox: bob)).denial == wrong)
            #expect(try await second.proveLookUp(.linkSecret(secret + "x")).denial == .refusal(.invalidEmailCode))
            // Codes of other mails prove no lookup, and a lookup's code does nothing else.
            first.clock.advance(seconds: 1)
            _ = try await first.askForReset(Self.email)
            let reset = try #require(try await first.operations.mailsWithUsableCodes(tenant: .project).last?.code)
            #expect(try await first.proveLookUp(.linkSecret(reset)).denial == .refusal(.invalidEmailCode))
            let used = try await outcome(
                await first.operations.resetPassword(secret, newPassword: "battery staple", tenant: .project)
            )
            #expect(used.denial == .refusal(.invalidEmailCode))
            let inspected = try await outcome(await first.operations.inspectEmailCode(secret, tenant: .project))
            #expect(inspected.denial == .refusal(.invalidEmailCode))
            first.clock.advance(seconds: Lifetimes.codeSeconds(.lookUp))
            #expect(try await first.proveLookUp(.linkSecret(secret)).denial == .emailCode(.expired))
            #expect(try await second.proveLookUp(.code(digits, mailbox: try .ada)).denial == wrong)
        }
    }

    @Test func `a proof ends after 10 minutes, and when the account or its sessions change`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let secret = try #require(try await first.lookUpMail().code)
            let proof = try await first.proveLookUp(.linkSecret(secret)).success().proofToken
            for forged in [secret, proof + "x", String(proof.dropLast()), "x"] {
                #expect(try await second.continueLookUp(forged).denial == .conflict(.unproven))
            }
            first.clock.advance(seconds: Lifetimes.lookUpProofSeconds)
            #expect(try await second.continueLookUp(proof).denial == .conflict(.proofExpired))

            let next = try await first.proveLookUp(.linkSecret(secret)).success().proofToken
            let owner = try await first.operations.store.user(owning: .email(try .ada), tenant: .project)
            let now = first.clock.now
            try await first.edit(try #require(owner).id) { $0.endSessions(at: now) }
            #expect(try await second.continueLookUp(next).denial == .conflict(.proofStale))
            // The code is still good: another proof is about the account as it is.
            let fresh = try await first.proveLookUp(.linkSecret(secret)).success().proofToken
            #expect(try await second.continueLookUp(fresh).denial == nil)
        }
    }

    @Test func `a proof gets one code that sets the password`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let secret = try #require(try await first.lookUpMail().code)
            let proof = try await first.proveLookUp(.linkSecret(secret)).success().proofToken
            let codes = try await first.race(with: second) { service, _ in
                try await outcome(
                    await service.operations
                        .resetPasswordByLookUp(proof, continueURL: nil, tenant: .project, locale: nil)
                )
            }
            #expect(codes.count { $0.denial == nil } == 1)
            #expect(codes.count { $0.denial == .refusal(.invalidEmailCode) } == 63)
            let code = try #require(codes.first { $0.denial == nil }).success()
            #expect(code.link.contains("mode=resetPassword&oobCode=\(code.code)&"))
            let kinds: Query<String> = """
                SELECT kind || ' ' || (consumed_at IS NULL) FROM one_time_codes ORDER BY 1
                """
            #expect(try await first.database.rows(kinds) == ["LOOKUP false", "PASSWORD_RESET true"])
            let reset = try await outcome(
                await second.operations.resetPassword(code.code, newPassword: "battery staple", tenant: .project)
            )
            #expect(reset.denial == nil)
            #expect(try await first.signIn(Self.email, "battery staple").denial == nil)
            #expect(try await first.proveLookUp(.linkSecret(secret)).denial == .refusal(.invalidEmailCode))
        }
    }

    // MARK: Races

    @Test func `of 64 provers of one code, one signs in`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let mail = try await first.lookUpMail()
            let (secret, digits) = (try #require(mail.code), try #require(mail.shortCode))
            let proofs = try await first.race(with: second) { service, caller in
                let answer =
                    caller.isMultiple(of: 3) ? LookUpAnswer.code(digits, mailbox: try .ada) : .linkSecret(secret)
                return try await service.proveLookUp(answer).success().proofToken
            }
            #expect(Set(proofs).count == 64)
            let outcomes = try await first.race(with: second) { service, caller in
                try await service.continueLookUp(proofs[caller])
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            let lost = outcomes.compactMap(\.denial)
            #expect(lost.allSatisfy { $0 == .refusal(.invalidEmailCode) || $0 == .conflict(.proofStale) }, "\(lost)")
            let sessions: Query<Int64?> = """
                SELECT count(*) FROM sessions JOIN users USING (tenant_id, user_id, session_epoch)
                """
            #expect(try await first.database.count(sessions) == 1)
            let used: Query<Int64?> = "SELECT count(*) FROM one_time_codes WHERE consumed_by IS NOT NULL"
            #expect(try await first.database.count(used) == 1)
        }
    }

    @Test func `of 1000 wrong codes five are answered, and the link still works`() async throws {
        try await Self.with { first, second in
            try await first.requestLookUp(Self.email)
            let mail = try await first.lookUpMail()
            let (secret, digits) = (try #require(mail.code), try #require(mail.shortCode))
            let denials = try await first.race(with: second, count: 1000) { service, number in
                let guess = String(10_000_000 + number)
                let other = guess == digits ? "99999999" : guess
                return try await service.proveLookUp(.code(other, mailbox: try .ada)).denial
            }
            #expect(denials.count { $0 == .emailCode(.wrongCode) } == 5)
            #expect(denials.count { $0 == .emailCode(.tooManyAttempts) } == 995)
            #expect(
                try await first.proveLookUp(.code(digits, mailbox: try .ada)).denial == .emailCode(.tooManyAttempts)
            )
            #expect(try await second.proveLookUp(.linkSecret(secret)).denial == nil)
        }
    }

    @Test func `of 1000 lookups of one address from 1000 networks, five are mailed, with and without an account`()
        async throws
    {
        try await Self.with(settings: Self.limited) { first, second in
            for email in [Self.email, Self.stranger] {
                let denials = try await first.race(with: second, count: 1000) { service, number in
                    let network = "10.\(number / 250).\(number % 250).1"
                    return try await outcome(await service.requestLookUp(email, from: network)).denial
                }
                #expect(denials.count { $0 == nil } == 5)
                #expect(denials.count { $0 == .conflict(.tooManyMails(waitSeconds: 3600)) } == 995)
            }
            #expect(try await first.database.count("SELECT count(*) FROM outbox") == 10)
            #expect(try await first.database.count("SELECT count(*) FROM one_time_codes") == 10)
            // The buttons of all five mails work. The digits are those of the newest: one row, however many mails.
            let mails = try await first.operations.mailsWithUsableCodes(tenant: .project).filter { $0.to == Self.email }
            #expect(mails.count == 5)
            for mail in mails {
                let secret = try #require(mail.code)
                #expect(try await second.proveLookUp(.linkSecret(secret)).denial == nil)
            }
            #expect(try await first.database.count("SELECT count(*) FROM short_codes") == 2)
            let digits = Set(mails.compactMap(\.shortCode))
            var accepted = 0
            for code in digits {
                let denial = try await first.proveLookUp(.code(code, mailbox: try .ada)).denial
                #expect(denial == nil || denial == .emailCode(.wrongCode))
                accepted += denial == nil ? 1 : 0
            }
            #expect(accepted == 1)
            // The flood signed no one in and changed no account.
            let used: Query<Int64?> = "SELECT count(*) FROM one_time_codes WHERE consumed_at IS NOT NULL"
            #expect(try await first.database.count(used) == 0)
            #expect(try await first.database.count("SELECT count(*) FROM users") == 1)
        }
    }

    @Test func `a code tried at 1000 addresses from 1000 networks is wrong everywhere, and proves nothing`()
        async throws
    {
        try await Self.with(settings: Self.limited) { first, second in
            try await first.requestLookUp(Self.email)
            let digits = try #require(try await first.lookUpMail().shortCode)
            let denials = try await first.race(with: second, count: 1000) { service, number in
                let mailbox = try #require(EmailAddress("a\(number)@example.com"))
                let network = "10.\(number / 250).\(number % 250).1"
                return try await service.proveLookUp(.code(digits, mailbox: mailbox), from: network).denial
            }
            #expect(denials.allSatisfy { $0 == .emailCode(.wrongCode) })
            let counted: Query<Int64?> = "SELECT count(*) FROM short_codes WHERE attempts = 1"
            #expect(try await first.database.count(counted) == 1000)
            let used: Query<Int64?> = "SELECT count(*) FROM one_time_codes WHERE consumed_at IS NOT NULL"
            #expect(try await first.database.count(used) == 0)
            #expect(try await second.proveLookUp(.code(digits, mailbox: try .ada)).denial == nil)
        }
    }

    @Test func `a network that tries a code at 200 addresses gets 20 answers, and other networks still prove`()
        async throws
    {
        let settings = ProjectSettings.developmentDefaults
            .setting(.object([:]), at: ["concord", "shortCodes"])
        try await Self.with(settings: settings) { first, second in
            try await first.requestLookUp(Self.email)
            let digits = try #require(try await first.lookUpMail().shortCode)
            let denials = try await first.race(with: second, count: 200) { service, number in
                let mailbox = try #require(EmailAddress("a\(number)@example.com"))
                return try await service.proveLookUp(.code(digits, mailbox: mailbox), from: "192.0.2.1").denial
            }
            #expect(denials.count { $0 == .emailCode(.wrongCode) } == 20)
            #expect(denials.count { $0 == .emailCode(.tooManyAttempts) } == 180)
            let guesses: Query<Int64?> = "SELECT sum(attempts) FROM short_codes"
            #expect(try await first.database.count(guesses) == 20)
            let own = LookUpAnswer.code(digits, mailbox: try .ada)
            #expect(try await first.proveLookUp(own, from: "192.0.2.1").denial == .emailCode(.tooManyAttempts))
            #expect(try await second.proveLookUp(own, from: "192.0.2.2").denial == nil)
        }
    }
}

extension EmailAddress {
    fileprivate static var ada: EmailAddress { get throws { try #require(EmailAddress("ada@example.com")) } }
}

extension TestService {
    fileprivate func requestLookUp(_ email: String, from network: String? = nil) async throws {
        try await operations.requestLookUp(
            of: try #require(EmailAddress(email)),
            continueURL: nil,
            tenant: .project,
            locale: nil,
            clientAddress: network
        )
    }

    /// The newest lookup mail with a usable code, as it is sent.
    fileprivate func lookUpMail() async throws -> Mail {
        let mails = try await operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last { $0.template == .code(.lookUp) })
    }

    fileprivate func proveLookUp(
        _ answer: LookUpAnswer,
        from network: String? = nil
    ) async throws -> Outcome<ProvenLookUp> {
        try await outcome(await operations.proveLookUp(answer, tenant: .project, clientAddress: network))
    }

    fileprivate func continueLookUp(_ proof: String) async throws -> Outcome<SignInOutcome> {
        try await outcome(
            await operations.signInByLookUp(
                proof,
                pendingToken: nil,
                tenant: .project,
                locale: nil,
                clientAddress: nil
            )
        )
    }
}
