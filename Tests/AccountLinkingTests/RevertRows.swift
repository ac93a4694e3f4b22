import AccountTestSupport
import Testing

@testable import AccountLinking

private let google = SignInMethod.provider(.google)

extension MethodSnapshot {
    fileprivate static func google(_ subject: String) -> MethodSnapshot {
        let origin = Timestamp(secondsSinceEpoch: 1)
        return MethodSnapshot(
            .provider(.google),
            wasThere: true,
            linked: UserRecord.LinkedProvider(
                identity: identity(.google, subject),
                issuer: nil,
                email: nil,
                displayName: nil,
                photoURL: nil,
                screenName: nil,
                linkedAt: origin,
                updatedAt: origin
            )
        )
    }

    fileprivate static func phone(_ number: PhoneNumber) -> MethodSnapshot {
        MethodSnapshot(.phone, wasThere: true, number: number)
    }

    fileprivate static func absent(_ method: SignInMethod) -> MethodSnapshot { MethodSnapshot(method, wasThere: false) }
}

/// A point in the input space of codes that restore sign-in methods.
struct RevertCase {
    var account: Account?
    var isSameAccount: Bool
    var before: [MethodSnapshot]
    var taken: Set<SignInMethod>
    var verdict: Verdict<RevertDecision>

    static let all = everyPoint(choose)

    private static func choose(_ choices: inout Choices) -> RevertCase {
        var account: Account?
        if choices.chooseBool() {
            account = .fixture(
                "A",
                email: ann,
                proof: .emailCode,
                password: choices.chooseBool(),
                phone: choices.chooseBool(),
                providers: choices.choose(from: [[:], [.google: "new"], [.google: "old"]]),
                disabled: choices.chooseBool()
            )
        }
        let snapshots: [MethodSnapshot?] = [
            choices.choose(from: [nil, .absent(.password), MethodSnapshot(.password, wasThere: true)]),
            choices.choose(from: [nil, .absent(.phone), .phone(annsNumber), .phone(number("+16505550000"))]),
            choices.choose(from: [nil, .absent(google), .google("old")]),
        ]
        let before = snapshots.compactMap(\.self)
        let taken = Set(before.filter { $0.identifier != nil }.map(\.method).filter { _ in choices.chooseBool() })
        let isSameAccount = account == nil || choices.chooseBool()
        return RevertCase(
            account: account,
            isSameAccount: isSameAccount,
            before: before,
            taken: taken,
            verdict: decideRevertMethodChange(
                account: account,
                isSameAccount: isSameAccount,
                before: before,
                taken: taken
            )
        )
    }

    var reversal: MethodReversal? {
        if case .revert(_, let reversal) = verdict.decision { reversal } else { nil }
    }
}

extension RevertDecision {
    var described: String {
        func names(_ methods: [SignInMethod]) -> String { methods.map(\.name).joined(separator: ",") }
        return switch self {
        case .refuse(let refusal): "refuse \(refusal)"
        case .revert(_, let reversal):
            "remove [\(names(reversal.removed))] restore [\(names(reversal.restored))] leave [\(names(reversal.taken))]"
        }
    }

    var refusal: Refusal? {
        if case .refuse(let refusal) = self { refusal } else { nil }
    }
}

/// Laws that hold for every combination.
struct RevertLaws {
    @Test func `a method that the account did not have before is removed`() {
        for point in RevertCase.all {
            guard let reversal = point.reversal, let account = point.account else { continue }
            for old in point.before where !old.wasThere {
                let isThere = account.signInMethods.contains(old.method)
                #expect(reversal.removed.contains(old.method) == isThere)
            }
        }
    }

    @Test func `another account's method is never restored, and methods outside the code never change`() {
        for point in RevertCase.all {
            guard let reversal = point.reversal else { continue }
            #expect(Set(reversal.restored).isDisjoint(with: point.taken))
            let named = Set(point.before.map(\.method))
            #expect(Set(reversal.removed + reversal.restored + reversal.taken).isSubset(of: named))
        }
    }

    @Test func `a method is removed or restored, never both`() {
        for point in RevertCase.all {
            guard let reversal = point.reversal else { continue }
            #expect(Set(reversal.removed).isDisjoint(with: reversal.restored))
        }
    }
}

/// Named rows.
struct RevertRows {
    @Test func `a code is mailed for every change of methods, except for suspensions, takeovers and migrations`() {
        let points = everyPoint { choices in
            let change = AccountChange.only {
                if choices.chooseBool() { $0.password = .set }
                if choices.chooseBool() { $0.phone = .remove }
                if choices.chooseBool() { $0.linkedIdentity = identity(.google, "new") }
                $0.endsSessions = choices.chooseBool()
                $0.quarantinesRemovals = choices.chooseBool()
                $0.voidsOutstandingProofs = choices.chooseBool()
            }
            return (change: change, rule: choices.choose(from: Rule.allCases))
        }
        checkLaw(points) { change, rule in
            let changesMethods = change.password == .set || change.phone == .remove || change.linkedIdentity != nil
            let hasOtherMail = change.quarantinesRemovals || change.voidsOutstandingProofs
            return change.isMailedToUndo(by: rule) == (changesMethods && !hasOtherMail && rule != .subjectMoved)
        }
    }

    private func decide(
        _ account: Account?,
        _ before: [MethodSnapshot],
        isSameAccount: Bool = true,
        taken: Set<SignInMethod> = []
    ) -> Verdict<RevertDecision> {
        decideRevertMethodChange(account: account, isSameAccount: isSameAccount, before: before, taken: taken)
    }

