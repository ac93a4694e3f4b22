import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Codes, conflicts and requests of a session that was ended.
struct EndedSessionTests {
    private static let email = "ada@example.com"
    private static let thiefs = "thief@example.com"

    /// Requests with which the owner ends another session.
    private enum Way: CaseIterable, Sendable {
        case one, others, all
    }

    private func session(_ tokens: IssuedTokens) throws -> SessionID {
        try #require(claims(tokens.idToken)["concord"]?["session"]?.string.flatMap(SessionID.init))
    }

    private func end(
        _ way: Way,
        _ thief: SignedIn,
        by owner: SignedIn,
        _ service: TestService
    ) async throws -> Outcome<Bool> {
        let sessions: SessionsToEndByUser =
            switch way {
            case .one: .one(try session(thief.tokens))
            case .others: .others
            case .all: .all
            }
        return try await outcome(
            await service.operations.endSessions(
                sessions,
                idToken: owner.tokens.idToken,
                ChangeRequest(tenant: .project)
            )
        )
    }

    private func signOut(_ session: SignedIn, _ service: TestService) async throws {
        _ = try await service.operations.signOut(idToken: session.tokens.idToken, localID: nil, tenant: .project)
    }

    /// Requests a code as the user of a session.
    private func ask(_ action: EmailCodeRequest.Action, _ service: TestService) async throws -> Outcome<SentEmailCode> {
        try await outcome(
            await service.operations.sendEmailCode(
                EmailCodeRequest(
                    action: action,
                    settings: EmailCodeSettings(),
                    locale: nil,
                    isAdministrator: false,
                    returnsLink: true,
                    tenant: .project
                )
            )
        )
    }

    private func changeCode(_ session: SignedIn, _ service: TestService) async throws -> String {
        let subject = EmailCodeRequest.Subject.session(idToken: session.tokens.idToken)
        let address = try #require(EmailAddress(Self.thiefs))
        let sent = try await ask(.verifyAndChangeEmail(subject, newAddress: address), service).value
        return try #require(sent.returned?.code)
    }

    private func apply(_ code: String, _ service: TestService) async throws -> Outcome<AppliedEmailCode> {
        try await outcome(await service.operations.applyEmailCode(code, tenant: .project))
    }

    // MARK: Mailed codes

    @Test func `a change of address requested by an ended session is refused`() async throws {
        for way in Way.allCases {
            try await TestService.with { service in
                let owner = try await service.signUp(Self.email)
                let thief = try await service.signIn(Self.email).value
                let code = try await changeCode(thief, service)
                #expect(try await end(way, thief, by: owner, service).value, "\(way)")
                let denial = try await apply(code, service).denial
                #expect(denial == .refusal(.invalidEmailCode), "\(way)")
                #expect(try await service.user(owner.user.id)?.email?.address.lowercased == Self.email)
            }
        }
    }

    @Test func `a change of address requested by a thief who signs out first is refused`() async throws {
        try await TestService.with { service in
            let owner = try await service.signUp(Self.email)
            let thief = try await service.signIn(Self.email).value
            let code = try await changeCode(thief, service)
            try await signOut(thief, service)
            #expect(try await !end(.others, thief, by: owner, service).value, "there is no session to end")
            #expect(try await apply(code, service).denial == .refusal(.invalidEmailCode))
        }
    }

