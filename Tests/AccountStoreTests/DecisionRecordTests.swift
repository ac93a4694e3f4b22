import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Stored decisions: replaying one gives the same answer, and it contains pseudonyms only.
@Suite(.store) struct DecisionRecordTests {
    @Test func `replaying 10,000 stored decisions gives the stored answers`() async throws {
        let scene = try StoreScene.shared
        var chance = Chance(seed: 20_261_121)
        let user = userID("asked-\(nextNumber())")
        var rules: Set<Rule> = []
        for batch in 0..<100 {
            var decisions: [DecisionRecord] = []
            for _ in 0..<100 {
                let policy = chance.policy(version: Int64(batch + 1))
                let question = chance.question()
                let record = DecisionRecord(question, under: policy)
                #expect(record.rule == question.rule(policy), "pseudonyms change the answer: \(question)")
                rules.insert(record.rule)
                decisions.append(record)
            }
            let event = AccountEvent(
                id: PostgresUUID(high: UInt64(batch), low: UInt64(nextNumber())),
                occurredAt: origin,
                kind: .signedIn,
                rule: .signInByIdentity,
                decisions: decisions
            )
            try await scene.store.keep(event, of: user, tenant: .project)
        }

        var stored: [DecisionRecord] = []
        var before: AccountEvent.ID?
        while true {
            let events = try await scene.store.events(of: user, tenant: .project, before: before, countMax: 7)
            guard let last = events.last else { break }
            stored += events.flatMap(\.records)
            before = last.id
        }
        #expect(stored.count == 10_000)
        for decision in stored {
            let (rule, answer) = decision.replayed
            #expect(rule == decision.rule && answer == decision.answer, "\(decision)")
        }
        // Rules of sign-ins, links, unlinks and settled conflicts, as many as this sample reaches.
        #expect(rules.count > 70, "\(rules.map(\.rawValue).sorted())")
    }