    private let stolen = Account.fixture(
        "A",
        email: ann,
        proof: .emailCode,
        password: true,
        providers: [.google: "thief"]
    )

    private func reverts(_ rule: Rule, _ reversal: MethodReversal) -> Verdict<RevertDecision> {
        Verdict(rule, .revert(user("A"), reversal))
    }

    @Test func `U18: a deleted account, or a new one under its id, is not restored`() {
        let lost = Verdict<RevertDecision>(.revertOfLostAccount, .refuse(.invalidEmailCode))
        #expect(decide(nil, [.absent(google)]) == lost)
        #expect(decide(stolen, [.absent(google)], isSameAccount: false) == lost)
    }

    @Test func `U19: a disabled account does not change`() {
        let disabled = Account.fixture("A", email: ann, password: true, disabled: true)
        #expect(decide(disabled, [.absent(.password)]) == Verdict(.revertOfDisabledAccount, .refuse(.userDisabled)))
    }

    @Test func `U20: settled methods are not restored`() {
        #expect(decide(stolen, []) == Verdict(.revertSettled, .refuse(.invalidEmailCode)))
    }

    @Test func `U21: if nothing is left to undo, the sessions still end`() {
        #expect(decide(stolen, [.absent(.phone)]) == reverts(.revertOfNothing, MethodReversal()))
        #expect(decide(stolen, [.google("thief")]) == reverts(.revertOfNothing, MethodReversal()))
    }

    @Test func `U22: an identity of another account is not restored, and the thief's is removed`() {
        #expect(
            decide(stolen, [.google("owner"), .absent(.password)], taken: [google])
                == reverts(.revertInPart, MethodReversal(removed: [google, .password], taken: [google]))
        )
        #expect(
            decide(stolen, [.phone(annsNumber)], taken: [.phone])
                == reverts(.revertInPart, MethodReversal(taken: [.phone]))
        )
    }

    @Test func `U23: added methods are removed, removed and replaced ones restored`() {
        #expect(decide(stolen, [.absent(google)]) == reverts(.methodsReverted, MethodReversal(removed: [google])))
        #expect(
            decide(stolen, [.google("owner"), .phone(annsNumber), MethodSnapshot(.password, wasThere: true)])
                == reverts(.methodsReverted, MethodReversal(restored: [google, .password, .phone]))
        )
    }

    @Test func `the account's methods are restored as they were, and its sessions end`() throws {
        let now = Timestamp(secondsSinceEpoch: 2_000)
        var owner = UserRecord(tenant: .project, id: user("A"), sessionEpoch: 7, createdAt: now)
        owner.passwordUpdatedAt = now
        owner.methodProofs[.password] = .init(proof: .signUp, provenAt: now)
        owner.phoneNumber = annsNumber
        owner.methodProofs[.phone] = .init(proof: .message, provenAt: now)
        owner.linkedProviders[.google] = MethodSnapshot.google("owner").linked
        owner.methodProofs[google] = .init(proof: .providerCredential, provenAt: now)
        var change = AccountChange()
        change.password = .remove
        change.phone = .remove
        change.unlinkedProviders = [.google]
        change.linkedIdentity = identity(.gitHub, "thief")
        let stolen = owner.applying(change, ChangeContext(now: now, methodProof: .session))
        let changes = MethodChanges(change, from: owner, to: stolen)
        #expect(changes.added == [.provider(.gitHub)] && changes.removed == [google, .password, .phone])
        #expect(changes.numbers.removed == annsNumber && changes.numbers.added == nil && !changes.replacesPassword)
        let verdict = decideRevertMethodChange(
            account: stolen.account,
            isSameAccount: true,
            before: changes.before,
            taken: []
        )
        guard case .revert(_, let reversal) = verdict.decision else {
            Issue.record("\(verdict)")
            return
        }
        let back = stolen.reverting(reversal, to: changes.before, at: now)
        #expect(back.linkedProviders == owner.linkedProviders && back.phoneNumber == owner.phoneNumber)
        #expect(back.methodProofs == owner.methodProofs && back.passwordUpdatedAt == now)
        #expect(back.sessionEpoch == 8)
    }

    @Test func `the first use of a mailed link is not reported, its removal is`() {
        let now = Timestamp(secondsSinceEpoch: 2_000)
        let before = UserRecord(tenant: .project, id: user("A"), sessionEpoch: 7, createdAt: now)
        var following = AccountChange()
        following.emailLink = true
        let context = ChangeContext(now: now, methodProof: .message)
        let followed = before.applying(following, context)
        #expect(!following.touchesMethods && MethodChanges(following, from: before, to: followed).isEmpty)
        var removal = AccountChange()
        removal.emailLink = false
        let changes = MethodChanges(removal, from: followed, to: followed.applying(removal, context))
        #expect(removal.touchesMethods && changes.removed == [.emailLink])
    }

    @Test func `another subject of a provider and another number count as removed and added`() {
        let now = Timestamp(secondsSinceEpoch: 2_000)
        var before = UserRecord(tenant: .project, id: user("A"), sessionEpoch: 7, createdAt: now)
        before.phoneNumber = annsNumber
        before.linkedProviders[.google] = MethodSnapshot.google("old").linked
        var change = AccountChange()
        change.phone = .set(number("+16505550000"))
        change.unlinkedProviders = [.google]
        change.linkedIdentity = identity(.google, "new")
        let after = before.applying(change, ChangeContext(now: now, methodProof: .session))
        let changes = MethodChanges(change, from: before, to: after)
        #expect(changes.added == [google, .phone] && changes.removed == [google, .phone])
        #expect(changes.before.map(\.identifier) == [.federated(identity(.google, "old")), .phone(annsNumber)])
    }
}