    @Test func `a user who signs out can still verify the address and later recover a replaced address`()
        async throws
    {
        try await TestService.with { service in
            let owner = try await service.signUp(Self.email)
            let subject = EmailCodeRequest.Subject.session(idToken: owner.tokens.idToken)
            let verification = try #require(try await ask(.verifyEmail(subject), service).value.returned?.code)
            try await signOut(owner, service)
            #expect(try await apply(verification, service).denial == nil)
            #expect(try await service.user(owner.user.id)?.email?.isVerified == true)
        }
        try await TestService.with { service in
            _ = try await service.signUp(Self.email)
            let thief = try await service.signIn(Self.email).value
            #expect(try await apply(changeCode(thief, service), service).denial == nil)
            // Ending sessions does not void the code that restores the address.
            let anew = try await service.signIn(Self.thiefs).value
            let other = try await service.signIn(Self.thiefs).value
            #expect(try await end(.others, other, by: anew, service).value)
            let usable: Query<Int64?> = """
                SELECT count(*) FROM one_time_codes WHERE kind = 'RECOVER_EMAIL' AND consumed_at IS NULL
                """
            #expect(try await service.database.count(usable) == 1)
        }
    }

    // MARK: Conflicts

    @Test func `a conflict that an ended session proved cannot be resolved`() async throws {
        for way in Way.allCases {
            try await TestService.with { service in
                let owner = try await service.signUp(Self.email)
                let thief = try await service.signIn(Self.email).value
                let handle = try await service.openConflict(with: Self.email)
                let proven = try await service.prove(handle, by: thief).success()
                #expect(try await end(way, thief, by: owner, service).value, "\(way)")
                let denial = try await service.resolve(handle, proven.proofToken).denial
                #expect(denial == .conflict(.closed(.superseded)), "\(way)")
                #expect(try await service.user(owner.user.id)?.linkedProviders.isEmpty == true)
            }
        }
    }

    // MARK: Requests under way

    @Test func `a request that waited while its session was ended is refused`() async throws {
        for way in Way.allCases {
            try await TestService.with { service in
                let owner = try await service.signUp(Self.email)
                let thief = try await service.signIn(Self.email).value
                let operations = service.operations
                let waiting = try await operations.authenticate(idToken: thief.tokens.idToken, tenant: .project)
                let other = try await operations.authenticate(idToken: owner.tokens.idToken, tenant: .project)
                #expect(try await end(way, thief, by: owner, service).value)
                let current = try await service.user(owner.user.id)
                let denial = try await outcome(await operations.account(of: waiting, asItIs: current)).denial
                #expect(denial == .refusal(.tokenExpired), "\(way)")
                let lives = try await outcome(await operations.account(of: other, asItIs: current)).denial == nil
                #expect(lives == (way != .all), "\(way)")
            }
        }
    }

    @Test func `requests of a thief's session that race with its end leave nothing behind`() async throws {
        try await TestService.withTwo { first, second in
            for round in 0..<3 {
                let email = "ada\(round)@example.com"
                let owner = try await first.signUp(email)
                let thief = try await first.signIn(email).value
                let identity = first.credential(.gitHub, subject: "thief \(round)")
                // Linked before, so that a link does not change the account.
                _ = try await first.signIn(identity, idToken: thief.tokens.idToken).signedIn()
                let outcomes = try await first.race(with: second, count: 64) { service, caller in
                    if caller == 21 { return try await end(.others, thief, by: owner, service).denial }
                    if caller % 4 == 3 {
                        let subject = EmailCodeRequest.Subject.session(idToken: thief.tokens.idToken)
                        guard let address = EmailAddress("thief\(round)-\(caller)@example.com") else { return nil }
                        return try await ask(.verifyAndChangeEmail(subject, newAddress: address), service).denial
                    }
                    return try await service.signIn(identity, idToken: thief.tokens.idToken).denial
                }
                #expect(outcomes.allSatisfy { $0 == nil || $0 == .refusal(.tokenExpired) })
                #expect(try await first.sessionCount(of: owner.user.id) == 1)
                let usable: Query<Int64?> = """
                    SELECT count(*) FROM one_time_codes
                    WHERE user_id = \(owner.user.id.rawValue) AND kind = 'VERIFY_AND_CHANGE_EMAIL' AND consumed_at IS NULL
                    """
                #expect(try await first.database.count(usable) == 0)
                _ = try await second.lookUp(owner.tokens.idToken).value
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }
}
