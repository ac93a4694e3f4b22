import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import IdentityProviders
import JSON
import Postgres
import Synchronization
import Testing

/// Simulations of policies, compared with the results after the policy is applied: for accounts and for recorded
/// sign-ins.
struct PolicySimulationTests {
    private static let acme = provider("oidc.acme")
    private static let issuer = "https://id.acme.example"
    private static let providers: [ProviderID] = [
        .google, .gitHub, .apple, .microsoft, .yahoo, .facebook, acme,
    ]

    private static func provider(_ name: String) -> ProviderID {
        guard let provider = ProviderID(name) else { preconditionFailure("not a provider") }
        return provider
    }

    // MARK: Proposals

    /// A present policy and a proposed one.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var present: PolicyProposal
        var proposed: PolicyProposal
    }

    private static func proposal(
        _ fields: [(name: String, value: JSONValue)],
        _ providers: [ProviderID: ProviderSwitch] = [:]
    ) -> PolicyProposal {
        let body = fields.reduce(JSONValue.object([:])) { body, field in
            body.setting(field.value, at: field.name.split(separator: ".").map(String.init)[...])
        }
        let mask = fields.map(\.name).joined(separator: ",")
        let change = fields.isEmpty ? nil : try? ProjectConfigChange(body: body, mask: mask)
        precondition(fields.isEmpty || change != nil, "not a change: \(mask)")
        return PolicyProposal(settings: change, providers: providers)
    }

    private static func trust(_ rules: [JSONValue]) -> (name: String, value: JSONValue) {
        ("concord.emailTrust", .array(rules))
    }

    private static let nothing = proposal([])
    private static let duplicates: (name: String, value: JSONValue) = ("signIn.allowDuplicateEmails", true)

    static let cases: [Case] = [
        Case(
            testDescription: "stricter trust",
            present: nothing,
            proposed: proposal([
                trust([
                    ["provider": "google.com", "domain": "gmail.com", "trust": "asserting"],
                    ["provider": "apple.com", "trust": "untrusted"],
                    ["provider": "oidc.acme", "domain": "corp.example", "trust": "asserting"],
                ])
            ])
        ),
        Case(
            testDescription: "looser trust",
            present: nothing,
            proposed: proposal([
                trust([
                    ["provider": "github.com", "trust": "verifying"],
                    ["provider": "microsoft.com", "trust": "authoritative"],
                ])
            ])
        ),
        Case(testDescription: "duplicates allowed", present: nothing, proposed: proposal([duplicates])),
        Case(
            testDescription: "duplicates no longer allowed",
            present: proposal([duplicates]),
            proposed: proposal([("signIn.allowDuplicateEmails", false)])
        ),
        Case(
            testDescription: "GitHub and passwords switched off, Acme removed",
            present: nothing,
            proposed: proposal([("signIn.email.enabled", false)], [.gitHub: .off, acme: .removed])
        ),
        Case(
            testDescription: "GitHub and Acme switched on",
            present: proposal([], [.gitHub: .off, acme: .off]),
            proposed: proposal([], [.gitHub: .on, acme: .on])
        ),
        Case(
            testDescription: "second factors asked for",
            present: proposal([("mfa.state", "DISABLED")]),
            proposed: proposal([("mfa.state", "ENABLED")])
        ),
        Case(
            testDescription: "second factors no longer asked for, no sign-up",
            present: proposal([duplicates]),
            proposed: proposal([("mfa.state", "DISABLED"), ("client.permissions.disabledUserSignup", true)])
        ),
    ]

    // MARK: Accounts

    /// An attempt to sign in with an account's address by an identity that is not linked.
    private struct Attempt {
        var provider: ProviderID
        var flagged: Bool
        var hosted: Bool

        static let all: [Attempt] =
            [ProviderID.google, .gitHub, .apple, .microsoft, .yahoo, acme].flatMap { provider in
                [true, false].map { Attempt(provider: provider, flagged: $0, hosted: false) }
            } + [true, false].map { Attempt(provider: .google, flagged: $0, hosted: true) }
    }

    /// Accounts that use their own methods, then one for each kind and attempt.
    private static let signedInCount = kindCount * 7
    private static let count = signedInCount + kindCount * Attempt.all.count
    private static let kindCount = 8

    private static func address(_ index: Int) -> String {
        "person\(index)@\(["gmail.com", "corp.example", "example.com"][index % 3])"
    }

    /// The identities of an account, with the provider's claims.
    private static func identities(_ index: Int) -> [(provider: ProviderID, email: String?, flagged: Bool)] {
        switch index % kindCount {
        case 0: [(.google, "person\(index)@gmail.com", true)]
        case 1, 7: [(.gitHub, address(index), true)]
        case 4: [(acme, address(index), true)]
        case 5: [(.facebook, nil, false)]
        case 6: [(.apple, address(index), true), (.gitHub, address(index), true)]
        default: []
        }
    }

    private static func hasPassword(_ index: Int) -> Bool { [2, 3].contains(index % kindCount) }

    private static func credential(
        _ provider: ProviderID,
        _ subject: String,
        email: String?,
        flagged: Bool,
        hosted: Bool = false
    ) -> ProviderCredential {
        var claims: [String: JSONValue] = ["sub": .string(subject), "email_verified": .bool(flagged)]
        claims["email"] = email.map(JSONValue.string)
        if hosted { claims["hd"] = email?.split(separator: "@").last.map { .string(String($0)) } }
        if provider == acme {
            claims["iss"] = .string(issuer)
            claims["aud"] = "client"
        }
        return ProviderCredential(provider: provider, idToken: JSONValue.object(claims).text)
    }

    /// The accounts, in the order of their numbers.
    private static func fill(_ service: TestService) async throws -> [UserID] {
        for provider in providers {
            var config = ProviderConfig(provider: provider)
            config.isEnabled = true
            config.clientID = "client"
            if provider == acme { config.issuer = issuer }
            #expect(try await service.operations.addProviderConfig(config) == nil)
        }
        var users: [UserID] = []
        for index in 0..<count {
            var session: SignedIn?
            if hasPassword(index) { session = try await service.signUp(address(index)) }
            for (provider, email, flagged) in identities(index) {
                let credential = credential(provider, "own-\(index)", email: email, flagged: flagged)
                session = try await service.signIn(credential, idToken: session?.tokens.idToken).signedIn()
            }
            guard let user = session?.user.id else { throw UnexpectedEnding("no account \(index)") }
            users.append(user)
            try await service.edit(user) { user in
                if index % kindCount == 3 { user.prove(.emailCode) }
                if index % 11 == 1 { user.isDisabled = true }
                guard index % 5 == 2, let id = SecondFactorID("factor"),
                    let number = PhoneNumber("+1555\(1_000_000 + index)")
                else { return }
                user.secondFactors = [
                    SecondFactor(id: id, method: .phone(number), displayName: nil, enrolledAt: user.createdAt)
                ]
            }
        }
        return users
    }

    // MARK: Results

    private static let asks = SimulatedOutcome.asksSecondFactor.text

    /// The result of a sign-in in the words of a simulation, and its account.
    private static func ending(
        _ service: TestService,
        _ credential: ProviderCredential
    ) async throws -> (text: String, user: UserID?, decision: DecisionID?) {
        switch try await service.signIn(credential) {
        case .denied(.refusal(let refusal)): return ("refused (\(refusal.rawValue))", nil, nil)
        case .denied(.invalidCredential(.providerDisabled)), .denied(.invalidCredential(.providerNotConfigured)):
            return ("refused (operationNotAllowed)", nil, nil)
        case .denied(let denial): throw UnexpectedEnding("\(denial)")
        case .success(let result):
            switch result.ending {
            case .needsConfirmation(let account, _, _): return ("conflict", account, result.decision)
            case .needsMailbox, .asksFirst: return ("conflict", nil, result.decision)
            case .refused(let refusal, _): return ("refused (\(refusal.rawValue))", nil, result.decision)
            case .secondFactorRequired: return (asks, nil, nil)
            case .signedIn(let signedIn):
                let rule = try await service.operations.decision(signedIn.decision)?.rule
                let text =
                    if signedIn.isNewUser {
                        "creates an account"
                    } else if rule == "I9" || rule == "I21" {
                        "takes over"
                    } else {
                        signedIn.linkedProvider == nil ? "signs in" : "links"
                    }
                return (text, signedIn.user.id, signedIn.decision)
            }
        }
    }

    private static func simulation(
        _ service: TestService,
        _ proposal: PolicyProposal
    ) async throws -> (present: PolicyState, simulation: PolicySimulation) {
        let present = try #require(await PolicyState.load(service.operations.store))
        let next = try present.after(proposal).get()
        let registry = service.operations.providers
        let comparison = PolicyComparison(present: present.terms(registry), proposed: next.terms(registry))
        return (present, PolicySimulation(comparison, reportInterval: 1))
    }

    private static func predictions(
        _ service: TestService,
        _ simulation: PolicySimulation
    ) async throws -> (all: [Prediction], result: PolicySimulation.Progress) {
        let reported = Mutex<[Prediction]>([])
        let result = try await simulation.run(
            AccountSnapshots(service.database.configuration, temporaryFolder: "/tmp"),
            tenant: nil,
            at: service.clock.now,
            onPrediction: { prediction in reported.withLock { $0.append(prediction) } },
            report: { _ in }
        )
        return (reported.withLock { $0 }, result)
    }

    private static func storeFacts(ofOneIn count: Int64, _ service: TestService) async throws {
        let change = try ProjectConfigChange(
            body: ["concord": ["ordinaryFactsOneIn": .integer(count)]],
            mask: "concord.ordinaryFactsOneIn"
        )
        _ = try await service.operations.updateProjectConfig(change, by: .owner).get()
    }

    private static func apply(_ proposal: PolicyProposal, _ service: TestService) async throws {
        let outcome = try await service.operations.store.apply(
            proposal,
            at: service.clock.now,
            by: Attribution(author: nil),
            expectedVersion: nil
        )
        switch outcome {
        case .applied, .inForce: try await service.operations.project.refresh()
        default: throw UnexpectedEnding("\(outcome)")
        }
    }

    @Test(arguments: cases)
    func `a prediction matches the result after the policy is applied`(_ example: Case) async throws {
        try await TestService.with { before in
            try await TestService.with { after in
                // The same accounts twice: one service keeps its policy, the other gets the proposed one.
                let users = try await Self.fill(before)
                _ = try await Self.fill(after)
                for service in [before, after] { try await Self.apply(example.present, service) }
                try await Self.storeFacts(ofOneIn: 1, before)
                let (present, simulation) = try await Self.simulation(before, example.proposed)
                let (all, result) = try await Self.predictions(before, simulation)
                #expect(result.accounts == Int64(Self.count))
                let predicted = Dictionary(grouping: all, by: \.user)
                try await Self.apply(example.proposed, after)
                #expect(after.operations.project.settings.policy.version == present.project.version)

                try await Self.compareAttempts(before, after, users, predicted, simulation)
                try await Self.compareMethods(before, after, users, predicted)
                #expect(try await before.database.inconsistencies() == [])
                #expect(try await after.database.inconsistencies() == [])
            }
        }
    }

    /// An unlinked identity signs in with each account's address.
    private static func compareAttempts(
        _ before: TestService,
        _ after: TestService,
        _ users: [UserID],
        _ predicted: [UserID: [Prediction]],
        _ simulation: PolicySimulation
    ) async throws {
        before.clock.advance(seconds: 3600)
        let since = before.clock.now
        var history: [String: Int64] = [:]
        var changed = 0
        for index in signedInCount..<count {
            let attempt = Attempt.all[(index - signedInCount) / kindCount]
            guard let address = try await before.user(users[index])?.email?.address.canonical,
                !identities(index).contains(where: { $0.provider == attempt.provider })
            else { continue }
            let credential = credential(
                attempt.provider,
                "stranger-\(index)",
                email: address,
                flagged: attempt.flagged,
                hosted: attempt.hosted
            )
            let was = try await ending(before, credential)
            let became = try await ending(after, credential)
            // Other refusals of strangers are not stored.
            let isKept = was.decision != nil || was.text == "refused (userDisabled)"
            if isKept, was.text != became.text { history["\(was.text) → \(became.text)", default: 0] += 1 }
            var found: Set<String> = []
            for case .signIns(_, let transitions) in predicted[users[index], default: []].map(\.cause) {
                for transition in transitions
                where transition.signIn.provider == attempt.provider
                    && transition.signIn.flag == VerifiedFlag(attempt.flagged)
                    && transition.signIn.isHosted == attempt.hosted
                {
                    found.insert("\(transition.before.text) → \(transition.after.text)")
                }
            }
            // The result after a second factor is predicted, but not tested here.
            if [was.text, became.text].contains(asks) { continue }
            let isReported = was.text != became.text && became.text != "refused (operationNotAllowed)"
            #expect(found == (isReported ? ["\(was.text) → \(became.text)"] : []), "account \(index), \(attempt)")
            if isReported { changed += 1 }
            for case .sharedAddress(_, let owner?) in predicted.values.joined().map(\.cause) where owner == users[index]
            {
                #expect(became.user != nil)
            }
        }
        // The history contains the attempts above.
        let recorded = try await simulation.history(
            RecordedDecisions(before.database.configuration, applicationName: "test", pageSize: 7),
            since: since,
            tenant: nil,
            report: { _ in }
        )
        var reported: [String: Int64] = [:]
        for (change, count) in recorded.changes where change.after != .asksSecondFactor {
            reported["\(change.before.text) → \(change.after.text)", default: 0] += count.questions
        }
        #expect(reported == history.filter { !$0.key.hasSuffix(asks) })
        let asked = recorded.changes.filter { $0.key.after == .asksSecondFactor }.values.reduce(0) { $0 + $1.questions }
        #expect(asked == history.filter { $0.key.hasSuffix(asks) }.values.reduce(0, +))
        #expect(recorded.unreadable == 0 && recorded.answeredOtherwiseNow == 0)
    }

    /// Every account tries each of its methods.
    private static func compareMethods(
        _ before: TestService,
        _ after: TestService,
        _ users: [UserID],
        _ predicted: [UserID: [Prediction]]
    ) async throws {
        let compared: Set<SimulatedEffect> = [
            .lockedOut, .methodLost, .methodGained, .letIn, .secondFactorAsked, .secondFactorSkipped, .wouldBeVerified,
        ]
        for index in 0..<signedInCount {
            let isUnproven = try await before.user(users[index])?.email.map { !$0.isVerified } ?? false
            let was = try await ways(before, index)
            let became = try await ways(after, index)
            var expected: Set<SimulatedEffect> = []
            if !was.working.isSubset(of: became.working) {
                expected.insert(became.working.isEmpty ? .lockedOut : .methodLost)
            }
            if !became.working.isSubset(of: was.working) {
                expected.insert(was.working.isEmpty ? .letIn : .methodGained)
            }
            // Without a working method, nothing is known about the second factor.
            if !became.working.isEmpty, !was.working.isEmpty, was.asks != became.asks {
                expected.insert(became.asks ? .secondFactorAsked : .secondFactorSkipped)
            }
            if isUnproven, became.isProven, !was.isProven { expected.insert(.wouldBeVerified) }
            let found = Set(predicted[users[index], default: []].map(\.effect)).intersection(compared)
            // The proof of a sign-in is known only if the sign-in completes.
            let hidden: Set<SimulatedEffect> = was.asks || became.asks ? [.wouldBeVerified] : []
            #expect(found.subtracting(hidden) == expected.subtracting(hidden), "account \(index)")
        }
    }

    /// The working methods; true if one requires a second factor; true if the address is proven then.
    private static func ways(
        _ service: TestService,
        _ index: Int
    ) async throws -> (working: Set<String>, asks: Bool, isProven: Bool) {
        var working: Set<String> = []
        var hasAsked = false
        var user: UserID?
        for (provider, email, flagged) in identities(index) {
            let credential = credential(provider, "own-\(index)", email: email, flagged: flagged)
            let ended = try await ending(service, credential)
            user = ended.user ?? user
            if ended.text == asks { hasAsked = true }
            if ended.text == asks || ended.text == "signs in" { working.insert(provider.rawValue) }
        }
        if hasPassword(index), let address = EmailAddress(address(index)) {
            let ended = try await outcome(
                await service.operations.signInWithPassword(
                    email: address,
                    password: TestService.password,
                    tenant: .project
                )
            )
            switch ended {
            case .success(.signedIn(let signedIn)):
                working.insert("password")
                user = signedIn.user.id
            case .success(.secondFactorRequired):
                working.insert("password")
                hasAsked = true
            case .denied(.refusal): break
            case .denied(let denial): throw UnexpectedEnding("\(denial)")
            }
        }
        let isProven = try await user.asyncMap { try await service.user($0)?.email?.isVerified ?? false } ?? false
        return (working, hasAsked, isProven)
    }

    // MARK: Addresses of several accounts

    @Test func `a shared address is reported, and a sign-in with it then finds its owner`() async throws {
        try await TestService.with { service in
            var config = ProviderConfig(provider: .google)
            config.isEnabled = true
            #expect(try await service.operations.addProviderConfig(config) == nil)
            config = ProviderConfig(provider: .gitHub)
            config.isEnabled = true
            #expect(try await service.operations.addProviderConfig(config) == nil)
            try await Self.apply(Self.proposal([Self.duplicates]), service)
            let owner = try await service.signUp("ada@gmail.com").user.id
            func come(_ provider: ProviderID, _ subject: String) async throws -> (text: String, user: UserID?) {
                let credential = Self.credential(provider, subject, email: "ada@gmail.com", flagged: true)
                let ended = try await Self.ending(service, credential)
                return (ended.text, ended.user)
            }
            let double = try #require(try await come(.gitHub, "1").user)
            #expect(double != owner)
            let proposal = Self.proposal([("signIn.allowDuplicateEmails", false)])
            let (_, simulation) = try await Self.simulation(service, proposal)
            let (all, result) = try await Self.predictions(service, simulation)
            let shared = all.filter { $0.effect == .addressShared }
            #expect(shared.map(\.user) == [double])
            #expect(shared.first?.cause == .sharedAddress("ada@gmail.com", owner: owner))
            #expect(result.effects[.addressShared] == 1)
            try await Self.apply(proposal, service)
            #expect(try await come(.gitHub, "2") == ("conflict", owner))
            #expect(try await come(.gitHub, "1") == ("signs in", double), "the identity still wins")
            #expect(try await come(.google, "3") == ("takes over", owner))
        }
    }

    // MARK: Reading

    private static func strict(_ service: TestService) async throws -> PolicySimulation {
        try await simulation(
            service,
            proposal([trust([["provider": "*", "trust": "untrusted"]])], [.gitHub: .off])
        ).simulation
    }

    @Test func `a simulation that was stopped anywhere continues there, and reports every effect once`() async throws {
        struct Stopped: Error {}
        try await TestService.with { service in
            _ = try await Self.fill(service)
            let simulation = try await Self.strict(service)
            let whole = try await Self.predictions(service, simulation)
            #expect(whole.all.count > 100)
            for stopAfter in [1, 7, 9, 12] {
                let reported = Mutex<[Prediction]>([])
                let reached = Mutex<(place: AccountSnapshots.Place?, reports: Int)>((nil, 0))
                let snapshots = AccountSnapshots(service.database.configuration, temporaryFolder: "/tmp")
                await #expect(throws: Stopped.self) {
                    _ = try await simulation.run(
                        snapshots,
                        tenant: nil,
                        at: service.clock.now,
                        onPrediction: { prediction in reported.withLock { $0.append(prediction) } },
                        report: { progress in
                            let isOver = reached.withLock { reached in
                                reached.place = progress.place
                                reached.reports += 1
                                return reached.reports == stopAfter
                            }
                            if isOver { throw Stopped() }
                        }
                    )
                }
                _ = try await simulation.run(
                    snapshots,
                    tenant: nil,
                    after: reached.withLock { $0.place },
                    at: service.clock.now,
                    onPrediction: { prediction in reported.withLock { $0.append(prediction) } },
                    report: { _ in }
                )
                #expect(reported.withLock { $0 } == whole.all, "stopped after \(stopAfter) reports")
            }
        }
    }

    @Test func `a simulation writes nothing, not even to the database's log`() async throws {
        try await TestDatabase.withServerOfItsOwn { database in
            try await database.withClient { client in
                let service = try await TestService.make(
                    database: database,
                    client: client,
                    settings: ProjectSettings.developmentDefaults
                )
                _ = try await Self.fill(service)
                let (_, simulation) = try await Self.simulation(service, Self.proposal([Self.duplicates]))
                let written = try await database.walWritten { () async throws in
                    let (all, _) = try await Self.predictions(service, simulation)
                    #expect(!all.isEmpty)
                    let history = try await simulation.history(
                        RecordedDecisions(database.configuration, applicationName: "test"),
                        since: Timestamp(secondsSinceEpoch: 0),
                        tenant: nil,
                        report: { _ in }
                    )
                    #expect(history.questions > 0)
                }
                #expect(written == 0)
                await service.operations.passwords.shutDown()
            }
        }
    }

    @Test func `only the requested period is replayed, and unreadable decisions are counted`() async throws {
        try await TestService.with { service in
            _ = try await service.signIn(service.credential(.gitHub, subject: "1", email: "a@example.com"))
            service.clock.advance(seconds: 3600)
            let since = service.clock.now
            _ = try await service.signIn(service.credential(.gitHub, subject: "2", email: "b@example.com"))
            try await service.database.execute(
                """
                INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule, policy_version, decisions)
                    SELECT tenant_id, user_id, gen_random_uuid(), occurred_at, kind, 'Z99', policy_version,
                        '[{"rule": "Z99", "facts": {"question": "from the future"}}]' FROM account_events
                    WHERE occurred_at >= to_timestamp(\(since.microsecondsSinceEpoch / 1_000_000))
                """
            )
            let decisions = RecordedDecisions(service.database.configuration, applicationName: "test", pageSize: 1)
            // Development accepts GitHub unregistered, also in simulations.
            let asItWas = try await Self.simulation(service, Self.nothing).simulation
                .history(decisions, since: since, tenant: nil, report: { _ in })
            #expect(asItWas.questions == 2 && asItWas.answeredOtherwiseNow == 0)
            var config = ProviderConfig(provider: .gitHub)
            config.clientID = "client"
            #expect(try await service.operations.addProviderConfig(config) == nil)
            let simulation = try await Self.simulation(service, Self.nothing).simulation
            let history = try await simulation.history(decisions, since: since, tenant: nil, report: { _ in })
            #expect(history.events == 2 && history.questions == 2 && history.unreadable == 1)
            // GitHub is registered and disabled.
            #expect(history.answeredOtherwiseNow == 1 && history.changes.isEmpty)
            let other = try await simulation.history(
                decisions,
                since: since,
                tenant: TenantID("other"),
                report: { _ in }
            )
            #expect(other.events == 0)
        }
    }

    @Test func `ordinary sign-ins without facts are counted, and a sample of them is repeated`() async throws {
        try await TestService.with { service in
            func history() async throws -> PolicySimulation.History {
                try await Self.simulation(service, Self.proposal([Self.duplicates])).simulation.history(
                    RecordedDecisions(service.database.configuration, applicationName: "test"),
                    since: Timestamp(secondsSinceEpoch: 0),
                    tenant: nil,
                    report: { _ in }
                )
            }
            _ = try await service.signUp("ada@example.com")
            for _ in 0..<3 { _ = try await service.signIn("ada@example.com").success() }
            let none = try await history()
            #expect(none.withoutFacts == 3 && none.questions == 1)
            try await Self.storeFacts(ofOneIn: 1, service)
            for _ in 0..<2 { _ = try await service.signIn("ada@example.com").success() }
            let some = try await history()
            #expect(some.withoutFacts == 3 && some.questions == 3)
            #expect(some.unreadable == 0 && some.answeredOtherwiseNow == 0)
        }
    }

    // MARK: Applying

    private static let someone = Attribution(author: "cli:ada@test")

    @Test func `when many proposals are applied to one version, one is applied, completely`() async throws {
        try await TestService.withTwo { first, second in
            var config = ProviderConfig(provider: .gitHub)
            config.isEnabled = true
            #expect(try await first.operations.addProviderConfig(config) == nil)
            let outcomes = try await first.race(with: second, count: 32) { service, caller in
                try await service.operations.store.apply(
                    Self.proposal(
                        [("concord.displayName", .string("caller \(caller)"))],
                        [.gitHub: caller.isMultiple(of: 2) ? .off : .removed]
                    ),
                    at: service.clock.now,
                    by: Attribution(author: "cli:\(caller)@test", reason: "caller \(caller)"),
                    expectedVersion: 1
                )
            }
            #expect(outcomes.count { $0 == .applied(version: 2) } == 1)
            #expect(outcomes.count { $0 == .otherVersion } == 31)
            let state = try #require(await PolicyState.load(first.operations.store))
            let name = try #require(state.project.settings[["concord", "displayName"]]?.string)
            let winner = try #require(Int(name.dropFirst("caller ".count)))
            #expect(state.providers.map(\.isEnabled) == (winner.isMultiple(of: 2) ? [false] : []))
            #expect(
                try await first.database.count("SELECT count(*) FROM project_config_versions") == 2,
                "each version is stored once"
            )
            let (author, after) = ("cli:\(winner)@test", winner.isMultiple(of: 2) ? "disabled" : "not registered")
            #expect(
                try await first.database.count(
                    """
                    SELECT count(*) FROM project_config_versions WHERE version = 2 AND author = \(author)
                    AND reason = settings #>> '{concord,displayName}'
                    AND provider_changes #>> '{github.com,after}' = \(after)
                    """
                ) == 1,
                "the version names its author"
            )
        }
    }

    /// Registrations change without a new version.
    @Test func `when many proposals expect the same registrations, one is applied`() async throws {
        try await TestService.withTwo { first, second in
            #expect(try await first.operations.addProviderConfig(ProviderConfig(provider: .gitHub)) == nil)
            let seen = try #require(await PolicyState.load(first.operations.store)).providers
            let outcomes = try await first.race(with: second, count: 32) { service, caller in
                try await service.operations.store.apply(
                    Self.proposal([("concord.displayName", .string("caller \(caller)"))], [.gitHub: .on]),
                    at: service.clock.now,
                    by: Attribution(author: "cli:\(caller)@test"),
                    expectedVersion: nil,
                    expectedProviders: seen
                )
            }
            #expect(outcomes.count { $0 == .applied(version: 2) } == 1)
            #expect(outcomes.count { $0 == .otherVersion } == 31)
            #expect(try await first.database.count("SELECT count(*) FROM project_config_versions") == 2)
        }
    }

    @Test func `concurrent changes of different settings all take effect`() async throws {
        try await TestService.withTwo { first, second in
            for provider in Self.providers where provider != Self.acme {
                #expect(try await first.operations.addProviderConfig(ProviderConfig(provider: provider)) == nil)
            }
            let limits = ProjectConfigField.all.filter { $0.name.hasPrefix("concord.mail.") }
            let outcomes = try await first.race(with: second, count: 24) { service, caller in
                let field = limits[caller % limits.count]
                let provider = Self.providers[caller % (Self.providers.count - 1)]
                return try await service.operations.store.apply(
                    Self.proposal([(field.name, 7)], [provider: .on]),
                    at: service.clock.now,
                    by: Attribution(author: "cli:\(caller)@test"),
                    expectedVersion: nil
                )
            }
            let versions = outcomes.map { outcome -> Int64 in
                switch outcome {
                case .applied(let version), .inForce(let version): version
                default: -1
                }
            }
            let state = try #require(await PolicyState.load(second.operations.store))
            #expect(versions.min() == 2 && versions.max() == state.project.version)
            #expect(state.providers.allSatisfy(\.isEnabled) && state.providers.count == Self.providers.count - 1)
            #expect(limits.allSatisfy { state.project.settings[$0.path] == 7 })
            #expect(
                try await first.database.count("SELECT count(*) FROM project_config_versions") == state.project.version
            )
        }
    }

    @Test func `a proposal with an unregistered provider or with a number of an account changes nothing`() async throws
    {
        try await TestService.with { service in
            #expect(try await service.operations.addProviderConfig(ProviderConfig(provider: .google)) == nil)
            let unregistered = Self.proposal(
                [("concord.displayName", "new")],
                [.google: .on, .gitHub: .on]
            )
            let store = service.operations.store
            let before = try await PolicyState.load(store)
            #expect(
                try await store.apply(unregistered, at: service.clock.now, by: Self.someone, expectedVersion: nil)
                    == .providerNotRegistered(.gitHub)
            )
            let refused = #expect(throws: UnregisteredProviders.self) { _ = try before?.after(unregistered).get() }
            #expect(refused?.all == [.gitHub])
            try await service.database.execute(
                """
                INSERT INTO users (user_id, session_epoch, phone_number, valid_since, created_at)
                    VALUES ('owner', 1, '+15550001111', now(), now());
                INSERT INTO identifiers (kind, value, user_id) VALUES ('phone', '+15550001111', 'owner')
                """
            )
            let fictional = Self.proposal(
                [("signIn.phoneNumber.testPhoneNumbers", ["+15550001111": "123456"])],
                [.google: .on]
            )
            let number = try #require(PhoneNumber("+15550001111"))
            #expect(
                try await store.apply(fictional, at: service.clock.now, by: Self.someone, expectedVersion: nil)
                    == .testPhoneNumberInUse(number)
            )
            let after = try await PolicyState.load(store)
            #expect(after?.project == before?.project && after?.providers == before?.providers)
            // A setting that already has the value is not changed.
            let idle = Self.proposal([], [.google: .off])
            #expect(
                try await store.apply(idle, at: service.clock.now, by: Self.someone, expectedVersion: 1)
                    == .inForce(version: 1)
            )
        }
    }
}

extension Optional {
    fileprivate func asyncMap<Result>(_ body: (Wrapped) async throws -> Result) async rethrows -> Result? {
        guard let self else { return nil }
        return try await body(self)
    }
}
