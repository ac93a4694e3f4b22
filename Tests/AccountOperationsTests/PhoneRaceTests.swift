import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Concurrent requests for one number in two processes, checked in the tables.
struct PhoneRaceTests {
    private static let number = "+16505553434"

    private static func settings(_ sms: JSONValue) -> JSONValue {
        guard case .object(var members) = ProjectSettings.developmentDefaults else { return .null }
        members["concord"] = ["sms": sms]
        return .object(members)
    }

    private func count(_ sql: Query<Int64>, _ service: TestService) async throws -> Int64? {
        try await service.database.rows(sql).first
    }

    @Test func `one code from 64 callers creates one account and is used once`() async throws {
        try await TestService.withTwo { first, second in
            let sent = try await first.phoneCode(Self.number)
            let outcomes = try await first.race(with: second) { service, _ in
                try await service.signInByPhone(sent.sessionInfo, sent.code)
            }
            #expect(outcomes.count { $0.entered?.isNewUser == true } == 1)
            #expect(outcomes.count { $0.denial == .phone(.invalidSession) } == 63)
            #expect(try await count("SELECT count(*) FROM users", first) == 1)
            #expect(try await count("SELECT count(*) FROM sessions", first) == 1)
            #expect(
                try await count("SELECT count(*) FROM phone_verifications WHERE consumed_by IS NOT NULL", first) == 1
            )
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `64 codes for one new number create one account`() async throws {
        try await TestService.withTwo { first, second in
            var codes: [PhoneCode] = []
            for _ in 0..<64 { codes.append(try await first.phoneCode(Self.number)) }
            let outcomes = try await first.race(with: second) { [codes] service, caller in
                try await service.signInByPhone(codes[caller].sessionInfo, codes[caller].code)
            }
            #expect(outcomes.count { $0.entered?.isNewUser == true } == 1)
            #expect(outcomes.count { $0.entered?.isNewUser == false } == 63)
            #expect(Set(outcomes.compactMap { $0.entered?.user.id }).count == 1)
            #expect(try await count("SELECT count(*) FROM users", first) == 1)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `64 concurrent requests for one number send one message, and its code works once`() async throws {
        try await TestService.withTwo(settings: Self.settings(["windowSeconds": 30, "perNumberPerHour": 64])) {
            first,
            second in
            let outcomes = try await first.race(with: second) { service, _ in
                try await service.askForCode(Self.number)
            }
            let sessions = outcomes.compactMap(\.sessionInfo)
            #expect(sessions.count == PhoneVerificationRecord.sessionsMax && Set(sessions).count == sessions.count)
            #expect(outcomes.count { $0.denial == .phone(.tooManyMessages) } == 64 - sessions.count)
            #expect(try await count("SELECT count(*) FROM outbox WHERE kind = 'sms'", first) == 1)
            #expect(try await count("SELECT count(*) FROM phone_verifications", first) == 1)
            #expect(try await count("SELECT max(messages) FROM message_counts", first) == 1)
            let code = try await first.operations.messagesWithUsableCodes(tenant: .project).first?.code
            let right = try #require(code)
            let entered = try await first.race(with: second, count: sessions.count) { service, caller in
                try await service.signInByPhone(sessions[caller], right)
            }
            #expect(entered.count { $0.entered != nil } == 1)
        }
    }

    @Test func `of a thousand wrong codes five are compared, and the owner can request another`()
        async throws
    {
        try await TestService.withTwo(settings: Self.settings(["windowSeconds": 30])) { first, second in
            let sent = try await first.phoneCode(Self.number)
            var denials: [Denial?] = []
            for _ in 0..<10 {
                denials += try await first.race(with: second, count: 100) { service, caller in
                    try await service.signInByPhone(sent.sessionInfo, sent.wrong).denial
                }
            }
            #expect(denials.count { $0 == .phone(.invalidCode) } == 5)
            #expect(denials.count { $0 == .phone(.tooManyAttempts) } == 995)
            #expect(try await count("SELECT sum(attempts)::bigint FROM phone_verifications", first) == 5)
            #expect(try await first.signInByPhone(sent.sessionInfo, sent.code).denial == .phone(.tooManyAttempts))
            let next = try await first.phoneCode(Self.number)
            #expect(try await second.signInByPhone(next.sessionInfo, next.code).entered?.isNewUser == true)
        }
    }

    @Test func `a correct code that races with wrong ones is among the first answers or refused`() async throws {
        for _ in 0..<8 {
            try await TestService.withTwo { first, second in
                let sent = try await first.phoneCode(Self.number)
                let outcomes = try await first.race(with: second, count: 24) { service, caller in
                    try await service.signInByPhone(sent.sessionInfo, caller == 12 ? sent.code : sent.wrong)
                }
                let wrong = outcomes.count { $0.denial == .phone(.invalidCode) }
                let right = outcomes.count { $0.entered != nil }
                #expect(wrong <= 5 && right <= 1 && (wrong == 5 || right == 1))
                #expect(try await count("SELECT count(*) FROM users", first) == Int64(right))
            }
        }
    }

    @Test func `when one number is linked to two accounts at once, one gets it and the other gets a proof`()
        async throws
    {
        try await TestService.withTwo { first, second in
            let ada = try await first.signUp(first.newAddress()).value
            let bob = try await first.signUp(first.newAddress()).value
            let tokens = [ada.tokens.idToken, bob.tokens.idToken]
            var codes: [PhoneCode] = []
            for _ in 0..<2 { codes.append(try await first.phoneCode(Self.number)) }
            let outcomes = try await first.race(with: second, count: 2) { [codes] service, caller in
                try await service.signInByPhone(
                    codes[caller].sessionInfo,
                    codes[caller].code,
                    idToken: tokens[caller],
                    operation: .link
                )
            }
            #expect(outcomes.count { $0.entered != nil } == 1)
            let proofs = outcomes.compactMap(\.temporaryProof)
            #expect(proofs.count == 1)
            #expect(try await count("SELECT count(*) FROM identifiers WHERE kind = 'phone'", first) == 1)
            // 64 callers present the proof. One signs in.
            let proof = try #require(proofs.first)
            let entered = try await first.race(with: second) { service, _ in
                try await outcome(
                    await service.operations.signInWithPhone(
                        PhoneSignIn(shown: .temporaryProof(proof, number: Self.number)),
                        tenant: .project
                    )
                )
            }
            #expect(entered.count { $0.entered != nil } == 1)
            #expect(entered.count { $0.denial == .phone(.invalidTemporaryProof) } == 63)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a code for a second factor signs no user in, and only its user's requests share it`() async throws {
        try await TestService.with(settings: Self.settings(["windowSeconds": 30])) { service in
            let operations = service.operations
            let number = try #require(PhoneNumber(Self.number))
            let ada = try await service.signUp(service.newAddress()).value.user.id
            let bob = try await service.signUp(service.newAddress()).value.user.id
            for purpose in [PhoneVerificationRecord.Purpose.enrollment, .secondFactor] {
                func ask(_ user: UserID) async throws -> String {
                    let order = PreparedPhoneCode(number: number, purpose: purpose, user: user, tenant: .project)
                    return try await operations.send(order)
                }
                let session = try await ask(ada)
                let sent = try await operations.messagesWithUsableCodes(tenant: .project)
                let code = try #require(sent.first { $0.sessionInfo == session }?.code)
                #expect(try await service.signInByPhone(session, code).denial == .phone(.invalidSession))
                let use = PhoneVerificationUse(
                    session: try #require(PhoneSession(session)),
                    tenant: .project,
                    now: service.clock.now,
                    id: operations.effects.newEventID()
                )
                let usable = try await operations.usableVerification(use, for: purpose, of: ada, code: code)
                #expect(usable.user == ada, "it was not consumed")
                _ = try await ask(ada)
                #expect(try await operations.messagesWithUsableCodes(tenant: .project).count == sent.count)
                _ = try await ask(bob)
                #expect(try await operations.messagesWithUsableCodes(tenant: .project).count == sent.count + 1)
            }
            #expect(try await service.phoneCode(Self.number).code.count == 6)
            #expect(try await count("SELECT count(*) FROM outbox WHERE kind = 'sms'", service) == 5)
        }
    }

    @Test func `a session of one server and its code work at another, after both restart`() async throws {
        try await TestDatabase.with { database in
            let clock = TestClock()
            let settings = ProjectSettings.developmentDefaults
            let sent = try await database.withClient { client in
                let service = try await TestService.make(
                    database: database,
                    client: client,
                    clock: clock,
                    settings: settings
                )
                let sent = try await service.phoneCode(Self.number)
                await service.operations.passwords.shutDown()
                return sent
            }
            try await database.withClient { client in
                let service = try await TestService.make(
                    database: database,
                    client: client,
                    clock: clock,
                    settings: settings
                )
                let entered = try await service.signInByPhone(sent.sessionInfo, sent.code)
                #expect(entered.entered?.isNewUser == true)
                await service.operations.passwords.shutDown()
            }
        }
    }
}

/// A sent code and its session.
struct PhoneCode: Sendable {
    let sessionInfo: String
    let code: String

    var wrong: String { code == "000000" ? "000001" : "000000" }
}

extension TestService {
    func askForCode(_ number: String, from address: String? = nil) async throws -> Outcome<String> {
        try await outcome(
            await operations.sendPhoneCode(
                PhoneCodeRequest(number: number, credential: .recaptcha(token: "app"), subscriber: address),
                tenant: .project
            )
        )
    }

    func phoneCode(_ number: String) async throws -> PhoneCode {
        let sessionInfo = try #require(try await askForCode(number).sessionInfo)
        let message = try await operations.messagesWithUsableCodes(tenant: .project)
            .first { $0.sessionInfo == sessionInfo }
        return PhoneCode(sessionInfo: sessionInfo, code: try #require(message?.code))
    }

    func signInByPhone(
        _ sessionInfo: String,
        _ code: String,
        idToken: String? = nil,
        operation: PhoneOperation = .unspecified
    ) async throws -> Outcome<PhoneSignIn.Result> {
        try await outcome(
            await operations.signInWithPhone(
                PhoneSignIn(shown: .code(code, sessionInfo: sessionInfo), idToken: idToken, operation: operation),
                tenant: .project
            )
        )
    }
}

extension Outcome where Value == String {
    var sessionInfo: String? {
        guard case .success(let text) = self else { return nil }
        return text
    }
}

extension Outcome where Value == PhoneSignIn.Result {
    var entered: SignedIn? {
        guard case .success(let result) = self, case .signedIn(let signedIn) = result.ending else { return nil }
        return signedIn
    }

    var temporaryProof: String? {
        guard case .success(let result) = self, case .numberInUse(_, let proof, _) = result.ending else { return nil }
        return proof
    }
}
