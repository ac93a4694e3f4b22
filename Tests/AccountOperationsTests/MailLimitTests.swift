import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Limits on mails, over two processes, checked in the tables.
struct MailLimitTests {
    private static func settings(_ mail: [String: JSONValue], isProtected: Bool = true) -> JSONValue {
        let privacy: JSONValue = ["enableImprovedEmailPrivacy": .bool(isProtected)]
        let unlimited = Dictionary(uniqueKeysWithValues: MessageLimits.ofMails.map { ($0.name, JSONValue.integer(0)) })
        guard case .object(var members) = ProjectSettings.developmentDefaults else { return .null }
        members["emailPrivacyConfig"] = privacy
        members["concord"] = ["mail": .object(unlimited.merging(mail) { _, given in given })]
        return .object(members)
    }

    private func mails(_ service: TestService, _ state: String? = nil) async throws -> Int {
        let states: Query<String> = "SELECT state FROM outbox WHERE kind = 'mail'"
        return try await service.database.rows(states).count { state == nil || $0 == state }
    }

    @Test func `a mailbox gets a limited number of mails of each kind, over all servers`() async throws {
        let settings = Self.settings(["perMailboxPerHour": 3])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            _ = try await first.signUp("ada@example.com")
            #expect(try await first.askForReset("ada@example.com").denial == nil)
            #expect(try await second.askForReset("Ada@Example.com").denial == nil)
            #expect(try await first.askForReset("ada@example.com").denial == nil)
            for service in [first, second] {
                #expect(
                    try await service.askForReset("ada@example.com").denial
                        == .emailCode(.tooManyMails(forReset: true))
                )
            }
            // Each kind has its own count, so a sign-in link does not wait for resets that strangers request.
            for service in [first, second, first] {
                #expect(try await service.askForLink("ada@example.com").denial == nil)
            }
            for service in [first, second] {
                #expect(
                    try await service.askForLink("ada@example.com").denial
                        == .emailCode(.tooManyMails(forReset: false))
                )
            }
            #expect(try await second.askForLink("bob@example.com").denial == nil)
            #expect(try await mails(first) == 7)
            // An administrator's request is neither limited nor counted.
            _ = try await first.resetCode(for: "ada@example.com")
            first.clock.advance(seconds: 3600)
            #expect(try await second.askForReset("ada@example.com").denial == nil)
        }
    }

    @Test func `the limit does not reveal which addresses have accounts`() async throws {
        let settings = Self.settings(["perMailboxPerHour": 2])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            _ = try await first.signUp("ada@example.com")
            for _ in 1...4 {
                let known = try await first.askForReset("ada@example.com").denial
                let unknown = try await second.askForReset("nobody@example.com").denial
                #expect(known == unknown)
            }
            #expect(try await mails(first, "pending") == 4)
            #expect(try await first.database.count("SELECT count(*) FROM outbox WHERE is_withheld") == 2)
        }
    }

    @Test func `a caller and the project have separate limits`() async throws {
        let settings = Self.settings(["perAddressPerMinute": 2, "perProjectPerMinute": 4])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            for index in 1...2 {
                #expect(try await first.askForLink("a\(index)@example.com", from: "192.0.2.1").denial == nil)
            }
            #expect(
                try await second.askForReset("a3@example.com", from: "192.0.2.1").denial
                    == .emailCode(.tooManyMails(forReset: true))
            )
            #expect(try await second.askForLink("a3@example.com", from: "192.0.2.2").denial == nil)
            // A request without a network address counts for the project alone.
            #expect(try await second.askForLink("a4@example.com").denial == nil)
            #expect(try await first.askForLink("a5@example.com").denial == .emailCode(.quotaExceeded))
            first.clock.advance(seconds: 60)
            #expect(try await first.askForLink("a5@example.com", from: "192.0.2.1").denial == nil)
        }
    }

    @Test func `of 64 concurrent requests exactly the limit is mailed and counted`() async throws {
        let settings = Self.settings(["perMailboxPerHour": 5])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            _ = try await first.signUp("ada@example.com")
            let denials = try await first.race(with: second) { service, _ in
                try await service.askForReset("ada@example.com").denial
            }
            #expect(denials.count { $0 == nil } == 5)
            #expect(denials.count { $0 == .emailCode(.tooManyMails(forReset: true)) } == 59)
            #expect(try await mails(first) == 5)
            #expect(try await first.database.rows("SELECT messages FROM message_counts" as Query<Int64>) == [5])
            #expect(try await first.database.rows("SELECT count(*) FROM one_time_codes" as Query<Int64>) == [5])
        }
    }

    @Test func `by default a mailbox gets five mails an hour`() async throws {
        let settings: JSONValue = ["signIn": ["email": ["enabled": true, "passwordRequired": false]]]
        try await TestService.with(settings: settings) { service async throws in
            for _ in 1...5 { #expect(try await service.askForLink("ada@example.com").denial == nil) }
            #expect(
                try await service.askForLink("ada@example.com").denial == .emailCode(.tooManyMails(forReset: false))
            )
        }
    }
}

extension TestService {
    func askForReset(_ email: String, from address: String? = nil) async throws -> Outcome<SentEmailCode> {
        try await ask(.passwordReset(try mailbox(email)), from: address)
    }

    func askForLink(_ email: String, from address: String? = nil) async throws -> Outcome<SentEmailCode> {
        try await ask(.emailSignIn(try mailbox(email)), from: address)
    }

    func ask(
        _ action: EmailCodeRequest.Action,
        from address: String? = nil
    ) async throws -> Outcome<SentEmailCode> {
        try await outcome(
            await operations.sendEmailCode(
                EmailCodeRequest(
                    action: action,
                    settings: EmailCodeSettings(),
                    locale: nil,
                    isAdministrator: false,
                    returnsLink: false,
                    clientAddress: address,
                    tenant: .project
                )
            )
        )
    }

    private func mailbox(_ email: String) throws -> EmailAddress {
        guard let address = EmailAddress(email) else { throw UnexpectedEnding("not an address") }
        return address
    }
}
