import AccountLinking
import AccountTestSupport
import Testing

/// Rules O: repairs of an audit's plan, over their whole input.
struct RepairRows {
    struct Case: Sendable {
        var repair: Repair
        var account: Account?
        var plannedVersion: Int64?
        var owner: UserID?
        var policy: LinkPolicy
        var enabled: Set<ProviderID>

        var verdict: Verdict<RepairDecision> {
            decideRepair(
                repair,
                of: account,
                plannedVersion: plannedVersion,
                owner: owner,
                policy: policy,
                enabledProviders: enabled,
                now: RepairRows.now
            )
        }
    }

    static let now = Timestamp(secondsSinceEpoch: 1000)

    static let repairs: [Repair] = {
        let cutoff = now
        var repairs: [Repair] = [
            .claim(.email), .claim(.phone), .claim(.federated(.google)), .release(kind: "email", key: "a@b.cd"),
            .release(kind: "phone", key: annsNumber.rawValue),
            .unproveAddress, .endSessions, .forgetNumber, .deleteOverdue(.conflicts, endedBefore: cutoff),
            .deleteOverdue(.sessions, endedBefore: cutoff),
        ]
        repairs += Repair.OrphanTable.allCases.map { .deleteRecords($0) }
        for method in [.password, .emailLink, .phone, .provider(.google)] as [SignInMethod] {
            repairs += [
                .forgetMethod(method), .recordMethod(method), .suspend(method, endsSessions: true),
                .suspend(method, endsSessions: false),
            ]
        }
        for kind in EmailCodeRecord.Kind.allCases {
            repairs += [.voidCodes(kind, madeBefore: cutoff), .deleteOverdue(.codes(kind), endedBefore: cutoff)]
        }
        return repairs
    }()

    static let all: [Case] = {
        var choices = Choices()
        var all: [Case] = []
        while choices.next() {
            let repair = choices.choose(from: repairs)
            var account: Account?
            if choices.chooseBool() {
                account = .fixture(
                    "a",
                    email: choices.chooseBool() ? ann : nil,
                    proof: .emailCode,
                    password: choices.chooseBool(),
                    emailLink: choices.chooseBool(),
                    phone: choices.chooseBool(),
                    providers: choices.chooseBool() ? [.google: "g"] : [:],
                    disabled: choices.chooseBool()
                )
            }
            var policy = LinkPolicy()
            policy.allowsPasswordSignIn = choices.chooseBool()
            all.append(
                Case(
                    repair: repair,
                    account: account,
                    plannedVersion: choices.choose(from: [nil, 1, 2]),
                    owner: choices.choose(from: [nil, user("b")]),
                    policy: policy,
                    enabled: choices.chooseBool() ? [.google] : []
                )
            )
        }
        return all
    }()

    @Test func `O1 and O2: a repair of an account needs the account, a repair of orphaned rows needs none`() {
        for point in Self.all {
            guard case .apply = point.verdict.decision else { continue }
            #expect((point.account == nil) == (point.plannedVersion == nil))
            if point.repair.needsNoAccount { #expect(point.account == nil) }
            if point.account == nil {
                switch point.repair {
                case .release, .deleteRecords: break
                default: Issue.record("\(point.repair) was applied without an account")
                }
            }
        }
    }

    @Test func `O3: an account that has changed since the plan is not repaired`() {
        for point in Self.all {
            guard let account = point.account, let planned = point.plannedVersion, account.version != planned else {
                continue
            }
            #expect(point.verdict == Verdict(.repairAccountChanged, .skip(.accountChanged)))
        }
    }

    @Test func `O4: a claim takes nothing from its owner`() {
        for point in Self.all {
            guard case .claim(let claimed) = point.repair, case .apply = point.verdict.decision else { continue }
            #expect(point.owner == nil && point.account?.identifier(claimed) != nil)
        }
    }

    @Test func `O4: a method that is gone is not suspended`() {
        for point in Self.all {
            guard case .suspend(let method, _) = point.repair, case .apply(let change) = point.verdict.decision,
                let account = point.account
            else { continue }
            let methods =
                account.signInMethods + (account.hasPassword ? [.password] : [])
                + (account.hasEmailLink ? [.emailLink] : [])
            #expect(methods.contains(method) && account.applying(change) != account)
        }
    }

    @Test func `O4: an edited plan damages no healthy account`() {
        for point in Self.all {
            guard case .apply = point.verdict.decision, let account = point.account else { continue }
            switch point.repair {
            case .release(let kind, let key):
                #expect(!account.identifiers.contains { $0.kind == kind && $0.value == key })
            case .forgetMethod(let method): #expect(!account.signInMethods.contains(method))
            case .unproveAddress: #expect(account.isEmailVerified)
            default: break
            }
        }
        let account = Account.fixture("a", email: ann)
        for future in [
            Repair.deleteOverdue(.conflicts, endedBefore: Self.now.adding(seconds: 1)),
            .voidCodes(.verifyEmail, madeBefore: Self.now.adding(seconds: 1)),
        ] {
            let verdict = decideRepair(
                future,
                of: account,
                plannedVersion: 1,
                owner: nil,
                policy: LinkPolicy(),
                enabledProviders: [],
                now: Self.now
            )
            #expect(
                verdict == Verdict(.repairNotApplicable, .skip(.nothingToRepair)),
                "records that have not expired stay"
            )
        }
    }

