import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Limits on accounts, flows and conflicts that a stranger creates, over two processes, checked in the tables.
struct RowLimitTests {
    private static let home = "192.0.2.1"

    /// Settings with the given limits of `row` and no others.
    private static func settings(_ row: LimitedResource, _ limits: [String: JSONValue]) -> JSONValue {
        limits.reduce(ProjectSettings.developmentDefaults) { settings, limit in
            settings.setting(limit.value, at: ["concord", row.rawValue, limit.key])
        }
    }

    /// A way to create an account.
    private enum Way: CaseIterable {
        case anonymous, password, provider, emailLink, phone
    }

    /// Prepares a request that creates an account and can be sent from several addresses.
    private func makeAccount(
        _ way: Way,
        _ number: Int,
        on service: TestService
    ) async throws -> @Sendable (TestService, _ address: String?) async throws -> Denial? {
        let address = "a\(number)@example.com"
        let mailbox = try #require(EmailAddress(address))
        switch way {
        case .anonymous:
            return { service, client in
                try await outcome(
                    await service.operations.signUp(.anonymous, from: .init(network: client), tenant: .project)
                ).denial
            }
        case .password:
            return { service, client in
                let request = SignUp.password(mailbox, TestService.password)
                return try await outcome(
                    await service.operations.signUp(request, from: .init(network: client), tenant: .project)
                )
                .denial
            }
        case .provider:
            return { service, client in
                var request = SignInWithIdp(
                    source: .credential(service.credential(.google, subject: "s\(number)", email: address)),
                    idToken: nil,
                    createsUsers: true
                )
                request.clientAddress = client
                return try await outcome(await service.operations.signInWithIdp(request, tenant: .project)).denial
            }
        case .emailLink:
            let sent = try await outcome(
                await service.operations.sendEmailCode(
                    EmailCodeRequest(
                        action: .emailSignIn(mailbox),
                        settings: EmailCodeSettings(),
                        locale: nil,
                        isAdministrator: true,
                        returnsLink: true,
                        tenant: .project
                    )
                )
            )
            let code = try #require(try sent.success().returned?.code)
            return { service, client in
                let request = EmailLinkSignIn(email: address, code: code, idToken: nil, clientAddress: client)
                return try await outcome(await service.operations.signInWithEmailLink(request, tenant: .project)).denial
            }
        case .phone:
            let code = try await service.phoneCode("+1650555\(3400 + number)")
            return { service, client in
                let shown = PhoneSignIn.Presented.code(code.code, sessionInfo: code.sessionInfo)
                return try await outcome(
                    await service.operations
                        .signInWithPhone(PhoneSignIn(shown: shown, clientAddress: client), tenant: .project)
                ).denial
            }
        }
    }

    private func accounts(_ service: TestService) async throws -> Int {
        try await Int(service.database.count("SELECT count(*) FROM users"))
    }

    private func counts(_ service: TestService) async throws -> [Int64] {
        try await service.database.rows("SELECT messages FROM message_counts ORDER BY 1" as Query<Int64>)
    }

    // MARK: Accounts

    @Test func `accounts created in any way count for the client's address, and another address still can`()
        async throws
    {
        for way in Way.allCases {
            try await TestService.withTwo(settings: Self.settings(.signUps, ["perAddressPerHour": 1])) {
                first,
                second async throws in
                #expect(try await makeAccount(way, 1, on: first)(first, Self.home) == nil, "\(way)")
                let refused = try await makeAccount(way, 2, on: first)
                #expect(try await refused(second, Self.home) == .limitReached(.signUps), "\(way)")
                #expect(try await accounts(first) == 1)
                // The refused code is not consumed.
                #expect(try await refused(second, "192.0.2.2") == nil, "\(way)")
                #expect(try await accounts(first) == 2)
                // The limit applies to new accounts, not to sign-ins.
                if way == .provider {
                    let again = try await makeAccount(way, 1, on: first)
                    #expect(try await again(first, Self.home) == nil)
                }
                first.clock.advance(seconds: 3600)
                #expect(try await makeAccount(way, 3, on: first)(first, Self.home) == nil, "\(way)")
                #expect(try await first.database.inconsistencies() == [])
            }
        }
    }