    @Test func `a stored decision reads back unchanged and contains no personal data`() throws {
        var chance = Chance(seed: 7)
        for _ in 0..<2000 {
            let policy = chance.policy(version: 3)
            let record = DecisionRecord(chance.question(), under: policy)
            var writer = JSONWriter()
            record.write(to: &writer)
            let text = writer.text
            for secret in Chance.secrets {
                #expect(!text.contains(secret), "\(text) contains \(secret)")
            }
            let read = try #require(DecisionRecord(stored: JSONValue(parsing: writer.bytes), policyVersion: 3))
            #expect(
                AnyHashable(read.question) == AnyHashable(record.question) && read.rule == record.rule
                    && read.answer == record.answer
            )
            #expect(Set(read.alternatives) == Set(record.alternatives))
            #expect(read.policy == record.policy)
        }
    }

    @Test func `no alternative names the rule that matched`() {
        var chance = Chance(seed: 11)
        var facts: Set<DecidingFact> = []
        for _ in 0..<5000 {
            let record = DecisionRecord(chance.question(), under: chance.policy(version: 1))
            #expect(record.alternatives.allSatisfy { $0.rule != record.rule })
            facts.formUnion(record.alternatives.map(\.fact))
        }
        #expect(facts == Set(DecidingFact.allCases))
    }

    @Test func `the alternatives of a conflict name the facts that would have linked or signed in`() throws {
        let owner = Account.of("o", email: address("o@example.com"), proof: .emailCode)
        let credential = IncomingCredential.of(identity(.gitHub, "1"), address("o@example.com"))
        let question = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: owner,
            credential: credential,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        )
        let record = DecisionRecord(question, under: LinkPolicy())
        #expect(record.rule == .untrustedEmailConflict)
        #expect(record.alternatives.contains(Alternative(fact: .emailTrusted, rule: .linkByProvenEmail)))
        #expect(record.alternatives.contains(Alternative(fact: .identityLinked, rule: .signInByIdentity)))
        #expect(record.alternatives.contains(Alternative(fact: .emailTaken, rule: .signUpWithEmail)))
    }

    @Test func `an address with the longest possible domain is stored without its local part`() throws {
        let label = String(repeating: "d", count: 61)
        let long = try #require(EmailAddress("z@\(label).\(label).\(label).\(label).ddddd"))
        #expect(long.canonical.utf8.count == 255)
        let record = DecisionRecord(ResetPasswordQuestion(account: nil, address: long), under: LinkPolicy())
        var writer = JSONWriter()
        record.write(to: &writer)
        #expect(!writer.text.contains("z@"))
    }

    @Test func `a sign-in stored before sign-ins had waiting credentials is read as one without`() throws {
        let question = SignInWithPasswordQuestion(
            owner: .of("o", email: nil, proof: nil),
            isLocked: false,
            passwordMatches: false,
            secondFactorProvenBy: nil
        )
        var writer = JSONWriter()
        DecisionRecord(question, under: LinkPolicy()).write(to: &writer)
        #expect(!writer.text.lowercased().contains("waiting"))
        let read = try #require(DecisionRecord(stored: JSONValue(parsing: writer.bytes), policyVersion: 1))
        #expect(AnyHashable(read.question) == AnyHashable(question))
    }

    @Test func `a decision that this version cannot parse is rejected`() throws {
        var writer = JSONWriter()
        DecisionRecord(SignInWithCustomTokenQuestion(existing: nil, isMergedAway: false), under: LinkPolicy())
            .write(to: &writer)
        let good = try JSONValue(parsing: writer.bytes)
        #expect(DecisionRecord(stored: good, policyVersion: 1) != nil)
        // Decisions stored before sign-in by phone existed read as if it were off.
        let policy = try #require(good["policy"]?.object)
        var members = try #require(good.object)
        members["policy"] = .object(policy.filter { $0.key != "phoneSignIn" })
        let old = try #require(DecisionRecord(stored: .object(members), policyVersion: 1))
        #expect(!old.policy.allowsPhoneSignIn)
        members["policy"] = .object(policy.filter { $0.key != "passwordSignIn" })
        #expect(DecisionRecord(stored: .object(members), policyVersion: 1) == nil)
        for name in ["facts", "rule", "answer", "policy"] {
            var members = try #require(good.object)
            members[name] = .string("of tomorrow")
            if name == "answer" { members[name] = nil }
            #expect(DecisionRecord(stored: .object(members), policyVersion: 1) == nil, "\(name)")
        }
    }
}

extension Account {
    fileprivate static func of(_ id: String, email: EmailAddress?, proof: EmailProof?) -> Account {
        Account(
            id: userID(id),
            version: 1,
            sessionEpoch: 4,
            email: email.map { AccountEmail(address: $0, proof: proof) }
        )
    }
}

extension IncomingCredential {
    fileprivate static func of(_ identity: ProviderIdentity, _ email: EmailAddress?) -> Self {
        IncomingCredential(
            identity: identity,
            issuer: nil,
            email: email.map { .present($0, flag: .isTrue, hostedDomain: nil) } ?? .absent,
            profile: Profile(displayName: "Ann Example")
        )
    }
}

/// Random questions and policies; the same seed gives the same ones.
private struct Chance {
    private var state: UInt64

    private static let work = ProviderID("oidc.work") ?? .google
    private static let issuers = [nil, "https://id.example", "https://accounts.google.com"]

    /// Texts that no stored decision may contain.
    static let secrets = ["ann", "bob", "Ann", "+4412", "subject-"]

    init(seed: UInt64) {
        state = seed
    }

