import AccountLinking
import AccountTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Every rule, refusal and conflict is reachable.
struct OutcomeCoverage {
    /// Decisions that are too small for an input space.
    private static let small: [(rule: Rule, refusal: Refusal?)] = {
        let account = Account.fixture("a")
        let disabled = Account.fixture("a", disabled: true)
        let now = Timestamp(secondsSinceEpoch: 1)
        let later = Timestamp(secondsSinceEpoch: 2)
        var all: [(rule: Rule, refusal: Refusal?)] = []

        for existing in [nil, account, disabled] {
            for isMergedAway in [false, true] {
                let verdict = SignInWithCustomTokenQuestion(
                    existing: existing,
                    isMergedAway: isMergedAway
                ).decide(LinkPolicy())
                all.append((verdict.rule, verdict.decision.refusal))
            }
        }
        all += MergeRows.all.map { ($0.verdict.rule, nil) }
        all += MergeRows.handOvers.map { ($0.rule, nil) } + MergeRows.undos.map { ($0.rule, nil) }
        all += UndoMergeByOwnerRows.all.map { (decideUndoMergeByOwner($0).rule, nil) }
        let keeping = LinkPolicy.policy { $0.allowsClientDeletion = false }
        for request in [RequestOrigin.administrator, .client(isSessionRecent: true), .client(isSessionRecent: false)] {
            for existing in [nil, account, disabled] {
                let verdict = decideDelete(policy: keeping, account: existing, request: request)
                all.append((verdict.rule, verdict.decision.refusal))
            }
        }
        for existing in [nil, account, disabled] {
            for (epoch, validSince) in [(7, nil), (6, nil), (7, later)] as [(Int64, Timestamp?)] {
                let access = decideAccess(
                    account: existing,
                    tokenEpoch: epoch,
                    tokenIssuedAt: now,
                    validSince: validSince,
                    session: .gone,
                    lifetimes: .unlimited,
                    now: now
                )
                let refresh = decideRefresh(
                    account: existing,
                    sessionEpoch: epoch,
                    sessionStartedAt: now,
                    validSince: validSince,
                    times: nil,
                    lifetimes: .unlimited,
                    now: now
                )
                all += [(access.rule, access.decision.refusal), (refresh.rule, refresh.decision.refusal)]
            }
        }
        let times = SessionTimes(startedAt: now, lastUsedAt: now)
        for lifetimes in [
            SessionLifetimes.unlimited, SessionLifetimes(inactivitySeconds: 0), SessionLifetimes(absoluteSeconds: 0),
        ] {
            let access = decideAccess(
                account: account,
                tokenEpoch: 7,
                tokenIssuedAt: now,
                validSince: nil,
                session: .found(times),
                lifetimes: lifetimes,
                now: now
            )
            all.append((access.rule, access.decision.refusal))
        }
        all += [true, false].map { (decideEndSessions(.one, of: account, areThere: $0).rule, nil) }
        let open = ConflictFacts(state: .open, expiresAt: later, tenant: .project, account: account.id)
        var closed = open
        closed.state = .resolved
        var expired = open
        expired.expiresAt = now
        var foreign = open
        foreign.tenant = TenantID("other")
        var other = open
        other.account = user("b")
        for facts in [nil, open, closed, expired, foreign, other] {
            for isOfRegisteredIssuer in [true, false] {
                let verdict = decidePendingCredential(
                    conflict: facts,
                    handleTenant: .project,
                    target: account.id,
                    isOfRegisteredIssuer: isOfRegisteredIssuer,
                    now: now
                )
                all.append((verdict.rule, nil))
            }
        }
        for isRegionAllowed in [true, false] {
            let verdict = decideSendPhoneCode(policy: LinkPolicy(), owner: nil, isRegionAllowed: isRegionAllowed)
            all.append((verdict.rule, verdict.decision))
        }
        all += ConflictCase.rules.map { ($0, nil) }
        all += MailedCodeRows.rules.map { ($0, nil) }
        all += LookUpRows.rules.map { ($0, nil) }
        all += RightDoorRows.rules.map { ($0, nil) }
        all += SessionCodeRows.rules.map { ($0, nil) }
        all += PendingSignUpRows.rules.map { ($0, nil) }
        let given = decideDiscardQuarantined(.phone, account: account, isQuarantined: true, isSessionRecent: true)
        all.append((given.rule, given.decision))
        all += SecondFactorCase.all.map { ($0.verdict.rule, $0.verdict.decision.refusal) }
        all += RevertCase.all.map { ($0.verdict.rule, $0.verdict.decision.refusal) }
        for isRegionAllowed in [true, false] {
            let verdict = decideSendFactorCode(isRegionAllowed: isRegionAllowed)
            all.append((verdict.rule, verdict.decision))
        }
        for existing in [nil, account, disabled] {
            let verdict = decideContinueSignIn(account: existing, sessionEpoch: 7, isOriginGone: false)
            all.append((verdict.rule, verdict.decision))
        }
        for taken in 0..<4 {
            let verdict = decideCreateByAdmin(
                request: NewAccount(),
                isIDTaken: taken == 1,
                isPhoneNumberTaken: taken == 2,
                isEmailTaken: taken == 3
            )
            all.append((verdict.rule, verdict.decision.refusal))
        }
        all += ImportRows.all.map { ($0.verdict.rule, nil) }
        all += RepairRows.all.map { ($0.verdict.rule, nil) }
        all += [true, false].map { (decideUndoRepair(hasClash: $0).rule, nil) }
        let neighbour = Account.fixture("o")
        for (account, phoneOwner, identityOwner) in [
            (nil, nil, nil), (account, neighbour, nil), (account, nil, neighbour),
        ] as [(Account?, Account?, Account?)] {
            let verdict = UpdateByAdminQuestion(
                account: account,
                update: AdminUpdate(),
                emailOwner: nil,
                phoneOwner: phoneOwner,
                identityOwner: identityOwner
            ).decide(LinkPolicy())
            all.append((verdict.rule, verdict.decision.refusal))
        }
        for account in [account, disabled] {
            for name in [nil, "Ann"] {
                let verdict = decideEditProfile(
                    account: account,
                    current: Profile(),
                    edited: Profile(displayName: name)
                )
                all.append((verdict.rule, verdict.decision.refusal))
            }
        }
        return all
    }()

