import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Races of sign-ups that wait for their mailbox.
struct PendingSignUpTests {
    private static let settings = settings()

    /// - `limits`: on sign-ups; `nil` for none.
    private static func settings(limits: JSONValue? = nil) -> JSONValue {
        guard var members = ProjectSettings.developmentDefaults.object, var concord = members["concord"]?.object else {
            return .null
        }
        concord["signUp"] = ["requires": "mailbox"]
        if let limits { concord["signUps"] = limits }
        members["concord"] = .object(concord)
        members["linkPolicy"] = ["preset": "strict", "unprovenAddress": "confirm"]
        return .object(members)
    }

    private struct Mailed {
        let handle: String
        let secret: String
        let code: String?
    }

    /// The newest mail of a sign-up.
    private func mailed(_ service: TestService) async throws -> Mailed {
        let messages = try await service.operations.inbox(tenant: .project)
        let mail = try #require(messages.first { $0.type == "SIGN_UP_MAILBOX" })
        let link = try #require(mail.text.firstMatch(of: /#signUp=([\w-]+)&proof=([\w-]+)/))
        return Mailed(handle: String(link.1), secret: String(link.2), code: mail.code)
    }

    private func begin(_ service: TestService, _ email: EmailAddress) async throws -> Mailed {
        service.clock.advance(seconds: 1)
        #expect(try await service.signUp(email).denial == .refusal(.mailboxUnproven))
        return try await mailed(service)
    }

    private func prove(_ service: TestService, _ mail: Mailed) async throws -> String {
        try await service.operations
            .proveSignUp(mail.handle, .linkSecret(mail.secret), from: nil, tenant: .project).proofToken
    }

    /// Proves the mailbox and continues.
    private func create(_ service: TestService, _ mail: Mailed) async throws -> Outcome<SignedIn> {
        try await outcome(await proveAndCreate(service, mail))
    }

    private func proveAndCreate(_ service: TestService, _ mail: Mailed) async throws -> SignedIn {
        try await service.operations.createAccount(
            ofSignUp: mail.handle,
            proofToken: prove(service, mail),
            password: TestService.password,
            displayName: nil,
            from: .unknown,
            ChangeRequest(tenant: .project)
        )
    }

    private func accounts(_ service: TestService) async throws -> Int64 {
        try await service.database.count("SELECT count(*) FROM users")
    }