    /// SplitMix64.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    private mutating func pick<Element>(_ options: [Element]) -> Element {
        options[Int(next() % UInt64(options.count))]
    }

    private mutating func isLucky(oneIn chances: UInt64 = 2) -> Bool { next() % chances == 0 }

    private mutating func perhaps<Value>(_ value: (inout Chance) -> Value) -> Value? {
        isLucky() ? value(&self) : nil
    }

    private mutating func email() -> EmailAddress {
        address(pick(["ann@example.com", "ann@gmail.com", "bob@example.com", "Ann@bücher.example"]))
    }

    private mutating func proof() -> EmailProof? {
        pick([nil, .emailCode, .emailLink, .passwordReset, .provider(.google), .provider(.apple), .administrator])
    }

    private mutating func account(_ id: String) -> Account {
        var account = Account.of(id, email: perhaps { $0.email() }, proof: proof())
        account.version = Int64(next() % 9)
        account.isDisabled = isLucky(oneIn: 8)
        account.hasInitialEmail = isLucky()
        account.hasPassword = isLucky()
        account.hasEmailLink = isLucky()
        account.phoneNumber = perhaps { _ in PhoneNumber("+441234567890") }.flatMap(\.self)
        for provider in [ProviderID.google, .gitHub, .facebook] where isLucky(oneIn: 3) {
            account.linkedProviders[provider] = "subject-\(pick([1, 2]))"
        }
        if isLucky(oneIn: 4) {
            let rows = account.linkedProviders.map { (identity: identity($0.key, $0.value), issuer: String?.none) }
            let work = identity(Self.work, "subject-\(pick([1, 2]))")
            account.linkedProviders = LinkedSubjects(rows + [(work, pick(Self.issuers))])
        }
        account.hasSecondFactor = isLucky(oneIn: 6)
        account.usesCustomTokens = isLucky()
        return account
    }

    private mutating func credential() -> IncomingCredential {
        let provider = pick([ProviderID.google, .gitHub, .facebook, .apple, .playGames, Self.work])
        var credential = IncomingCredential.of(
            identity(provider, "subject-\(pick([1, 2]))"),
            perhaps { $0.email() }
        )
        credential.issuer = pick(Self.issuers)
        if case .present(let address, _, _) = credential.email {
            credential.email = .present(
                address,
                flag: isLucky() ? .isTrue : isLucky() ? .isFalse : .absent,
                hostedDomain: pick([nil, "example.com"])
            )
        }
        return credential
    }

    private mutating func prover() -> UserID? { pick([nil, nil, userID("F"), userID("T")]) }

    mutating func policy(version: Int64) -> LinkPolicy {
        var policy = LinkPolicy()
        policy.version = version
        policy.isOneAccountPerEmail = !isLucky(oneIn: 4)
        policy.protectsEmailEnumeration = isLucky()
        policy.allowsPasswordSignIn = !isLucky(oneIn: 8)
        policy.allowsEmailLinkSignIn = !isLucky(oneIn: 8)
        policy.allowsPhoneSignIn = !isLucky(oneIn: 8)
        policy.allowsAnonymousSignUp = isLucky()
        policy.allowsClientSignUp = !isLucky(oneIn: 4)
        policy.requiresEnrolledSecondFactors = isLucky(oneIn: 3)
        policy.passwordResetUnlinksProviders = isLucky()
        policy.firstProofEndsSessions = isLucky()
        policy.keepsLastSignInMethod = isLucky()
        policy.emailTrust = pick([
            .declared, .asserted, .declared.adding([.init(.init(.only(.gitHub)), .authoritative)]),
        ])
        policy.registeredIssuers = pick([[:], [Self.work: "https://accounts.google.com"]])
        policy.conflictProofRules = pick([[], [.init(.init(provider: .gitHub), [.session])], [.init(.init(), [])]])
        return policy
    }

    private mutating func reservation() -> AddressReservation? {
        guard isLucky(oneIn: 4) else { return nil }
        return AddressReservation(address: email(), account: userID(pick(["R", "T"])), wasProven: isLucky())
    }

    mutating func question() -> any Question {
        switch next() % 10 {
        case 0, 1:
            return SignInWithIdpQuestion(
                identityOwner: perhaps { $0.account("F") },
                emailOwner: perhaps { $0.account("M") },
                credential: credential(),
                isProviderEnabled: !isLucky(oneIn: 8),
                createsUsers: !isLucky(oneIn: 6),
                asksFirst: isLucky(oneIn: 6),
                secondFactorProvenBy: prover(),
                reservation: reservation(),
                waiting: perhaps { $0.waiting(for: "F") }
            )
        case 2:
            return LinkWithIdpQuestion(
                target: account("T"),
                identityOwner: perhaps { $0.account("F") },
                emailOwner: perhaps { $0.account("M") },
                credential: credential(),
                isProviderEnabled: !isLucky(oneIn: 8),
                secondFactorProvenBy: prover(),
                isSessionRecent: isLucky(),
                settlesConflict: isLucky(oneIn: 3),
                reservation: reservation()
            )
        case 3:
            return SignInWithEmailLinkQuestion(
                email: email(),
                owner: perhaps { $0.account($0.pick(["M", "T"])) },
                target: perhaps { $0.account("T") },
                isSessionRecent: isLucky(),
                secondFactorProvenBy: prover(),
                reservation: reservation(),
                waiting: perhaps { $0.waiting(for: $0.pick(["M", "T"])) }
            )
        case 4:
            if isLucky() {
                return SignInWithPhoneQuestion(
                    number: pick([PhoneNumber("+441234567890"), PhoneNumber("+441234567891")].compactMap(\.self)),
                    owner: perhaps { $0.account($0.pick(["M", "T"])) },
                    target: perhaps { $0.account("T") },
                    operation: pick(PhoneOperation.allCases),
                    proof: pick(PhoneProof.allCases),
                    isSessionRecent: isLucky(),
                    waiting: perhaps { $0.waiting(for: $0.pick(["M", "T"])) }
                )
            }
            return SignInWithPasswordQuestion(
                owner: perhaps { $0.account("M") },
                isLocked: isLucky(oneIn: 4),
                passwordMatches: isLucky(),
                secondFactorProvenBy: prover(),
                waiting: perhaps { $0.waiting(for: "M") }
            )
        case 5:
            let name = pick([nil, "Ann Example"])
            switch next() % 4 {
            case 0: return SignUpAnonymouslyQuestion(displayName: name)
            case 3:
                if isLucky(oneIn: 3) {
                    return LinkConfirmedQuestion(
                        email: email(),
                        emailOwner: perhaps { $0.account("M") },
                        credential: perhaps { $0.credential() }
                    )
                }
                return CompleteSignUpQuestion(
                    email: email(),
                    emailOwner: perhaps { $0.account("M") },
                    credential: perhaps { $0.credential() },
                    identityOwner: perhaps { $0.account("F") },
                    isProviderEnabled: !isLucky(oneIn: 4),
                    displayName: name,
                    reservation: reservation()
                )
            case 1:
                return SignUpQuestion(
                    email: email(),
                    emailOwner: perhaps { $0.account("M") },
                    displayName: name,
                    reservation: reservation()
                )
            default:
                return LinkPasswordQuestion(
                    email: email(),
                    target: account("T"),
                    isSessionRecent: !isLucky(oneIn: 4),
                    emailOwner: perhaps { $0.account($0.pick(["M", "T"])) },
                    displayName: name,
                    reservation: reservation()
                )
            }
        case 6:
            if isLucky(oneIn: 3) {
                return RestorePasswordQuestion(
                    account: account("T"),
                    isQuarantined: !isLucky(oneIn: 4),
                    isSessionRecent: !isLucky(oneIn: 4),
                    isLocked: isLucky(oneIn: 4),
                    passwordMatches: isLucky()
                )
            }
            if isLucky() {
                return SignInWithCustomTokenQuestion(existing: perhaps { $0.account("T") }, isMergedAway: isLucky())
            }
            if isLucky() { return ResetPasswordQuestion(account: perhaps { $0.account("T") }, address: email()) }
            return VerifyEmailQuestion(
                account: perhaps { $0.account("T") },
                address: email(),
                answer: pick(ProvingSession.allCases.map(VerifyEmailAnswer.confirm) + [.disown])
            )
        case 7:
            let removal = Removal(
                providers: Set([ProviderID.google, .password, .phone].filter { _ in isLucky() }),
                email: isLucky(oneIn: 3),
                password: isLucky(oneIn: 3),
                emailLink: isLucky(oneIn: 3)
            )
            let enabled = Set([ProviderID.google, .gitHub].filter { _ in isLucky() })
            if isLucky() {
                return RemoveMethodQuestion(
                    account: account("T"),
                    enabledProviders: enabled,
                    method: pick([.password, .emailLink, .phone, .provider(.google)]),
                    isSessionRecent: isLucky()
                )
            }
            return UnlinkQuestion(
                account: account("T"),
                enabledProviders: enabled,
                removal: removal,
                request: isLucky(oneIn: 4) ? .administrator : .client(isSessionRecent: isLucky())
            )
        case 8:
            let update = AdminUpdate(
                email: perhaps { $0.email() },
                isEmailVerified: pick([nil, true, false]),
                setsPassword: isLucky(),
                phoneNumber: pick([nil, PhoneNumber("+441234567891")]),
                isDisabled: pick([nil, true, false]),
                identity: pick([nil, identity(.google, "subject-3")]),
                revokesSessions: isLucky(oneIn: 3)
            )
            return UpdateByAdminQuestion(
                account: perhaps { $0.account("T") },
                update: update,
                emailOwner: isLucky(oneIn: 4) ? account("M") : nil,
                phoneOwner: isLucky(oneIn: 4) ? account("N") : nil,
                identityOwner: isLucky(oneIn: 4) ? account("F") : nil
            )
        default:
            return resolution()
        }
    }

    private mutating func waiting(for account: String) -> WaitingCredential {
        WaitingCredential(
            conflict: resolution(of: self.account(account)).conflict
                ?? ConflictFacts(state: .open, expiresAt: origin, tenant: .project, account: userID(account)),
            kind: pick([.accountExistsWithDifferentCredential, .emailAlreadyInUse]),
            isPresented: isLucky(),
            credential: credential(),
            isProviderEnabled: !isLucky(oneIn: 8),
            identityOwner: isLucky(oneIn: 6) ? self.account("F") : nil,
            emailOwner: perhaps { $0.account($0.pick([account, "M"])) },
            reservation: reservation(),
            secondFactorProvenBy: prover(),
            tenant: .project,
            now: origin
        )
    }

    private mutating func resolution(of target: Account? = nil) -> ResolveConflictQuestion {
        let target = target ?? account("T")
        let kind = pick(ConflictProofKind.allCases)
        let version = Int64(1 + next() % 100)
        let proof = ConflictProofFacts(
            binding: ProofBinding(kind, of: target, policyVersion: version),
            attempts: Int(next() % 6),
            expiresAt: origin.adding(seconds: pick([-1, 60]))
        )
        let conflict = ConflictFacts(
            state: pick([.proven, .proven, .proven, .open, .resolved]),
            expiresAt: origin.adding(seconds: isLucky(oneIn: 8) ? -1 : 600),
            tenant: .project,
            account: target.id,
            proof: isLucky(oneIn: 8) ? nil : proof
        )
        return ResolveConflictQuestion(
            conflict: conflict,
            handleTenant: isLucky(oneIn: 8) ? TenantID("other") : .project,
            isProver: !isLucky(oneIn: 4),
            target: isLucky(oneIn: 8) ? nil : target,
            identityOwner: pick([nil, nil, target.id, userID("F")]),
            emailOwner: pick([nil, target.id, userID("F")]),
            credential: credential(),
            isProviderEnabled: !isLucky(oneIn: 8),
            now: origin,
            reservation: reservation()
        )
    }
}