    @Test func `many concurrent clients at one address create exactly as many accounts as the limit allows`()
        async throws
    {
        try await TestService.withTwo(settings: Self.settings(.signUps, ["perAddressPerHour": 16])) {
            first,
            second async throws in
            var tries: [@Sendable (TestService, String?) async throws -> Denial?] = []
            for number in 0..<48 {
                let way: Way = number % 3 == 0 ? .anonymous : number % 3 == 1 ? .password : .provider
                tries.append(try await makeAccount(way, number, on: first))
            }
            let denials = try await first.race(with: second, count: 48) { [tries] service, caller in
                try await tries[caller](service, Self.home)
            }
            #expect(denials.count { $0 == nil } == 16)
            #expect(denials.count { $0 == .limitReached(.signUps) } == 32)
            #expect(try await accounts(first) == 16)
            #expect(try await counts(first) == [16])
            #expect(try await first.database.count("SELECT count(*) FROM account_events") == 16)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `sign-ups of several addresses in one transaction count for their own address`() async throws {
        let settings = Self.settings(.signUps, ["perAddressPerHour": 1000, "perProjectPerDay": 1000])
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let denials = try await first.race(with: second, count: 128) { service, caller in
                let client = "192.0.2.\(caller / 2 % 4)"
                return try await outcome(
                    await service.operations.signUp(.anonymous, from: .init(network: client), tenant: .project)
                )
                .denial
            }
            #expect(denials.allSatisfy { $0 == nil })
            #expect(try await accounts(first) == 128)
            #expect(try await counts(first) == [32, 32, 32, 32, 128])
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a project has its own limits, and they apply to unknown addresses too`() async throws {
        try await TestService.withTwo(settings: Self.settings(.signUps, ["perProjectPerMinute": 3])) {
            first,
            second async throws in
            func signUp(_ service: TestService, _ client: String?) async throws -> Denial? {
                try await outcome(
                    await service.operations.signUp(.anonymous, from: .init(network: client), tenant: .project)
                ).denial
            }
            for client in ["192.0.2.1", "192.0.2.2", nil] { #expect(try await signUp(first, client) == nil) }
            #expect(try await signUp(second, "192.0.2.3") == .limitReached(.signUps))
            #expect(try await signUp(second, nil) == .limitReached(.signUps))
            first.clock.advance(seconds: 60)
            #expect(try await signUp(second, nil) == nil)
        }
    }

    @Test func `all networks of an IPv6 site together get exactly ten times the limit of one network`() async throws {
        try await TestService.withTwo(settings: Self.settings(.signUps, ["perAddressPerHour": 2])) {
            first,
            second async throws in
            @Sendable func signUp(_ service: TestService, _ network: String) async throws -> Denial? {
                try await outcome(
                    await service.operations.signUp(.anonymous, from: .init(network: network), tenant: .project)
                ).denial
            }
            @Sendable func network(_ site: Int, _ number: Int) -> String { "20010db8000\(site)000\(number)" }
            // Nine networks with four sign-ups each create 18 accounts.
            let denials = try await first.race(with: second, count: 36) { service, caller in
                try await signUp(service, network(1, caller % 9))
            }
            #expect(denials.count { $0 == nil } == 18)
            #expect(try await counts(first) == Array(repeating: 2, count: 9) + [18])
            // Two more for the whole site, from any network.
            var answers: [Denial?] = []
            for caller in 0..<4 { answers.append(try await signUp(second, "20010db80001a00\(caller)")) }
            #expect(answers == [nil, nil, .limitReached(.signUps), .limitReached(.signUps)])
            #expect(try await signUp(first, network(2, 1)) == nil, "another site")
            #expect(try await accounts(first) == 21)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `administrators and trusted backends create accounts without limit`() async throws {
        let settings = Self.settings(.signUps, ["perAddressPerHour": 1, "perProjectPerDay": 1])
        try await TestService.with(settings: settings) { service async throws in
            for number in 0..<3 {
                _ = try await service.operations.createAccount(CreateAccount(), tenant: .project)
                let token = "{\"uid\":\"backend-\(number)\"}"
                _ = try await service.operations.signInWithCustomToken(token, tenant: .project)
            }
            #expect(try await counts(service) == [])
            #expect(try await makeAccount(.anonymous, 1, on: service)(service, Self.home) == nil)
        }
    }

    @Test func `by default an address creates 100 accounts an hour, and in development any number`()
        async throws
    {
        let settings: JSONValue = ["signIn": ["anonymous": ["enabled": true]]]
        try await TestService.withTwo(settings: settings) { first, second async throws in
            let denials = try await first.race(with: second, count: 110) { service, _ in
                try await outcome(
                    await service.operations.signUp(.anonymous, from: .init(network: Self.home), tenant: .project)
                )
                .denial
            }
            #expect(denials.count { $0 == nil } == 100)
            #expect(try await accounts(first) == 100)
        }
        try await TestService.with { service in
            for row in LimitedResource.allCases {
                #expect(service.operations.limits(on: row, from: Self.home).isEmpty)
            }
        }
    }

    @Test func `by default no stranger can use up the project's sign-ups, provider flows or guesses`() {
        for limits in [MessageLimits.ofSignUps, MessageLimits.ofProviderFlows, MessageLimits.ofGuesses] {
            #expect(limits.allSatisfy { $0.limit.scope != .project || $0.limit.countMax == 0 })
            #expect(limits.contains { $0.limit.scope == .address && $0.limit.countMax > 0 })
        }
    }

    // MARK: Conflicts

    @Test func `one client opens exactly as many conflicts as the limit allows, joined ones included`() async throws {
        try await TestService.withTwo(settings: Self.settings(.conflicts, ["perAddressPerHour": 5])) {
            first,
            second async throws in
            _ = try await first.signUp("ada@example.com")
            let endings = try await first.race(with: second, count: 15) { service, caller in
                // Each identity is used twice. The second use joins the conflict, and writes an event too.
                let credential = service.credential(.gitHub, subject: "s\(caller / 2)", email: "ada@example.com")
                var request = SignInWithIdp(source: .credential(credential), idToken: nil, createsUsers: true)
                request.clientAddress = Self.home
                let outcome = try await outcome(await service.operations.signInWithIdp(request, tenant: .project))
                if outcome.denial == nil { _ = try outcome.confirmation() }
                return outcome.denial
            }
            #expect(endings.count { $0 == nil } == 5)
            #expect(endings.count { $0 == .limitReached(.conflicts) } == 10)
            let opened: Query<Int64> = "SELECT count(*) FROM account_events WHERE kind = 'conflict-opened'"
            #expect(try await first.database.rows(opened) == [5])
            #expect(try await first.database.count("SELECT count(*) FROM conflicts") <= 5)
            #expect(try await counts(first) == [5])
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    // MARK: Flows

    @Test func `of many concurrent flows exactly as many are stored as the limit allows`() async throws {
        try await TestService.withTwo(settings: Self.settings(.providerFlows, ["perProjectPerMinute": 10])) {
            first,
            second async throws in
            let now = first.clock.now
            let limits = first.operations.limits(on: .providerFlows, from: Self.home)
            #expect(limits.count == 1)
            let applied = try await first.race(with: second, count: 30) { service, caller in
                let flow = ProviderFlowRecord(
                    tenant: .project,
                    stateDigest: Array(repeating: UInt8(caller), count: 32),
                    sessionDigest: Array(repeating: 0, count: 32),
                    provider: .google,
                    sealedFlow: [1],
                    expiresAt: now.adding(seconds: 60)
                )
                return try await service.operations.store.begin(flow, counting: limits, at: now) == .applied
            }
            #expect(applied.count { $0 } == 10)
            #expect(try await first.database.count("SELECT count(*) FROM provider_flows") == 10)
            #expect(try await counts(first) == [10])
        }
    }
}