    static let signIns: [Verdict<SignInDecision>] =
        SignInWithIdpCase.verdicts + LinkWithIdpCase.verdicts + EmailLinkCase.verdicts + PhoneCase.verdicts
        + SignUpCase.verdicts + PasswordCase.verdicts

    @Test func `every rule decides something`() {
        let seen = Set(Self.signIns.map(\.rule)).union(UpdateCase.all.map(\.verdict.rule))
            .union(Self.small.map(\.rule))
        #expect(Set(Rule.allCases).subtracting(seen) == [])
    }

    @Test func `every refusal occurs`() {
        let seen = Set(Self.signIns.compactMap(\.decision.refusal))
            .union(UpdateCase.all.compactMap(\.verdict.decision.refusal))
            .union(Self.small.compactMap(\.refusal))
        #expect(Set(Refusal.allCases).subtracting(seen) == [])
    }

    @Test func `every conflict occurs`() {
        var kinds: Set<String> = []
        for verdict in Self.signIns {
            guard case .conflict(let conflict) = verdict.decision else { continue }
            switch conflict {
            case .accountExistsWithDifferentCredential: kinds.insert("account exists")
            case .credentialAlreadyInUse: kinds.insert("credential in use")
            case .emailAlreadyInUse: kinds.insert("e-mail in use")
            case .unprovenAddress: kinds.insert("unproven address")
            case .firstSignIn: kinds.insert("first sign-in")
            }
        }
        #expect(
            kinds == ["account exists", "credential in use", "e-mail in use", "unproven address", "first sign-in"]
        )
    }

    /// The document names the first and the last rule of each table.
    @Test func `the decision tables in the docs equal the rules of the program, each in one table`() throws {
        let path = "docs/reference/decisions.md"
        let document = try String(contentsOfFile: "\(Repository.root)/\(path)", encoding: .utf8)
        var shown: [Rule] = []
        for table in document.matches(of: #/<!-- begin: (rules (\w+) to (\w+)) -->/#) {
            let first = try #require(Rule.allCases.firstIndex { $0.name == table.2 }, "no rule \(table.2)")
            let last = try #require(Rule.allCases.firstIndex { $0.name == table.3 }, "no rule \(table.3)")
            let rules = Rule.allCases[first...last]
            let rows = rules.map { "| `\($0.name)` | \($0.rawValue) | \($0.text.condition) | \($0.text.outcome) |" }
            try DocumentTable.expect(
                (["| Rule | Code | When | Then |", "|---|---|---|---|"] + rows).joined(separator: "\n"),
                as: String(table.1),
                in: path
            )
            shown += rules
        }
        #expect(shown.map(\.name).sorted() == Rule.allCases.map(\.name).sorted())
    }

    @Test func `sentences spell the letters of the decision tables out`() {
        #expect(
            Rule.linkByProvenEmail.text.sentence
                == "the owner of the address is signed in; the identity is linked and fills blanks in the profile "
                + "(the owner of the address exists)"
        )
        for rule in Rule.allCases {
            let words = rule.text.sentence.split { !$0.isLetter && !$0.isNumber }
            #expect(!words.contains { ["F", "M", "N", "O", "T"].contains($0) }, "\(rule): \(rule.text.sentence)")
        }
    }
}

extension SignInDecision {
    fileprivate var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}

extension UpdateDecision {
    fileprivate var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}

extension CreationDecision {
    fileprivate var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}

extension DeletionDecision {
    fileprivate var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}

extension AccessDecision {
    fileprivate var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}
