import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Mails after wrong doors, over two processes, checked in the tables.
struct WrongDoorTests {
    /// An account with a Google identity alone, whose address Google proves.
    private static let ada = "ada@gmail.com"
    /// An account with a GitHub identity alone, whose address is unproven.
    private static let bob = "bob@example.com"
    /// An account with a password.
    private static let eve = "eve@example.com"
    private static let stranger = "nobody@example.com"

    private static let protected = ProjectSettings.developmentDefaults
        .setting(.bool(true), at: ["emailPrivacyConfig", "enableImprovedEmailPrivacy"])
    private static let withMailbox = protected.setting("mailbox", at: ["concord", "signUp", "requires"])

    private static func with(
        settings: JSONValue = protected,
        _ body: (_ first: TestService, _ second: TestService) async throws -> Void
    ) async throws {
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let google = first.credential(.google, subject: "ada", email: ada, isVerified: true)
            _ = try await first.signIn(google).signedIn()
            _ = try await first.signIn(first.credential(.gitHub, subject: "bob", email: bob)).signedIn()
            if settings == withMailbox {
                try await first.imported(eve)
            } else {
                _ = try await first.signUp(eve)
            }
            first.clock.advance(seconds: 1)
            try await body(first, second)
        }
    }

    // MARK: Who is mailed

    @Test func `a wrong password is mailed to the owner of an account without one, and to no other address`()
        async throws
    {
        try await Self.with { first, second in
            for email in [Self.ada, Self.eve, Self.stranger] {
                let denial = try await first.signIn(email, "wrong horse").denial
                #expect(denial == .refusal(.invalidLoginCredentials), "\(email)")
            }
            let mails = try await second.rightDoors()
            #expect(mails.map(\.to) == [Self.ada] && mails[0].door == .password)
            #expect(mails[0].ways.map(\.method) == ["google.com", "emailLink", "password"])
            #expect(mails[0].ways.map(\.setsPassword) == [false, false, true])
            #expect(mails[0].code == nil && mails[0].shortCode != nil)
            // A right password is no wrong door.
            #expect(try await first.signIn(Self.eve).denial == nil)
            #expect(try await first.outboxCount() == 3)
        }
    }

    @Test func `the buttons and the code of the mail are those of a lookup`() async throws {
        try await Self.with { first, second in
            #expect(try await first.signIn(Self.ada, "wrong horse").denial != nil)
            let mail = try #require(try await first.rightDoors().first)
            let page = "http://127.0.0.1:9099/signin#lookup="
            #expect(mail.ways.count == 3)
            #expect(mail.ways.allSatisfy { $0.link.hasPrefix(page) && $0.link.contains("&way=") })
            let secret = try #require(mail.link?.split(separator: "lookup=").last?.prefix { $0 != "&" })
            let mailbox = try #require(EmailAddress(Self.ada))
            let digits = try #require(mail.shortCode)
            for answer in [LookUpAnswer.linkSecret(String(secret)), .code(digits, mailbox: mailbox)] {
                let proven = try await second.operations.proveLookUp(answer, tenant: .project, clientAddress: nil)
                #expect(proven.account.email.raw == Self.ada && proven.signsIn && proven.suspended.isEmpty)
            }
        }
    }

    @Test func `a sign-up with a used address is mailed to its owner, if addresses are protected`() async throws {
        for (settings, isMailed) in [(Self.protected, true), (ProjectSettings.developmentDefaults, false)] {
            try await Self.with(settings: settings) { first, _ in
                let anonymous = try await first.signUpAnonymously()
                for email in [Self.ada, Self.eve] {
                    // Mails have an order.
                    first.clock.advance(seconds: 1)
                    #expect(try await first.denialOfSignUp(email) == .refusal(.emailExists))
                    let address = try #require(EmailAddress(email))
                    let linked = try await first.link(address, idToken: anonymous.tokens.idToken)
                    #expect(linked.denial == .refusal(.emailExists))
                }
                let mails = try await first.rightDoors()
                #expect(mails.map(\.to) == (isMailed ? [Self.ada, Self.eve] : []))
                #expect(mails.allSatisfy { $0.door == .signUp })
                #expect(mails.last?.ways.map(\.method) == (isMailed ? ["password"] : nil))
            }
        }
    }

    @Test func `a sign-up that needs the mailbox is mailed: a used address the right door, a free one the link`()
        async throws
    {
        try await Self.with(settings: Self.withMailbox) { first, _ in
            // The window of wrong passwords does not stop the mail that the answer promises.
            #expect(try await first.signIn(Self.ada, "wrong horse").denial != nil)
            let before = try await first.outboxCount()
            for (number, email) in [Self.ada, Self.stranger].enumerated() {
                first.clock.advance(seconds: 1)
                #expect(try await first.denialOfSignUp(email) == .refusal(.mailboxUnproven))
                #expect(try await first.outboxCount() == before + 2 * Int64(number + 1))
            }
            #expect(try await first.rightDoors().map(\.door) == [.password, .signUp])
            let types = try await first.operations.inbox(tenant: .project).map { "\($0.type) \($0.to)" }
            #expect(
                types.sorted() == [
                    "SIGN_UP_MAILBOX \(Self.stranger)", "WRONG_DOOR \(Self.ada)", "WRONG_DOOR \(Self.ada)",
                ]
            )
        }
    }

    @Test func `a disabled account is mailed that nothing works`() async throws {
        try await Self.with { first, _ in
            let google = first.credential(.google, subject: "ada", email: Self.ada, isVerified: true)
            let account = try await first.signIn(google).signedIn()
            try await first.edit(account.user.id) { $0.isDisabled = true }
            #expect(try await first.signIn(Self.ada, "wrong horse").denial == .refusal(.invalidLoginCredentials))
            let mail = try #require(try await first.rightDoors().first)
            #expect(mail.to == Self.ada && mail.ways.isEmpty && mail.shortCode == nil)
        }
    }

    @Test func `a project can switch the mails off`() async throws {
        let off = Self.protected.setting(.bool(false), at: ["concord", "wrongDoor", "enabled"])
        try await Self.with(settings: off) { first, second in
            #expect(try await first.signIn(Self.ada, "wrong horse").denial == .refusal(.invalidLoginCredentials))
            #expect(try await first.denialOfSignUp(Self.ada) == .refusal(.emailExists))
            #expect(try await first.outboxCount() == 0)
            _ = try await second.askForReset(Self.ada)
            #expect(try await first.resetMail().ways.isEmpty)
        }
    }

    @Test func `without the mails, a sign-up that needs the mailbox gets the same answer and rows for a used address`()
        async throws
    {
        let off = Self.withMailbox.setting(.bool(false), at: ["concord", "wrongDoor", "enabled"])
        try await TestService.with(settings: off) { service in
            try await service.imported(Self.eve)
            for (number, email) in [Self.eve, Self.stranger].enumerated() {
                #expect(try await service.denialOfSignUp(email) == .refusal(.mailboxUnproven))
                #expect(try await service.outboxCount() == Int64(number + 1))
            }
            let mails = try await service.operations.inbox(tenant: .project)
            #expect(mails.map { "\($0.type) \($0.to)" } == ["SIGN_UP_MAILBOX \(Self.stranger)"])
        }
    }

    // MARK: Short codes

    @Test func `a wrong password leaves the code of a lookup valid, and its own mail has buttons alone`() async throws {
        try await Self.with { first, second in
            for email in [Self.ada, Self.eve] {
                let mailbox = try #require(EmailAddress(email))
                let digits = try await first.lookUpCode(mailbox)
                #expect(try await second.signIn(email, "wrong horse").denial != nil)
                let proven = try await second.prove(.code(digits, mailbox: mailbox)).success()
                #expect(proven.account.email == mailbox)
            }
            let mail = try #require(try await first.rightDoors().first)
            #expect(mail.to == Self.ada && mail.shortCode == nil && mail.ways.count == 3)
            let secret = try #require(mail.link?.split(separator: "lookup=").last?.prefix { $0 != "&" })
            #expect(try await second.prove(.linkSecret(String(secret))).denial == nil)
        }
    }

    @Test func `a wrong door stores its code if that of the lookup has expired, or was guessed at too often`()
        async throws
    {
        try await Self.with { first, second in
            for email in [Self.ada, Self.bob] {
                let mailbox = try #require(EmailAddress(email))
                _ = try await first.lookUpCode(mailbox)
                if email == Self.ada {
                    first.clock.advance(seconds: 3600)
                } else {
                    for _ in 1...ShortCodeRecord.attemptsMax {
                        #expect(try await first.prove(.code("no digits", mailbox: mailbox)).denial != nil)
                    }
                }
                #expect(try await second.signIn(email, "wrong horse").denial != nil)
                let mail = try #require(try await first.rightDoors().first { $0.to == email })
                let digits = try #require(mail.shortCode, "\(email)")
                #expect(try await second.prove(.code(digits, mailbox: mailbox)).denial == nil)
            }
        }
    }

    @Test func `a lookup replaces the code of a wrong door, whose mail then has buttons alone`() async throws {
        try await Self.with { first, second in
            let mailbox = try #require(EmailAddress(Self.ada))
            #expect(try await first.signIn(Self.ada, "wrong horse").denial != nil)
            let old = try #require(try await first.rightDoors().first?.shortCode)
            let new = try await second.lookUpCode(mailbox)
            #expect(try await first.prove(.code(old, mailbox: mailbox)).denial != nil)
            #expect(try await first.prove(.code(new, mailbox: mailbox)).denial == nil)
            #expect(try await first.rightDoors().map(\.shortCode) == [nil])
        }
    }

    @Test func `guesses before and after a wrong door are answered alike, with and without an account`() async throws {
        try await Self.with { first, second in
            var answers: [[Denial?]] = []
            for email in [Self.ada, Self.eve, Self.stranger] {
                let mailbox = try #require(EmailAddress(email))
                var denials: [Denial?] = []
                for number in 1...14 {
                    if number == 7 { #expect(try await second.signIn(email, "wrong horse").denial != nil) }
                    denials.append(try await first.prove(.code("no digits", mailbox: mailbox)).denial)
                }
                answers.append(denials)
            }
            #expect(answers.allSatisfy { $0 == answers[0] && !$0.contains(nil) }, "\(answers)")
        }
    }

    // MARK: Strangers

    @Test func `addresses with and without an account get rows of the same form, and the worker drops useless mails`()
        async throws
    {
        try await Self.with { first, _ in
            for email in ["ada@gmail.com", "eve@example.com", "nobody@example.com", "no@example.com"] {
                #expect(try await first.signIn(email, "wrong horse").denial != nil)
            }
            let messages: Query<String> = """
                SELECT concat_ws(' ', kind, length(sealed_payload), state, is_withheld, expires_at - created_at)
                FROM outbox
                """
            let mails = try await first.database.rows(messages)
            #expect(mails.count == 4 && Set(mails).count == 1, "\(mails)")
            let stored: Query<String> = """
                SELECT concat_ws(' ', kind, length(code_hash), session_epoch, consumed_at, expires_at - created_at)
                FROM one_time_codes
                """
            let codes = try await first.database.rows(stored)
            #expect(codes.count == 4 && Set(codes).count == 1, "\(codes)")
            let channel = FakeChannel()
            let deliveries = OutboxDeliveries(first.operations, over: channel)
            #expect(try await deliveries.sendDue() == 4)
            #expect(channel.contents.compactMap { Mail(plaintext: $0)?.to } == [Self.ada])
            let states: Query<String> = "SELECT state FROM outbox WHERE sealed_payload IS NULL ORDER BY 1"
            #expect(try await first.database.rows(states) == ["sent", "withheld", "withheld", "withheld"])
        }
    }

    // MARK: Limits

    @Test func `of 64 callers at the doors of one account, one is mailed in a window`() async throws {
        try await Self.with { first, second in
            for window in 1...2 {
                let denials = try await first.race(with: second) { service, caller in
                    caller < 8
                        ? try await service.signIn(Self.ada, "wrong horse").denial
                        : try await service.denialOfSignUp(Self.ada)
                }
                let expected: Set<Denial?> = [
                    .refusal(.invalidLoginCredentials), .refusal(.tooManyAttempts), .refusal(.emailExists),
                ]
                #expect(denials.allSatisfy { expected.contains($0) }, "\(denials)")
                #expect(try await first.outboxCount() == Int64(window))
                let codes: Query<Int64?> = "SELECT count(*) FROM one_time_codes WHERE kind = 'LOOKUP'"
                #expect(try await first.database.count(codes) == Int64(window))
                first.clock.advance(seconds: 86_399)
                #expect(try await second.denialOfSignUp(Self.ada) != nil)
                #expect(try await first.outboxCount() == Int64(window))
                first.clock.advance(seconds: 1)
            }
        }
    }

    @Test func `a wrong password begins the window for every address, also if its mail is dropped`() async throws {
        try await Self.with { first, second in
            let emails = [Self.ada, Self.eve, Self.stranger]
            for round in 1...2 {
                for email in emails {
                    let denial = try await second.signIn(email, "wrong horse").denial
                    #expect(denial == .refusal(.invalidLoginCredentials), "\(email)")
                }
                // A second message for the account with a password alone would take time, and reveal the password.
                #expect(try await first.outboxCount() == Int64(emails.count), "round \(round)")
                let channel = FakeChannel()
                let deliveries = OutboxDeliveries(first.operations, over: channel)
                #expect(try await deliveries.sendDue() == (round == 1 ? emails.count : 0))
                #expect(channel.contents.compactMap { Mail(plaintext: $0)?.to } == (round == 1 ? [Self.ada] : []))
                first.clock.advance(seconds: 3600)
            }
            // Mails that the owner requests do not count.
            #expect(try await second.askForReset(Self.eve).denial == nil)
            #expect(try await first.outboxCount() == Int64(emails.count) + 1)
        }
    }

    @Test func `the window is a setting, and begins with the mail`() async throws {
        let short = Self.protected.setting(.integer(60), at: ["concord", "wrongDoor", "windowSeconds"])
        try await Self.with(settings: short) { first, second async throws in
            for seconds in [0, 59, 1] {
                first.clock.advance(seconds: Int64(seconds))
                #expect(try await second.signIn(Self.ada, "wrong horse").denial != nil)
            }
            #expect(try await first.outboxCount() == 2)
        }
    }

    @Test func `in a short window, a mailbox also has the limits of requested mails, counted apart`() async throws {
        let short =
            Self.protected
            .setting(.integer(60), at: ["concord", "wrongDoor", "windowSeconds"])
            .setting(.integer(2), at: ["concord", "mail", "perMailboxPerHour"])
        try await Self.with(settings: short) { first, second async throws in
            for _ in 1...4 {
                #expect(try await second.denialOfSignUp(Self.ada) == .refusal(.emailExists))
                first.clock.advance(seconds: 60)
            }
            #expect(try await first.outboxCount() == 2)
            #expect(try await first.askForReset(Self.ada).denial == nil)
            first.clock.advance(seconds: 3600)
            #expect(try await second.denialOfSignUp(Self.ada) == .refusal(.emailExists))
            #expect(try await first.outboxCount() == 4)
        }
    }

    @Test func `the longest window counts, and stops a second mail until it ends`() async throws {
        let long = Self.protected.setting(.integer(31_622_400), at: ["concord", "wrongDoor", "windowSeconds"])
        try await Self.with(settings: long) { first, second async throws in
            for (seconds, count) in [(0, 1), (31_622_399, 1), (1, 2)] as [(Int64, Int64)] {
                first.clock.advance(seconds: seconds)
                #expect(try await second.denialOfSignUp(Self.ada) == .refusal(.emailExists))
                #expect(try await first.outboxCount() == count)
            }
        }
    }

    @Test func `a network makes at most as many mails as it may request, and uses up none that people request`()
        async throws
    {
        let limited = Self.protected.setting(.integer(2), at: ["concord", "mail", "perAddressPerHour"])
        try await Self.with(settings: limited) { first, second in
            let client = PasswordClient(network: "192.0.2.1")
            for number in 1...5 {
                let address = try #require(EmailAddress("a\(number)@example.com"))
                let denial = try await second.signIn(address, password: "wrong horse", from: client).denial
                #expect(denial == .refusal(.invalidLoginCredentials))
            }
            #expect(try await first.outboxCount() == 2)
            for _ in 1...2 {
                #expect(try await first.askForReset(Self.ada, from: "192.0.2.1").denial == nil)
            }
            #expect(try await first.outboxCount() == 4)
        }
    }

    // MARK: Floods

    /// Links are switched off, and mails have the limits of production.
    private static let flooded = protected.setting(.bool(true), at: ["signIn", "email", "passwordRequired"])
        .setting(.object([:]), at: ["concord", "mail"])

    @Test func `of 2000 wrong doors of one account from 2000 networks one is mailed, and the account is unchanged`()
        async throws
    {
        try await Self.with(settings: Self.flooded) { first, second in
            let before = try await first.database.rowDigests()
            _ = try await first.race(with: second, count: 2000) { service, number in
                try await service.askForLinkWhereOff(Self.ada, from: "10.\(number / 250).\(number % 250).1")
            }
            #expect(try await first.outboxCount() == 1)
            #expect(try await first.database.count("SELECT count(*) FROM one_time_codes") == 1)
            #expect(try await first.rightDoors().map(\.to) == [Self.ada])
            let after = try await first.database.rowDigests()
            let changed = Set(after.filter { before[$0.key] != $0.value }.keys)
            #expect(changed == ["outbox", "one_time_codes", "short_codes", "message_counts"])
        }
    }

    @Test
    func `of 1000 addresses that one network tries, 50 are mailed, and other mails are not held up`()
        async throws
    {
        try await Self.with(settings: Self.flooded) { first, second in
            _ = try await first.race(with: second, count: 1000) { service, number in
                try await service.askForLinkWhereOff("a\(number)@example.com", from: "192.0.2.1")
            }
            #expect(try await first.outboxCount() == 50)
            // The owner who comes from another network is mailed, and so is every mail that people request.
            try await second.askForLinkWhereOff(Self.ada, from: "192.0.2.2")
            #expect(try await first.rightDoors().map(\.to) == [Self.ada])
            #expect(try await first.askForReset(Self.eve, from: "192.0.2.1").denial == nil)
            #expect(try await first.outboxCount() == 52)
        }
    }

    @Test
    func `of 1500 addresses that 1500 networks try, 1000 are mailed in a minute, and so is a reset`()
        async throws
    {
        try await Self.with(settings: Self.flooded) { first, second in
            _ = try await first.race(with: second, count: 1500) { service, number in
                let network = "10.\(number / 250).\(number % 250).1"
                try await service.askForLinkWhereOff("a\(number)@example.com", from: network)
            }
            #expect(try await first.outboxCount() == 1000)
            #expect(try await second.askForReset(Self.eve).denial == nil)
            #expect(try await first.outboxCount() == 1001)
        }
    }

    // MARK: Resets

    @Test func `a reset of a proven account without a password names its methods first, and unlinks nothing`()
        async throws
    {
        try await Self.with { first, second in
            #expect(try await first.askForReset(Self.ada).denial == nil)
            let mail = try await second.resetMail()
            #expect(mail.ways.map(\.method) == ["google.com"] && !mail.suspendsWays)
            let page = "http://127.0.0.1:9099/signin#email=ada%40gmail.com&lang=en&way=google.com"
            #expect(mail.ways.map(\.link) == [page])
            let code = try #require(mail.code)
            #expect(mail.link?.contains(code) == true)
            let reset = try await outcome(
                await first.operations.resetPassword(code, newPassword: "battery staple", tenant: .project)
            )
            #expect(reset.denial == nil)
            #expect(try await first.signIn(Self.ada, "battery staple").denial == nil)
            let google = first.credential(.google, subject: "ada", email: Self.ada, isVerified: true)
            #expect(try await second.signIn(google).signedIn().user.email?.address.raw == Self.ada)
            let suspended: Query<Int64?> = "SELECT count(*) FROM quarantined_methods"
            #expect(try await first.database.count(suspended) == 0)
        }
    }

    @Test func `a reset of an unproven account says that it suspends the methods`() async throws {
        try await Self.with { first, second in
            #expect(try await first.askForReset(Self.bob).denial == nil)
            let mail = try await second.resetMail()
            #expect(mail.ways.map(\.method) == ["github.com"] && mail.suspendsWays)
            let stored = Mail(plaintext: mail.plaintext)
            #expect(stored?.ways == mail.ways && stored?.suspendsWays == true)
        }
    }

    @Test func `a reset of an account with a password names no other method`() async throws {
        try await Self.with { first, second in
            #expect(try await first.askForReset(Self.eve).denial == nil)
            let mail = try await second.resetMail()
            #expect(mail.ways.isEmpty && !mail.suspendsWays && mail.code != nil)
        }
    }
}

