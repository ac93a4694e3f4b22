import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Synchronization
import Testing

@testable import AccountOperations

/// Limits on messages, over two processes, checked in the tables.
struct MessageLimitTests {
    private static func settings(_ sms: [String: JSONValue]) -> JSONValue {
        guard case .object(var members) = ProjectSettings.developmentDefaults else { return .null }
        var limits = Dictionary(uniqueKeysWithValues: MessageLimits.all.map { ($0.name, JSONValue.integer(0)) })
        limits["windowSeconds"] = 0
        members["concord"] = ["sms": .object(limits.merging(sms) { _, given in given })]
        return .object(members)
    }

    /// A number that no other account has.
    private func number(_ index: Int) -> String { "+1650555\(1000 + index)" }

    private func messages(_ service: TestService) async throws -> Int64? {
        let query: Query<Int64> = "SELECT count(*) FROM outbox WHERE kind = 'sms'"
        return try await service.database.rows(query).first
    }

    @Test func `a number and an address get a limited number of messages, over all servers`() async throws {
        let settings = Self.settings(["perNumberPerHour": 3, "perAddressPerMinute": 5])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let tooMany = Denial.phone(.tooManyMessages)
            for service in [first, second, first] {
                #expect(try await service.askForCode(number(1), from: "192.0.2.1").denial == nil)
            }
            #expect(try await second.askForCode(number(1), from: "192.0.2.2").denial == tooMany)
            for service in [first, second] {
                #expect(try await service.askForCode(number(2), from: "192.0.2.1").denial == nil)
            }
            #expect(try await second.askForCode(number(3), from: "192.0.2.1").denial == tooMany)
            #expect(try await second.askForCode(number(3), from: "192.0.2.2").denial == nil)
            #expect(try await messages(first) == 6)
            // Each window ends separately, the address's first.
            first.clock.advance(seconds: 60)
            #expect(try await first.askForCode(number(3), from: "192.0.2.1").denial == nil)
            #expect(try await first.askForCode(number(1), from: "192.0.2.1").denial == tooMany)
            first.clock.advance(seconds: 3540)
            #expect(try await second.askForCode(number(1), from: "192.0.2.1").denial == nil)
        }
    }

    /// Counts assessments, which cost money.
    private final class Assessor: AppVerifying {
        let asked = Mutex(0)
        private let isGenuine: Bool

        init(_ isGenuine: Bool) {
            self.isGenuine = isGenuine
        }

        func isGenuine(_ request: AppRequest) async throws -> Bool {
            asked.withLock { $0 += 1 }
            return isGenuine
        }
    }

    @Test func `refused requests cause no more assessments than the message limits allow`() async throws {
        let settings = Self.settings(["perNumberPerHour": 2, "perAddressPerMinute": 5, "perProjectPerDay": 7])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let assessor = Assessor(false)
            @Sendable func ask(_ service: TestService, from address: String?) async throws -> Denial? {
                var operations = service.operations
                operations.apps = AppVerifiers(assessments: assessor)
                let credential = AppCredential.assessment(token: "t", clientType: "CLIENT_TYPE_WEB", version: nil)
                let request = PhoneCodeRequest(number: number(1), credential: credential, subscriber: address)
                return try await outcome(await operations.sendPhoneCode(request, tenant: .project)).denial
            }
            let denials = try await first.race(with: second) { service, _ in try await ask(service, from: "192.0.2.1") }
            #expect(denials.count { $0 == .phone(.invalidRecaptchaToken) } == 5)
            #expect(denials.count { $0 == .phone(.tooManyMessages) } == 59)
            #expect(assessor.asked.withLock { $0 } == 5)
            for service in [first, second] {
                #expect(try await ask(service, from: "192.0.2.2") == .phone(.invalidRecaptchaToken))
            }
            #expect(try await ask(first, from: "192.0.2.3") == .phone(.quotaExceeded))
            #expect(assessor.asked.withLock { $0 } == 7)
            // Other proofs of the app still work: messages have a separate count.
            #expect(try await first.askForCode(number(1), from: "192.0.2.1").denial == nil)
            first.clock.advance(seconds: 86_400)
            #expect(try await ask(first, from: "192.0.2.1") == .phone(.invalidRecaptchaToken))
        }
    }

    @Test func `a project that reaches its limit gets a quota error until the next window`() async throws {
        let settings = Self.settings(["perProjectPerMinute": 2])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            #expect(try await first.askForCode(number(1), from: "192.0.2.1").denial == nil)
            #expect(try await second.askForCode(number(2), from: "192.0.2.2").denial == nil)
            #expect(try await first.askForCode(number(3), from: "192.0.2.3").denial == .phone(.quotaExceeded))
            #expect(try await second.askForCode(number(3)).denial == .phone(.quotaExceeded))
            first.clock.advance(seconds: 60)
            #expect(try await second.askForCode(number(3)).denial == nil)
        }
    }

    @Test func `of 64 concurrent requests exactly the limit is sent and counted`() async throws {
        let settings = Self.settings(["perNumberPerHour": 5, "perAddressPerHour": 20, "perProjectPerMinute": 40])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let one = try await first.race(with: second) { service, _ in
                try await service.askForCode(number(1), from: "192.0.2.1").denial
            }
            #expect(one.count { $0 == nil } == 5)
            let many = try await first.race(with: second) { service, caller in
                try await service.askForCode(number(100 + caller), from: "192.0.2.1").denial
            }
            #expect(many.count { $0 == nil } == 15)
            let all = try await first.race(with: second) { service, caller in
                try await service.askForCode(number(200 + caller), from: "192.0.2.\(2 + caller)").denial
            }
            #expect(all.count { $0 == nil } == 20)
            #expect(all.count { $0 == .phone(.quotaExceeded) } == 44)
            #expect(try await messages(first) == 40)
            let counts: Query<Int64> = "SELECT max(messages) FROM message_counts"
            #expect(try await first.database.rows(counts).first == 40)
        }
    }

    @Test func `joining a sent message and refused requests are not counted`() async throws {
        let settings = Self.settings(["windowSeconds": 30, "perNumberPerHour": 2, "perAddressPerHour": 3])
        try await TestService.with(settings: settings) { service async throws in
            let counts: Query<Int64> = "SELECT messages FROM message_counts ORDER BY messages"
            for _ in 1...4 { #expect(try await service.askForCode(number(1), from: "192.0.2.1").denial == nil) }
            #expect(try await service.database.rows(counts) == [1, 1])
            service.clock.advance(seconds: 30)
            #expect(try await service.askForCode(number(1), from: "192.0.2.1").denial == nil)
            service.clock.advance(seconds: 30)
            for _ in 1...4 {
                #expect(
                    try await service.askForCode(number(1), from: "192.0.2.1").denial == .phone(.tooManyMessages)
                )
            }
            #expect(try await service.database.rows(counts) == [2, 2])
            #expect(try await service.askForCode("nonsense", from: "192.0.2.1").denial != nil)
            #expect(try await service.askForCode(number(2), from: "192.0.2.1").denial == nil)
            #expect(try await service.askForCode(number(3), from: "192.0.2.1").denial == .phone(.tooManyMessages))
        }
    }

    @Test func `with the default limits, a request without an address is limited by number and project`()
        async throws
    {
        let settings: JSONValue = ["signIn": ["phoneNumber": ["enabled": true]]]
        try await TestService.with(settings: settings) { service async throws in
            for _ in 1...5 {
                #expect(try await service.askForCode(number(1)).denial == nil)
                service.clock.advance(seconds: 31)
            }
            #expect(try await service.askForCode(number(1)).denial == .phone(.tooManyMessages))
            #expect(try await messages(service) == 5)
        }
    }
}