    @Test func `O5: a user who could sign in still can, by a method that works`() {
        for point in Self.all {
            guard case .apply(let change) = point.verdict.decision, change.quarantinesRemovals,
                var account = point.account?.applying(change)
            else { continue }
            account.isDisabled = false
            #expect(!workingMethods(of: account, policy: point.policy, enabledProviders: point.enabled).isEmpty)
        }
    }

    @Test func `O6: a repair adds no sign-in method, proves nothing and enables no account`() {
        for point in Self.all {
            guard case .apply(let change) = point.verdict.decision, let account = point.account else { continue }
            let left = account.applying(change)
            #expect(Set(left.signInMethods).isSubset(of: account.signInMethods))
            #expect(!left.isEmailVerified || account.isEmailVerified)
            #expect(left.isDisabled == account.isDisabled && left.email?.address == account.email?.address)
        }
    }

    @Test func `O7 and O8: an undo keeps later changes`() {
        #expect(decideUndoRepair(hasClash: true) == Verdict(.repairUndoClashes, false))
        #expect(decideUndoRepair(hasClash: false) == Verdict(.repairUndone, true))
    }

    @Test func `each repair has its own description`() {
        let words = Self.repairs.map(\.words)
        #expect(words.allSatisfy { !$0.isEmpty && $0.first?.isLowercase == true && !$0.hasSuffix(".") })
        // Repairs that differ only in a time or a key have the same description.
        #expect(Set(words).count == words.count)
    }

    @Test func `a record is repaired as its facts are`() {
        for point in Self.all {
            guard case .apply(let change) = point.verdict.decision, let account = point.account else { continue }
            var record = UserRecord(
                tenant: .project,
                id: account.id,
                sessionEpoch: account.sessionEpoch,
                createdAt: Timestamp(secondsSinceEpoch: 1)
            )
            record.email = account.email
            record.isDisabled = account.isDisabled
            record.phoneNumber = account.phoneNumber
            record.passwordUpdatedAt = account.hasPassword ? record.createdAt : nil
            if account.hasEmailLink {
                record.methodProofs[.emailLink] = .init(proof: .message, provenAt: record.createdAt)
            }
            for (provider, subject) in account.linkedProviders {
                record.linkedProviders[provider] = .init(
                    identity: identity(provider, subject),
                    issuer: nil,
                    email: nil,
                    displayName: nil,
                    photoURL: nil,
                    screenName: nil,
                    linkedAt: record.createdAt,
                    updatedAt: record.createdAt
                )
            }
            #expect(record.account == account)
            var repaired = record.repaired(by: point.repair, at: Timestamp(secondsSinceEpoch: 2)).account
            var expected = account.applying(change)
            expected.version = 1
            repaired.version = 1
            #expect(repaired == expected, "\(point.repair)")
        }
    }
}