extension TestService {
    /// The waiting mails after wrong doors as they are sent, oldest first.
    fileprivate func rightDoors() async throws -> [Mail] {
        try await operations.notices(tenant: .project).filter { $0.template == .wrongDoor }
    }

    /// Asks for a lookup, and returns the code in its mail.
    fileprivate func lookUpCode(_ mailbox: EmailAddress) async throws -> String {
        try await operations.requestLookUp(
            of: mailbox,
            continueURL: nil,
            tenant: .project,
            locale: nil,
            clientAddress: nil
        )
        clock.advance(seconds: 1)
        let mails = try await operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last { $0.template == .code(.lookUp) && $0.to == mailbox.raw }?.shortCode)
    }

    fileprivate func prove(_ answer: LookUpAnswer) async throws -> Outcome<ProvenLookUp> {
        try await outcome(await operations.proveLookUp(answer, tenant: .project, clientAddress: nil))
    }

    /// Requests a sign-in link where links are off, as the route does.
    fileprivate func askForLinkWhereOff(_ email: String, from network: String) async throws {
        let address = try #require(EmailAddress(email))
        try await operations
            .mailRightDoor(after: .link, to: address, from: network, locale: nil, tenant: .project)
    }

    fileprivate func denialOfSignUp(_ email: String) async throws -> Denial? {
        try await signUp(try #require(EmailAddress(email))).denial
    }

    fileprivate func resetMail() async throws -> Mail {
        let mails = try await operations.mailsWithUsableCodes(tenant: .project)
        return try #require(mails.last { $0.template == .code(.passwordReset) })
    }

    fileprivate func outboxCount() async throws -> Int64 {
        try await database.count("SELECT count(*) FROM outbox")
    }

    /// Creates an account that no sign-up could create.
    fileprivate func imported(_ email: String) async throws {
        var account = CreateAccount()
        account.email = email
        account.password = TestService.password
        _ = try await operations.createAccount(account, tenant: .project)
    }
}
