import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import MetricsTestKit
import Postgres
import Testing

@testable import AccountOperations

/// Concurrent requests with one second factor in two processes, checked in the tables.
struct SecondFactorRaceTests {
    private static let number = "+16505553434"
    /// Wrong codes.
    private static let failures: Query<Int64> = "SELECT failures::bigint FROM password_attempts"

    private func count(_ sql: Query<Int64>, _ service: TestService) async throws -> Int64? {
        try await service.database.rows(sql).first
    }

    @Test func `one app code used for many pending sign-ins signs in once`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded()
            var pending: [String] = []
            for _ in 0..<32 { pending.append(try await first.pending(owner)) }
            let code = owner.code(at: first.clock.now)
            let outcomes = try await first.race(with: second, count: 32) { [pending] service, caller in
                try await service.finish(pending[caller], owner, code)
            }
            #expect(outcomes.count { $0 == nil } == 1)
            // Late callers present a used code, and after nine of those all are locked.
            let late = outcomes.compactMap(\.self)
            #expect(late.allSatisfy { $0 == .phone(.invalidCode) || $0 == .secondFactor(.tooManyAttempts) })
            #expect(
                try await count(
                    "SELECT count(*) FROM factor_challenges WHERE consumed_by IS NOT NULL AND purpose = 'sign-in'",
                    first
                ) == 1
            )
            #expect(
                try await count("SELECT count(*) FROM sessions WHERE second_factor_id IS NOT NULL", first) == 2,
                "one of the enrollment, one of the sign-in"
            )
            #expect(
                try await count("SELECT last_step FROM second_factors", first) == TOTP.step(at: first.clock.now)
            )
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `both steps of a sign-in with two factors are counted, with the method of the first`() async throws {
        let recorded = TestMetrics()
        func count(_ result: OperationMetrics.SignInResult) -> Int64 {
            recorded.counterTotal(
                label: OperationMetrics.signIns,
                dimensions: [("method", "password"), ("result", result.rawValue)]
            )
        }
        try await TestService.with(metrics: OperationMetrics(recorded)) { service in
            let owner = try await service.guarded()
            let pending = try await service.pending(owner)
            #expect(count(.needsSecondFactor) == 1 && count(.success) == 0)
            #expect(try await service.finish(pending, owner, owner.code(at: service.clock.now, steps: 9)) != nil)
            #expect(count(.refused) == 1)
            #expect(try await service.finish(pending, owner, owner.code(at: service.clock.now)) == nil)
            #expect(count(.success) == 1)
            #expect(try await service.finish("forged", owner, owner.code(at: service.clock.now)) != nil)
            #expect(count(.refused) == 1, "a forged credential has no method")
        }
    }

    @Test func `one pending sign-in used by 32 callers signs in once`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded()
            let pending = try await first.pending(owner)
            let now = first.clock.now
            // Codes of two steps, each valid alone.
            let outcomes = try await first.race(with: second, count: 32) { service, caller in
                try await service.finish(pending, owner, owner.code(at: now, steps: Int64(caller % 2)))
            }
            #expect(outcomes.count { $0 == nil } == 1)
            #expect(try await count("SELECT count(*) FROM sessions WHERE second_factor_id IS NOT NULL", first) == 2)
            #expect(
                try await count(
                    "SELECT count(*) FROM factor_challenges WHERE consumed_by IS NOT NULL AND purpose = 'sign-in'",
                    first
                ) == 1
            )
        }
    }

    @Test func `of 200 wrong codes for one pending sign-in five are compared`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded()
            let pending = try await first.pending(owner)
            let wrong = owner.code(at: first.clock.now, steps: 9)
            let outcomes = try await first.race(with: second, count: 200) { service, _ in
                try await service.finish(pending, owner, wrong)
            }
            #expect(outcomes.count { $0 == .phone(.invalidCode) } == 5)
            #expect(outcomes.count { $0 == .secondFactor(.tooManyAttempts) } == 195)
            #expect(
                try await count("SELECT attempts::bigint FROM factor_challenges WHERE purpose = 'sign-in'", first) == 5
            )
            #expect(try await count(Self.failures, first) == 5)
        }
    }

    @Test func `of 200 wrong codes for many pending sign-ins ten are compared`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded()
            var pending: [String] = []
            for _ in 0..<40 { pending.append(try await first.pending(owner)) }
            let wrong = owner.code(at: first.clock.now, steps: 9)
            let outcomes = try await first.race(with: second, count: 200) { [pending] service, caller in
                try await service.finish(pending[caller / 5], owner, wrong)
            }
            #expect(outcomes.count { $0 == .phone(.invalidCode) } == PasswordThrottling.freeMax + 1)
            #expect(
                try await count(Self.failures, first) == Int64(PasswordThrottling.freeMax + 1)
            )
        }
    }

    // MARK: Codes of messages

    private static let fictional = ProjectSettings.developmentDefaults
        .setting([number: "123456"], at: ["signIn", "phoneNumber", "testPhoneNumbers"])

    @Test func `of 200 wrong message codes for one pending sign-in five are compared, over any number of messages`()
        async throws
    {
        try await TestService.withTwo(settings: Self.fictional) { first, second in
            let owner = try await first.guarded(by: Self.number, code: "123456")
            let pending = try await first.pending(owner)
            var sessions: [String] = []
            for _ in 0..<40 { sessions.append(try await first.session(for: pending, owner)) }
            let outcomes = try await first.race(with: second, count: 200) { [sessions] service, caller in
                try await service.finish(pending, "654321", sessionInfo: sessions[caller / 5])
            }
            #expect(outcomes.count { $0 == .phone(.invalidCode) } == 5)
            #expect(outcomes.count { $0 == .secondFactor(.tooManyAttempts) } == 195)
            #expect(
                try await count("SELECT attempts::bigint FROM factor_challenges WHERE purpose = 'sign-in'", first) == 5
            )
            #expect(try await count(Self.failures, first) == 5)
            #expect(
                try await first.finish(pending, "123456", sessionInfo: sessions[39]) == .secondFactor(.tooManyAttempts)
            )
            // Another sign-in still works, and a correct code resets the count.
            let next = try await first.pending(owner)
            let session = try await first.session(for: next, owner)
            #expect(try await second.finish(next, "123456", sessionInfo: session) == nil)
            #expect(try await count("SELECT count(*) FROM password_attempts", first) == 0)
        }
    }

    @Test func `of 200 wrong message codes for many pending sign-ins ten are compared`() async throws {
        try await TestService.withTwo(settings: Self.fictional) { first, second in
            let owner = try await first.guarded(by: Self.number, code: "123456")
            var waiting: [(pending: String, session: String)] = []
            for _ in 0..<40 {
                let pending = try await first.pending(owner)
                waiting.append((pending, try await first.session(for: pending, owner)))
            }
            let outcomes = try await first.race(with: second, count: 200) { [waiting] service, caller in
                let (pending, session) = waiting[caller / 5]
                return try await service.finish(pending, "654321", sessionInfo: session)
            }
            #expect(outcomes.count { $0 == .phone(.invalidCode) } == PasswordThrottling.freeMax + 1)
            #expect(
                try await count(Self.failures, first) == Int64(PasswordThrottling.freeMax + 1)
            )
            // The correct code is refused for a while.
            let last = try #require(waiting.last)
            let locked = Denial.secondFactor(.tooManyAttempts)
            let next = try await first.pending(owner)
            let session = try await first.session(for: next, owner)
            #expect(try await first.finish(last.pending, "123456", sessionInfo: last.session) == locked)
            #expect(try await first.finish(next, "123456", sessionInfo: session) == locked)
            first.clock.advance(seconds: 60)
            #expect(try await first.finish(next, "123456", sessionInfo: session) == nil)
        }
    }

    @Test func `wrong message codes do not lock an app`() async throws {
        try await TestService.withTwo(settings: Self.fictional) { first, second in
            var owner = try await first.guarded()
            let app = owner.factor
            try await first.edit(owner.id) { user in
                guard let id = SecondFactorID("number"), let number = PhoneNumber(Self.number) else { return }
                let factor = SecondFactor(id: id, method: .phone(number), displayName: nil, enrolledAt: user.createdAt)
                user.secondFactors.append(factor)
            }
            owner.factor = "number"
            for _ in 0...2 {
                let pending = try await first.pending(owner)
                let session = try await first.session(for: pending, owner)
                for _ in 0..<5 { _ = try await second.finish(pending, "654321", sessionInfo: session) }
            }
            let pending = try await first.pending(owner)
            let session = try await first.session(for: pending, owner)
            #expect(
                try await first.finish(pending, "123456", sessionInfo: session) == .secondFactor(.tooManyAttempts)
            )
            owner.factor = app
            #expect(try await second.finish(pending, owner, owner.code(at: first.clock.now)) == nil)
        }
    }

    @Test func `a correct code that the policy then refuses is consumed`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded()
            let pending = try await first.pending(owner)
            let code = owner.code(at: first.clock.now)
            try await first.database.execute(
                """
                UPDATE project_config SET version = version + 1,
                    settings = jsonb_set(settings, '{signIn,email,enabled}', 'false')
                """
            )
            for service in [first, second] { try await service.operations.project.refresh() }
            let outcomes = try await first.race(with: second, count: 16) { service, _ in
                try await service.finish(pending, owner, code)
            }
            #expect(outcomes.count { $0 != .secondFactor(.invalidPendingCredential) } == 1)
            #expect(!outcomes.contains(nil))
            #expect(
                try await count("SELECT last_step FROM second_factors", first) == TOTP.step(at: first.clock.now)
            )
        }
    }

    @Test func `one message for a second factor signs in once`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.guarded(by: Self.number)
            var pending: [String] = []
            for _ in 0..<32 { pending.append(try await first.pending(owner)) }
            let request = PhoneCodeRequest(number: nil, credential: .recaptcha(token: "app"))
            let sessionInfo = try await first.operations
                .sendSignInCode(request, to: owner.factor, pendingCredential: pending[0], tenant: .project)
            let code = try await first.operations.messagesWithUsableCodes(tenant: .project)
                .first { $0.sessionInfo == sessionInfo }?.code
            let right = try #require(code)
            let outcomes = try await first.race(with: second, count: 32) { [pending] service, caller in
                let shown = FinishSignIn.Presented.message(code: right, sessionInfo: sessionInfo)
                let request = FinishSignIn(pendingCredential: pending[caller], shown: shown)
                return try await outcome(await service.operations.finishSignIn(request, tenant: .project)).denial
            }
            #expect(outcomes.count { $0 == nil } == 1)
            #expect(outcomes.count { $0 == .phone(.invalidSession) } == 31)
            #expect(
                try await count(
                    "SELECT count(*) FROM factor_challenges WHERE consumed_by IS NOT NULL AND purpose = 'sign-in'",
                    first
                ) == 1
            )
        }
    }

    @Test func `one enrollment used by 32 callers enrolls one factor and leaves one session`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.unguarded()
            let started = try await first.operations.startTOTPEnrollment(idToken: owner.idToken, tenant: .project)
            let app = TOTP(secret: Base32.decoded(started.sharedKey))
            let code = app.code(ofStep: TOTP.step(at: first.clock.now))
            let outcomes = try await first.race(with: second, count: 32) { service, _ in
                let shown = FinishEnrollment.Presented.totp(code: code, sessionInfo: started.sessionInfo)
                return try await outcome(
                    await service.operations.finishEnrollment(
                        FinishEnrollment(shown: shown, displayName: nil),
                        idToken: owner.idToken,
                        tenant: .project
                    )
                ).denial
            }
            #expect(outcomes.count { $0 == nil } == 1)
            // The session has ended or, for earlier reads, the enrollment was consumed.
            let late: [Denial] = [.refusal(.tokenExpired), .phone(.invalidSession)]
            #expect(outcomes.compactMap(\.self).allSatisfy(late.contains))
            #expect(try await count("SELECT count(*) FROM second_factors", first) == 1)
            #expect(try await count("SELECT count(*) FROM sessions", first) == 1)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `of concurrent enrollments by one session one succeeds, and there is no sixth factor`() async throws {
        try await TestService.withTwo { first, second in
            let owner = try await first.unguarded()
            try await first.edit(owner.id) { user in
                user.secondFactors = (1...4).compactMap { index in
                    guard let id = SecondFactorID("factor-\(index)"), let number = PhoneNumber("+1650555000\(index)")
                    else { return nil }
                    return SecondFactor(id: id, method: .phone(number), displayName: nil, enrolledAt: user.createdAt)
                }
            }
            // A session that has proven one of them.
            let pending = try await first.pending(owner)
            let request = PhoneCodeRequest(number: nil, credential: .recaptcha(token: "app"))
            let sessionInfo = try await first.operations
                .sendSignInCode(request, to: "factor-1", pendingCredential: pending, tenant: .project)
            let code = try await first.operations.messagesWithUsableCodes(tenant: .project).first?.code
            let shown = FinishSignIn.Presented.message(code: try #require(code), sessionInfo: sessionInfo)
            let session = try await first.operations.finishSignIn(
                FinishSignIn(pendingCredential: pending, shown: shown),
                tenant: .project
            ).signedIn.tokens.idToken
            var started: [TOTPEnrollment] = []
            for _ in 0..<16 {
                started.append(try await first.operations.startTOTPEnrollment(idToken: session, tenant: .project))
            }
            let step = TOTP.step(at: first.clock.now)
            let outcomes = try await first.race(with: second, count: 16) { [started] service, caller in
                let code = TOTP(secret: Base32.decoded(started[caller].sharedKey)).code(ofStep: step)
                let shown = FinishEnrollment.Presented.totp(code: code, sessionInfo: started[caller].sessionInfo)
                return try await outcome(
                    await service.operations.finishEnrollment(
                        FinishEnrollment(shown: shown, displayName: nil),
                        idToken: session,
                        tenant: .project
                    )
                ).denial
            }
            #expect(outcomes.count { $0 == nil } == 1)
            #expect(try await count("SELECT count(*) FROM second_factors", first) == 5)
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a factor withdrawn during its use leaves no session that used it`()
        async throws
    {
        for _ in 0..<4 {
            try await TestService.withTwo { first, second in
                let owner = try await first.guarded()
                let pending = try await first.pending(owner)
                let code = owner.code(at: first.clock.now)
                let outcomes = try await first.race(with: second, count: 2) { service, caller in
                    caller == 0
                        ? try await service.finish(pending, owner, code)
                        : try await outcome(
                            await service.operations.withdrawSecondFactor(
                                owner.factor,
                                idToken: owner.idToken,
                                tenant: .project
                            )
                        ).denial
                }
                #expect(outcomes.contains(nil))
                #expect(try await count("SELECT count(*) FROM second_factors", first) == 0)
                let live: Query<Int64> = """
                    SELECT count(*) FROM sessions JOIN users USING (tenant_id, user_id, session_epoch)
                    WHERE second_factor_id IS NOT NULL
                    """
                #expect(try await count(live, first) == 0)
            }
        }
    }
}

/// A user with a second factor, and the user's credentials.
private struct GuardedUser: Sendable {
    let id: UserID
    let email: EmailAddress
    var idToken: String
    var factor = ""
    var secret: [UInt8] = []

    func code(at now: Timestamp, steps: Int64 = 0) -> String {
        TOTP(secret: secret).code(ofStep: TOTP.step(at: now) + steps)
    }
}

extension TestService {
    fileprivate func unguarded() async throws -> GuardedUser {
        let email = newAddress()
        let signedUp = try await signUp(email).value
        try await edit(signedUp.user.id) { $0.prove(.administrator) }
        return GuardedUser(id: signedUp.user.id, email: email, idToken: signedUp.tokens.idToken)
    }

    /// A user with an app, whose next code is valid.
    fileprivate func guarded() async throws -> GuardedUser {
        var user = try await unguarded()
        let started = try await operations.startTOTPEnrollment(idToken: user.idToken, tenant: .project)
        user.secret = Base32.decoded(started.sharedKey)
        let shown = FinishEnrollment.Presented.totp(code: user.code(at: clock.now), sessionInfo: started.sessionInfo)
        return try await enroll(shown, user)
    }

    /// A user with a number. `code`: of a fictional number.
    fileprivate func guarded(by number: String, code: String? = nil) async throws -> GuardedUser {
        let user = try await unguarded()
        let request = PhoneCodeRequest(number: number, credential: .recaptcha(token: "app"))
        let sessionInfo = try await operations.startEnrollment(request, idToken: user.idToken, tenant: .project)
        let sent = try await operations.messagesWithUsableCodes(tenant: .project).first?.code
        return try await enroll(.message(code: try #require(code ?? sent), sessionInfo: sessionInfo), user)
    }

    private func enroll(_ shown: FinishEnrollment.Presented, _ user: GuardedUser) async throws -> GuardedUser {
        var user = user
        let enrolled = try await operations.finishEnrollment(
            FinishEnrollment(shown: shown, displayName: nil),
            idToken: user.idToken,
            tenant: .project
        )
        user.idToken = try #require(enrolled.updated.tokens?.idToken)
        user.factor = enrolled.factor.id.rawValue
        clock.advance(seconds: TOTP.periodSeconds)
        return user
    }

    fileprivate func pending(_ user: GuardedUser) async throws -> String {
        let ending = try await operations.signInWithPassword(
            email: user.email,
            password: TestService.password,
            tenant: .project
        )
        guard case .secondFactorRequired(let pending) = ending else { throw UnexpectedEnding("no second factor") }
        return pending.credential
    }

    /// Requests a message to the user's number.
    fileprivate func session(for pending: String, _ user: GuardedUser) async throws -> String {
        let request = PhoneCodeRequest(number: nil, credential: .recaptcha(token: "app"))
        return
            try await operations
            .sendSignInCode(request, to: user.factor, pendingCredential: pending, tenant: .project)
    }

    /// - Returns: the denial; `nil` if signed in.
    fileprivate func finish(_ pending: String, _ code: String, sessionInfo: String) async throws -> Denial? {
        let shown = FinishSignIn.Presented.message(code: code, sessionInfo: sessionInfo)
        let request = FinishSignIn(pendingCredential: pending, shown: shown)
        return try await outcome(await operations.finishSignIn(request, tenant: .project)).denial
    }

    /// - Returns: the denial; `nil` if signed in.
    fileprivate func finish(_ pending: String, _ user: GuardedUser, _ code: String) async throws -> Denial? {
        let request = FinishSignIn(pendingCredential: pending, shown: .totp(code: code, factor: user.factor))
        return try await outcome(await operations.finishSignIn(request, tenant: .project)).denial
    }
}