    @Test func `of 64 provers who continue one sign-up, one creates the account`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let mail = try await begin(first, first.newAddress())
            let outcomes = try await first.race(with: second) { service, _ in
                try await create(service, mail)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            // The others find the sign-up used, or the address taken.
            let losses: [Denial?] = [nil, .pendingSignUp(.unusable), .refusal(.emailExists)]
            #expect(outcomes.allSatisfy { losses.contains($0.denial) })
            #expect(try await accounts(first) == 1)
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == 1)
            #expect(
                try await first.database.count("SELECT count(*) FROM pending_sign_ups WHERE consumed_by IS NOT NULL")
                    == 1
            )
        }
    }

    @Test func `of 64 concurrent guesses at a code, at most five are answered`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let credential = first.credential(.gitHub, subject: "1", email: "ann@example.com")
            guard case .needsMailbox(_, let handle) = try await first.signIn(credential).success().ending else {
                Issue.record("no confirmation")
                return
            }
            let outcomes = try await first.race(with: second) { service, caller in
                try await outcome(
                    await service.operations.proveSignUp(
                        handle,
                        .code("0000\(1000 + caller)"),
                        from: nil,
                        tenant: .project
                    )
                )
            }
            let wrong = outcomes.count { $0.denial == .pendingSignUp(.wrongAnswer) }
            #expect((4...5).contains(wrong), "one guess may be right")
            #expect(
                outcomes.count { $0.denial == .pendingSignUp(.tooManyAttempts) } >= outcomes.count - 5 - 1,
                "one guess may be right"
            )
            let attempts = try await first.database.count("SELECT max(attempts)::bigint FROM pending_sign_ups")
            #expect(attempts == 5)
        }
    }

    @Test func `of sign-ups for one address that are proven at once, one makes the account`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = first.newAddress()
            var mails: [Mailed] = []
            for _ in 1...16 { mails.append(try await begin(first, email)) }
            #expect(Set(mails.map(\.handle)).count == 16)
            let sent = mails
            let outcomes = try await first.race(with: second, count: 16) { service, caller in
                try await create(service, sent[caller])
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.allSatisfy { $0.denial == nil || $0.denial == .refusal(.emailExists) })
            #expect(try await accounts(first) == 1)
            #expect(
                try await first.database.count("SELECT count(*) FROM pending_sign_ups WHERE consumed_at IS NOT NULL")
                    == 1,
                "a refused sign-up is not used"
            )
        }
    }

    @Test func `a confirmed credential and a password for one address race: one account, with one of them`()
        async throws
    {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            let password = try await begin(first, email)
            first.clock.advance(seconds: 1)
            let credential = first.credential(.gitHub, subject: "1", email: email.raw)
            _ = try await first.signIn(credential)
            let provider = try await mailed(first)
            #expect(provider.handle != password.handle)
            let outcomes = try await first.race(with: second, count: 32) { service, caller in
                let mail = caller % 4 < 2 ? password : provider
                return try await create(service, mail)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(try await accounts(first) == 1)
            let methods = try await first.database.count(
                "SELECT (SELECT count(*) FROM password_credentials) + (SELECT count(*) FROM linked_providers)"
            )
            #expect(methods == 1)
        }
    }

    @Test func `64 callers link one confirmed credential: one conflict, which one of them can resolve`() async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            let mail = try await begin(first, email)
            _ = try await create(first, mail).value
            first.clock.advance(seconds: 1)
            _ = try await first.signIn(first.credential(.gitHub, subject: "1", email: email.raw))
            let waiting = try await mailed(first)
            let token = try await prove(first, waiting)
            let outcomes = try await first.race(with: second) { service, _ in
                try await outcome(
                    await service.operations.linkSignUp(
                        waiting.handle,
                        proofToken: token,
                        ChangeRequest(tenant: .project)
                    )
                )
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(try await first.database.count("SELECT count(*) FROM conflicts") == 1)
            for case .success(let linkable) in outcomes {
                let resolved = try await first.operations.resolveConflict(
                    linkable.pendingToken,
                    proofToken: linkable.conflict.proofToken,
                    ChangeRequest(tenant: .project)
                )
                #expect(resolved.linkedProvider == .gitHub)
            }
            #expect(try await first.database.count("SELECT count(*) FROM linked_providers") == 1)
            #expect(try await first.database.unexplainedEvents() == [])
        }
    }

    /// The cause of a new conflict.
    enum Opening: String, Sendable, CaseIterable {
        case signIn, handleOfFirstSignIn, takenIdentity, takenAddress
        case waitingHandleInSession, confirmedLink, confirmedOnPageOfConflicts

        /// True if the project confirms unproven addresses.
        var isConfirmed: Bool {
            switch self {
            case .signIn, .handleOfFirstSignIn, .takenIdentity, .takenAddress: false
            case .waitingHandleInSession, .confirmedLink, .confirmedOnPageOfConflicts: true
            }
        }
    }

    @Test(arguments: Opening.allCases)
    func `a conflict can be explained, however it was opened`(by way: Opening) async throws {
        let settings = way.isConfirmed ? Self.settings : ProjectSettings.developmentDefaults
        try await TestService.with(settings: settings) { service in
            try await open(by: way, service)
            let owners: [String] = try await service.database.rows(
                "SELECT user_id FROM account_events WHERE kind = 'conflict-opened'"
            )
            #expect(owners.count == 1)
            let owner = try #require(owners.first.flatMap { UserID($0) })
            let decision = try #require(
                await service.operations.decisions(about: owner, tenant: .project, before: nil, countMax: 50)
                    .first { $0.kind == "conflict-opened" }
            )
            #expect(decision.questions.count == 1 && !decision.omitsFacts)
            #expect(decision.rulesToday.map { $0?.rawValue } == [decision.rule])
            #expect(try await service.database.unexplainedEvents() == [])
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    private func open(by way: Opening, _ service: TestService) async throws {
        let ann = try #require(EmailAddress("ann@example.com"))
        let credential = service.credential(.gitHub, subject: "1", email: ann.raw)
        switch way {
        case .signIn:
            _ = try await service.signUp(ann).value
            _ = try await service.signIn(credential).confirmation()
        case .handleOfFirstSignIn:
            let asking = SignInWithIdp(
                source: .credential(credential),
                idToken: nil,
                createsUsers: true,
                asksFirst: true
            )
            let ending = try await service.operations.signInWithIdp(asking, tenant: .project).ending
            guard case .asksFirst(let handle) = ending else { throw UnexpectedEnding("the sign-in did not ask") }
            _ = try await service.signUp(ann).value
            _ = try await service.signIn(pendingToken: handle).confirmation()
        case .takenIdentity:
            _ = try await service.signIn(credential).signedIn()
            let other = try await service.signUp("bob@example.com")
            let (refusal, _) = try await service.signIn(credential, idToken: other.tokens.idToken).refused()
            #expect(refusal == .federatedIdentityAlreadyLinked)
        case .takenAddress:
            _ = try await service.signUp(ann).value
            let other = try await service.signUp("bob@example.com")
            let (refusal, _) = try await service.signIn(credential, idToken: other.tokens.idToken).refused()
            #expect(refusal == .emailExists)
        case .waitingHandleInSession:
            let (owner, mail) = try await waiting(service, ann)
            _ = try await service.signIn(credential, idToken: owner.tokens.idToken).signedIn()
            let other = try await create(service, try await begin(service, service.newAddress())).value
            _ = try await service.signIn(pendingToken: mail.handle, idToken: other.tokens.idToken).refused()
        case .confirmedLink:
            let (_, mail) = try await waiting(service, ann)
            _ = try await service.operations.linkSignUp(
                mail.handle,
                proofToken: prove(service, mail),
                ChangeRequest(tenant: .project)
            )
        case .confirmedOnPageOfConflicts:
            let (owner, mail) = try await waiting(service, ann)
            try await service.edit(owner.user.id) { $0.secondFactors = [.sms("+16505550009")] }
            let token = try await prove(service, mail)
            #expect(try await resolve(service, mail.handle, token).denial == .conflict(.secondFactorRequired))
        }
    }

    /// An account with a proven address, and the mail of a sign-in with GitHub at that address.
    private func waiting(
        _ service: TestService,
        _ email: EmailAddress,
        subject: String = "1"
    ) async throws -> (owner: SignedIn, mail: Mailed) {
        let owner = try await create(service, try await begin(service, email)).value
        service.clock.advance(seconds: 1)
        _ = try await service.signIn(service.credential(.gitHub, subject: subject, email: email.raw))
        return (owner, try await mailed(service))
    }

    /// - `key`: the idempotency key; `nil` for a request without one.
    private func resolve(
        _ service: TestService,
        _ handle: String,
        _ token: String,
        key: String? = nil
    ) async throws -> Outcome<SignedIn> {
        let idempotent = key.flatMap(IdempotencyKey.init).map { key in
            IdempotentRequest<SignedIn>(key: key, credential: handle, route: "resolve", request: token) { signedIn in
                Array(signedIn.user.id.rawValue.utf8)
            }
        }
        return try await outcome(
            await service.operations.resolveConflict(
                handle,
                proofToken: token,
                ChangeRequest(tenant: .project, idempotent: idempotent)
            )
        )
    }

    private func decline(_ service: TestService, _ handle: String) async throws -> Outcome<ConflictView> {
        try await outcome(await service.operations.declineConflict(handle, ChangeRequest(tenant: .project)))
    }

    /// Sign-ups with a credential that were used.
    private func used(_ service: TestService) async throws -> Int64 {
        try await service.database.count(
            "SELECT count(*) FROM pending_sign_ups WHERE sealed_credential IS NOT NULL AND consumed_at IS NOT NULL"
        )
    }

    @Test func `if the second factor is missing, the sign-up stays usable with the same proof`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            let email = try #require(EmailAddress("ann@example.com"))
            let (owner, mail) = try await waiting(service, email)
            try await service.edit(owner.user.id) { $0.secondFactors = [.sms("+16505550009")] }
            let token = try await prove(service, mail)
            for _ in 1...2 {
                #expect(try await resolve(service, mail.handle, token).denial == .conflict(.secondFactorRequired))
                #expect(try await used(service) == 0)
                let links: Int64 = try await service.database.count("SELECT count(*) FROM linked_providers")
                #expect(links == 0)
            }
            let proven = try await service.database.count("SELECT count(*) FROM conflicts WHERE state = 'proven'")
            #expect(proven == 1, "the next sign-in with both factors links it")
            try await service.edit(owner.user.id) { $0.secondFactors = [] }
            #expect(try await resolve(service, mail.handle, token).value.linkedProvider == .gitHub)
            #expect(try await used(service) == 1)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts WHERE state = 'resolved'") == 1)
            #expect(try await resolve(service, mail.handle, token).denial == .pendingSignUp(.unusable))
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    private static let liveConflicts: Query<Int64?> =
        "SELECT count(*) FROM conflicts WHERE state IN ('open', 'proven')"

    @Test func `who declines after a missing second factor links nothing at the next sign-in`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            let email = try #require(EmailAddress("ann@example.com"))
            let (owner, mail) = try await waiting(service, email)
            try await service.edit(owner.user.id) { $0.secondFactors = [.sms("+16505550009")] }
            let token = try await prove(service, mail)
            #expect(try await resolve(service, mail.handle, token).denial == .conflict(.secondFactorRequired))
            #expect(try await service.database.count(Self.liveConflicts) == 1)
            for _ in 1...2 {
                #expect(try await decline(service, mail.handle).value.state == .declined)
                #expect(try await service.database.count(Self.liveConflicts) == 0)
            }
            try await service.edit(owner.user.id) { $0.secondFactors = [] }
            #expect(try await resolve(service, mail.handle, token).denial == .pendingSignUp(.unusable))
            #expect(try await service.user(owner.user.id)?.account.linkedProviders.isEmpty == true)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `of callers who resolve and decline at once, one kind wins, and no conflict stays live`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            for round in 1...8 {
                let email = try #require(EmailAddress("race\(round)@example.com"))
                let (owner, mail) = try await waiting(service, email, subject: email.raw)
                let token = try await prove(service, mail)
                let outcomes = try await withThrowingTaskGroup { group in
                    for caller in 0..<12 {
                        group.addTask {
                            caller.isMultiple(of: 2)
                                ? try await decline(service, mail.handle).denial == nil
                                : try await resolve(service, mail.handle, token).denial == nil
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(outcomes.contains(true))
                #expect(try await service.database.count(Self.liveConflicts) == 0, "\(email.raw)")
                let isLinked = try await service.user(owner.user.id)?.account.linkedProviders.isEmpty == false
                let view = try await service.operations.conflict(mail.handle, proofToken: nil, tenant: .project)
                #expect((view.state == .declined) != isLinked, "\(email.raw)")
            }
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a used sign-up shows the state of its conflict, which only the handle of the conflict declines`()
        async throws
    {
        try await TestService.with(settings: Self.settings) { service in
            let email = try #require(EmailAddress("ann@example.com"))
            let (owner, mail) = try await waiting(service, email)
            let token = try await prove(service, mail)
            let linkable = try await service.operations.linkSignUp(
                mail.handle,
                proofToken: token,
                ChangeRequest(tenant: .project)
            )
            #expect(linkable.conflict.view.state == .proven)
            let view = try await service.operations.conflict(mail.handle, proofToken: nil, tenant: .project)
            #expect(view.state == .proven && view.signInMethods == nil)
            #expect(try await decline(service, mail.handle).denial == .pendingSignUp(.unusable), "it was used")
            _ = try await decline(service, linkable.pendingToken).value
            let declined = try await service.operations.conflict(mail.handle, proofToken: nil, tenant: .project)
            #expect(declined.state == .declined)
            #expect(try await service.user(owner.user.id)?.linkedProviders.isEmpty == true)
        }
    }

    @Test func `of 32 callers who resolve one sign-up, one links the credential, and all writes are one`() async throws
    {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            let (_, mail) = try await waiting(first, email)
            let token = try await prove(first, mail)
            let sessions = try await first.database.count("SELECT count(*) FROM sessions")
            let outcomes = try await first.race(with: second, count: 32) { service, _ in
                try await resolve(service, mail.handle, token)
            }
            #expect(outcomes.count { $0.denial == nil } == 1)
            #expect(outcomes.allSatisfy { $0.denial == nil || $0.denial == .pendingSignUp(.unusable) })
            #expect(try await used(first) == 1)
            #expect(try await first.database.count("SELECT count(*) FROM sessions") == sessions + 1)
            #expect(try await first.database.count("SELECT count(*) FROM linked_providers") == 1)
            #expect(try await first.database.count("SELECT count(*) FROM conflicts") == 1, "no loser leaves one")
            #expect(try await first.database.count("SELECT count(*) FROM conflicts WHERE state = 'resolved'") == 1)
        }
    }

    @Test(arguments: [1, 2], [true, false])
    func `of callers who resolve one sign-up, those with the winner's idempotency key get its answer`(
        keyCount: Int,
        hasAccount: Bool
    ) async throws {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            if hasAccount { _ = try await create(first, try await begin(first, email)).value }
            let before = (
                accounts: try await accounts(first), sessions: try await first.database.count(Self.sessions)
            )
            first.clock.advance(seconds: 1)
            _ = try await first.signIn(first.credential(.gitHub, subject: "1", email: email.raw))
            let mail = try await mailed(first)
            let token = try await prove(first, mail)
            let outcomes = try await first.race(with: second, count: 24) { service, caller in
                // Both servers get each key.
                let key = "key-\(caller / 2 % keyCount)"
                return (key: key, outcome: try await resolve(service, mail.handle, token, key: key))
            }
            let winners = outcomes.filter { $0.outcome.denial == nil }
            #expect(winners.count == 1)
            let winner = try #require(winners.first)
            let answer = Denial.answeredBefore(Array(try winner.outcome.value.user.id.rawValue.utf8))
            let losses: [Denial?] = [
                .pendingSignUp(.unusable), .refusal(.federatedIdentityAlreadyLinked), .refusal(.emailExists),
            ]
            for (key, outcome) in outcomes where outcome.denial != nil {
                #expect(key == winner.key ? outcome.denial == answer : losses.contains(outcome.denial), "\(outcome)")
            }
            #expect(outcomes.count { $0.key == winner.key } == 24 / keyCount)
            #expect(try await resolve(second, mail.handle, token, key: winner.key).denial == answer)
            #expect(try await resolve(second, mail.handle, token, key: "late").denial == .pendingSignUp(.unusable))
            #expect(try await used(first) == 1)
            #expect(try await accounts(first) == before.accounts + (hasAccount ? 0 : 1))
            #expect(try await first.database.count(Self.sessions) == before.sessions + 1)
            #expect(try await first.database.count("SELECT count(*) FROM linked_providers") == 1)
            #expect(try await first.database.unexplainedEvents() == [])
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    private static let sessions: Query<Int64?> = "SELECT count(*) FROM sessions"

    @Test(arguments: [true, false])
    func `a decline races with its proof, creation and link: the sign-up ends in one of them`(
        hasAccount: Bool
    )
        async throws
    {
        try await TestService.withTwo(settings: Self.settings) { first, second in
            let email = try #require(EmailAddress("ann@example.com"))
            if hasAccount { _ = try await create(first, try await begin(first, email)).value }
            let before = try await accounts(first)
            first.clock.advance(seconds: 1)
            _ = try await first.signIn(first.credential(.gitHub, subject: "1", email: email.raw))
            let mail = try await mailed(first)
            let token = try await prove(first, mail)
            let outcomes = try await first.race(with: second, count: 48) { service, caller -> (Int, Denial?) in
                switch caller / 2 % 4 {
                case 0: return (0, try await decline(service, mail.handle).denial)
                case 1:
                    let proven = try await outcome(await prove(service, mail))
                    return (1, proven.denial)
                case 2: return (2, try await resolve(service, mail.handle, token).denial)
                default:
                    let linked = try await outcome(
                        await service.operations.linkSignUp(
                            mail.handle,
                            proofToken: token,
                            ChangeRequest(tenant: .project)
                        )
                    )
                    return (3, linked.denial)
                }
            }
            let proofs = outcomes.filter { $0.0 == 1 }
            #expect(proofs.count == 12)
            #expect(proofs.allSatisfy { $0.1 == nil || $0.1 == .pendingSignUp(.unusable) }, "used meanwhile")
            let declines = outcomes.filter { $0.0 == 0 }
            let isDeclined = declines.contains { $0.1 == nil }
            let continued = outcomes.count { $0.0 > 1 && $0.1 == nil }
            #expect(continued == (isDeclined ? 0 : 1))
            #expect(
                declines.allSatisfy { $0.1 == (isDeclined ? nil : .pendingSignUp(.unusable)) },
                "one answer for all"
            )
            #expect(try await used(first) == 1)
            let created = try await accounts(first) - before
            #expect(created == (isDeclined || hasAccount ? 0 : 1))
            let linked = try await first.database.count("SELECT count(*) FROM linked_providers")
            if isDeclined {
                #expect(linked == 0)
                #expect(try await resolve(second, mail.handle, token).denial == .pendingSignUp(.unusable))
                let view = try await second.operations.conflict(mail.handle, proofToken: nil, tenant: .project)
                #expect(view.state == .declined)
            }
            #expect(try await first.database.inconsistencies() == [])
        }
    }

    @Test func `a proven sign-up is refused before its password is hashed`() async throws {
        try await TestService.with(settings: Self.settings(limits: ["perAddressPerHour": 1])) { service in
            let email = service.newAddress()
            let (taken, late) = (try await begin(service, email), try await begin(service, email))
            let free = try await begin(service, service.newAddress())
            let client = PasswordClient(network: "192.0.2.1")
            func create(_ mail: Mailed) async throws -> Outcome<SignedIn> {
                try await outcome(
                    await service.operations.createAccount(
                        ofSignUp: mail.handle,
                        proofToken: prove(service, mail),
                        password: TestService.password,
                        displayName: nil,
                        from: client,
                        ChangeRequest(tenant: .project)
                    )
                )
            }
            _ = try await create(taken).value
            // A password that is hashed now would fail with another error.
            await service.operations.passwords.shutDown()
            #expect(try await create(late).denial == .refusal(.emailExists))
            #expect(try await create(free).denial == .limitReached(.signUps))
        }
    }

    @Test func `a conflict about a credential that waited ends no later than its sign-up`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            var accounts: [SignedIn] = []
            for name in ["ann", "bob"] {
                let email = try #require(EmailAddress("\(name)@example.com"))
                accounts.append(try await create(service, try await begin(service, email)).value)
            }
            service.clock.advance(seconds: 1)
            _ = try await service.signIn(service.credential(.gitHub, subject: "1", email: "ann@example.com"))
            let waiting = try await mailed(service)
            service.clock.advance(seconds: 200)
            // The address alone is no conflict here. Now the identity is another account's.
            let credential = service.credential(.gitHub, subject: "1", email: "ann@example.com")
            #expect(try await service.signIn(credential, idToken: accounts[0].tokens.idToken).denial == nil)
            _ = try await service.signIn(pendingToken: waiting.handle, idToken: accounts[1].tokens.idToken)
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 1)
            let waitingRows = try await service.database.count(
                "SELECT count(*) FROM pending_sign_ups WHERE sealed_credential IS NOT NULL"
            )
            #expect(waitingRows == 1, "the comparison needs the row of the sign-up")
            let late = try await service.database.count(
                """
                SELECT count(*) FROM conflicts WHERE expires_at > (
                    SELECT expires_at FROM pending_sign_ups WHERE sealed_credential IS NOT NULL
                )
                """
            )
            #expect(late == 0)
        }
    }

    @Test func `no secret of a sign-up is stored in the clear, and the password not at all`() async throws {
        try await TestService.with(settings: Self.settings) { service in
            let mail = try await begin(service, service.newAddress())
            let stored = try await service.database.rows(
                "SELECT pending_sign_ups::text FROM pending_sign_ups" as Query<String>
            )
            #expect(stored.count == 1)
            for secret in [mail.handle, mail.secret, TestService.password] {
                #expect(!stored.contains { $0.contains(secret) })
            }
        }
    }
}
