import AccountLinking
import AccountTestSupport
import Testing

/// A point in the input space of the decisions about second factors.
struct SecondFactorCase {
    enum Request: String, CaseIterable {
        case enrollNumber, enrollApp, withdraw, replace, revert
    }

    var request: Request
    var account: Account
    var enrolled: [SecondFactor]
    var policy = LinkPolicy()
    var session = FactorSession(signInProvider: "password", hasProvenSecondFactor: false, isRecent: true)
    var verdict: Verdict<UpdateDecision>

    static let all = everyPoint(choose)

    static let enrolments: [[SecondFactor]] = [
        [], [.number("n")], [.app("a"), .number("other", number("+16505550000"))],
        [.app("a"), .app("b"), .app("c"), .app("d"), .app("e")],
    ]

    static func choose(_ choices: inout Choices) -> SecondFactorCase {
        let request = choices.choose(from: Request.allCases)
        let enrolled = choices.choose(from: enrolments)
        var account = Account.fixture("A", email: choices.choose(from: [nil, ann]), secondFactor: !enrolled.isEmpty)
        if account.email != nil, choices.chooseBool() { account.email?.proof = .emailCode }
        account.isDisabled = choices.chooseBool()
        var policy = LinkPolicy()
        var session = FactorSession(signInProvider: "password", hasProvenSecondFactor: false, isRecent: true)
        switch request {
        case .enrollNumber, .enrollApp:
            policy.enrollableSecondFactors = choices.choose(from: [[], [.phone], [.totp], [.phone, .totp]])
            session.signInProvider = choices.choose(from: [
                "password", "google.com", "anonymous", "phone", "custom", "gc.apple.com",
            ])
        case .withdraw: session.signInProvider = choices.choose(from: ["password", "custom"])
        case .replace, .revert: break
        }
        switch request {
        case .enrollNumber, .enrollApp, .withdraw:
            policy.requiresEnrolledSecondFactors = choices.chooseBool()
            session.hasProvenSecondFactor = choices.chooseBool()
            session.isRecent = choices.chooseBool()
        case .replace, .revert: break
        }
        let verdict: Verdict<UpdateDecision>
        switch request {
        case .enrollNumber, .enrollApp:
            verdict = decideEnrollSecondFactor(
                policy: policy,
                account: account,
                enrolled: enrolled,
                new: request == .enrollApp ? .app("new") : .number("new"),
                session: session
            )
        case .withdraw:
            verdict = decideWithdrawSecondFactor(
                policy: policy,
                account: account,
                enrolled: enrolled,
                withdrawn: choices.choose(from: [SecondFactor.app("a").id, SecondFactor.app("nobody").id]),
                session: session
            )
        case .replace:
            let wanted = choices.choose(from: enrolments + [enrolments[3] + [.app("f")]])
            verdict = decideReplaceSecondFactors(account: account, enrolled: enrolled, wanted: wanted)
        case .revert:
            verdict = decideRevertSecondFactor(
                account: account,
                enrolled: enrolled,
                added: SecondFactor.app("a").id,
                address: choices.choose(from: [ann, bob])
            )
        }
        return SecondFactorCase(
            request: request,
            account: account,
            enrolled: enrolled,
            policy: policy,
            session: session,
            verdict: verdict
        )
    }

    var change: AccountChange? {
        if case .apply(_, let change, issuesTokens: _) = verdict.decision { change } else { nil }
    }

    /// True for requests by a session, false for those by an administrator or a mailbox.
    var isBySession: Bool {
        switch request {
        case .enrollNumber, .enrollApp, .withdraw: true
        case .replace, .revert: false
        }
    }
}

/// Laws that hold for every combination.
struct SecondFactorLaws {
    @Test func `a session without the required second factor changes no factor`() {
        for point in SecondFactorCase.all where point.isBySession && point.change != nil {
            #expect(
                !point.policy.requiresEnrolledSecondFactors || point.enrolled.isEmpty
                    || point.session.hasProvenSecondFactor
            )
            #expect(point.session.isRecent)
        }
    }

    @Test func `no account has more than five factors, and no other data changes`() {
        for point in SecondFactorCase.all {
            guard let change = point.change else { continue }
            #expect((change.secondFactors?.count ?? 9) <= SecondFactor.countMax)
            var rest = change
            rest.secondFactors = nil
            rest.endsSessions = false
            #expect(rest.isEmpty)
            #expect(point.account.applying(change).hasSecondFactor == (change.secondFactors?.isEmpty == false))
        }
    }

    @Test func `every change of required factors ends the sessions`() {
        for point in SecondFactorCase.all {
            guard let change = point.change else { continue }
            #expect(change.endsSessions)
        }
    }

    @Test func `a factor is added only to an account with a proven address`() {
        for point in SecondFactorCase.all {
            guard let factors = point.change?.secondFactors else { continue }
            let isAdded = factors.contains { !point.enrolled.contains($0) }
            #expect(!isAdded || point.account.isEmailVerified)
        }
    }

    @Test func `no user enrolls a factor that the project does not offer, or after an unsupported first factor`() {
        for point in SecondFactorCase.all where point.request == .enrollApp || point.request == .enrollNumber {
            guard point.change != nil else { continue }
            #expect(point.policy.enrollableSecondFactors.contains(point.request == .enrollApp ? .totp : .phone))
            #expect(["password", "google.com"].contains(point.session.signInProvider))
        }
    }

    @Test func `codes to a proven address survive a takeover only if a second factor is required`() {
        for point in SecondFactorCase.all {
            let spared = point.policy.codesVoided(byTakeoverOf: point.account)
            let isAsked = point.policy.requiresEnrolledSecondFactors && point.account.hasSecondFactor
            #expect(spared == (isAsked ? .allButProvenRecovery : .all))
        }
    }

    @Test func `a recovery code belongs only to the account that had the address`() {
        let made = Timestamp(secondsSinceEpoch: 1_000)
        func code(_ address: EmailAddress, proven: Bool, at seconds: Int64 = 1_000) -> EmailCodeRecord {
            let now = Timestamp(secondsSinceEpoch: seconds)
            return EmailCodeRecord(
                tenant: .project,
                hash: [1],
                kind: .recoverEmail,
                user: user("m"),
                email: address,
                addressWasProven: proven,
                createdAt: now,
                expiresAt: now
            )
        }
        var record = UserRecord(tenant: .project, id: user("m"), sessionEpoch: 1, createdAt: made)
        record.initialEmail = ann.raw
        #expect(code(ann, proven: false).bringsBackAddress(of: record))
        #expect(!code(bob, proven: false).bringsBackAddress(of: record))
        // The address was deleted since, or the account was created again under a deleted account's id.
        record.initialEmail = nil
        #expect(!code(ann, proven: false).bringsBackAddress(of: record))
        #expect(code(ann, proven: true).bringsBackAddress(of: record))
        #expect(!code(ann, proven: true, at: 999).bringsBackAddress(of: record))
    }

    @Test func `enrollments are distinguished by the bytes of their names`() throws {
        let composed = try #require(SecondFactorID("caf\u{E9}"))
        let decomposed = try #require(SecondFactorID("cafe\u{301}"))
        #expect(composed.rawValue == decomposed.rawValue, "as strings they are the same")
        #expect(composed != decomposed && Set([composed, decomposed]).count == 2)
        #expect(composed == SecondFactorID("caf\u{E9}"))
    }

    @Test func `only an administrator changes a disabled account`() {
        for point in SecondFactorCase.all where point.account.isDisabled && point.request != .replace {
            #expect(point.change == nil)
        }
    }
}

struct SecondFactorRows {
    private let policy = LinkPolicy.policy {
        $0.requiresEnrolledSecondFactors = true
        $0.enrollableSecondFactors = [.phone, .totp]
    }
    private let account = Account.fixture("a", email: ann, proof: .emailCode, password: true)
    private let guarded = Account.fixture("a", email: ann, proof: .emailCode, password: true, secondFactor: true)

    private func session(_ provider: String = "password", proven: Bool = false, recent: Bool = true) -> FactorSession {
        FactorSession(signInProvider: provider, hasProvenSecondFactor: proven, isRecent: recent)
    }

    private func enroll(
        _ new: SecondFactor,
        enrolled: [SecondFactor] = [],
        account: Account? = nil,
        session: FactorSession? = nil,
        policy: LinkPolicy? = nil
    ) -> Verdict<UpdateDecision> {
        decideEnrollSecondFactor(
            policy: policy ?? self.policy,
            account: account ?? (enrolled.isEmpty ? self.account : guarded),
            enrolled: enrolled,
            new: new,
            session: session ?? self.session(proven: !enrolled.isEmpty)
        )
    }

    private func factors(_ factors: [SecondFactor]) -> AccountChange {
        .only {
            $0.secondFactors = factors
            $0.endsSessions = true
        }
    }

    @Test func `G1: a kind of factor that the project does not allow is refused by name`() {
        #expect(
            enroll(.number("n"), policy: LinkPolicy())
                == Verdict(.enrollFactorNotEnabled, .refuse(.messageFactorsDisabled))
        )
        #expect(
            enroll(.app("n"), policy: LinkPolicy()) == Verdict(.enrollFactorNotEnabled, .refuse(.totpFactorsDisabled))
        )
    }

    @Test func `G2: a disabled account changes no factor`() {
        let disabled = Account.fixture("a", email: ann, proof: .emailCode, disabled: true, secondFactor: true)
        #expect(enroll(.app("n"), account: disabled) == Verdict(.enrollAccountDisabled, .refuse(.userDisabled)))
        let withdrawal = decideWithdrawSecondFactor(
            policy: policy,
            account: disabled,
            enrolled: [.app("a")],
            withdrawn: SecondFactor.app("a").id,
            session: session(proven: true)
        )
        #expect(withdrawal == Verdict(.enrollAccountDisabled, .refuse(.userDisabled)))
    }

    @Test(arguments: ["anonymous", "custom", "phone", "gc.apple.com"])
    func `G3: such a sign-in supports no second factor`(provider: String) {
        #expect(
            enroll(.app("n"), session: session(provider))
                == Verdict(.enrollUnsupportedFirstFactor, .refuse(.firstFactorNotEligible))
        )
    }

    @Test func `G4: the address must be proven first`() {
        let unproven = Account.fixture("a", email: ann, password: true)
        #expect(enroll(.app("n"), account: unproven) == Verdict(.enrollNeedsProvenEmail, .refuse(.unverifiedEmail)))
        #expect(
            enroll(.app("n"), account: .fixture("a")) == Verdict(.enrollNeedsProvenEmail, .refuse(.unverifiedEmail))
        )
        // A word for new addresses is no proof here, unless the trust table makes it one for every address.
        let word = Account.fixture("a", email: ann, proof: .provider(.apple), providers: [.apple: "a"])
        #expect(enroll(.app("n"), account: word) == Verdict(.enrollNeedsProvenEmail, .refuse(.unverifiedEmail)))
        var compatible = policy
        compatible.emailTrust = .compatible
        #expect(enroll(.app("n"), account: word, policy: compatible).rule == .factorEnrolled)
    }

    @Test func `G5: a session without the second factor enrolls none`() {
        let refused = Verdict<UpdateDecision>(.enrollNeedsSecondFactor, .refuse(.credentialTooOld))
        #expect(enroll(.app("n"), enrolled: [.app("a")], session: session()) == refused)
    }

    @Test func `G6: an old session enrolls none`() {
        #expect(
            enroll(.app("n"), session: session(recent: false))
                == Verdict(.enrollNeedsRecentSignIn, .refuse(.credentialTooOld))
        )
    }

    @Test func `G7: a number is enrolled once, an app on several devices`() {
        let refused = Verdict<UpdateDecision>(.factorAlreadyEnrolled, .refuse(.secondFactorExists))
        #expect(enroll(.number("m"), enrolled: [.number("n")]) == refused)
        #expect(enroll(.app("b"), enrolled: [.app("a")]).rule == .factorEnrolled)
    }

    @Test func `G8: a sixth factor is refused`() {
        let five = SecondFactorCase.enrolments[3]
        #expect(enroll(.app("f"), enrolled: five) == Verdict(.tooManyFactors, .refuse(.secondFactorLimitExceeded)))
        #expect(enroll(.app("f"), enrolled: Array(five.dropLast())).rule == .factorEnrolled)
    }

    @Test func `G9: a new factor comes after the others, and every other session ends`() {
        let expected = UpdateDecision.apply(
            user("a"),
            factors([.app("a"), .number("n")]),
            issuesTokens: true
        )
        #expect(enroll(.number("n"), enrolled: [.app("a")]) == Verdict(.factorEnrolled, expected))
    }

    @Test func `G10, G11: an enrolled factor is withdrawn`() {
        func withdraw(_ name: String) -> Verdict<UpdateDecision> {
            decideWithdrawSecondFactor(
                policy: policy,
                account: guarded,
                enrolled: [.app("a"), .number("n")],
                withdrawn: SecondFactor.app(name).id,
                session: session(proven: true)
            )
        }
        #expect(withdraw("x") == Verdict(.withdrawUnknownFactor, .refuse(.secondFactorNotFound)))
        guard case .refused(let refusal) = decideFindSecondFactor(nil) else {
            Issue.record("a sign-in uses a factor that the account does not have")
            return
        }
        #expect(refusal == Verdict(.withdrawUnknownFactor, .secondFactorNotFound))
        #expect(
            withdraw("a") == Verdict(.factorWithdrawn, .apply(user("a"), factors([.number("n")]), issuesTokens: true))
        )
    }

    @Test func `G12 to G14: an administrator replaces factors, five at most, on a proven address`() {
        func replace(_ wanted: [SecondFactor], _ account: Account? = nil) -> Verdict<UpdateDecision> {
            decideReplaceSecondFactors(account: account ?? guarded, enrolled: [.app("a")], wanted: wanted)
        }
        let unproven = Account.fixture("a", email: ann, secondFactor: true)
        #expect(
            replace([.number("n")], unproven) == Verdict(.replaceFactorsNeedsProvenEmail, .refuse(.unverifiedEmail))
        )
        #expect(replace([], unproven) == Verdict(.factorsReplaced, .apply(user("a"), factors([]), issuesTokens: false)))
        let six = SecondFactorCase.enrolments[3] + [.app("f")]
        #expect(replace(six) == Verdict(.replaceTooManyFactors, .refuse(.secondFactorLimitExceeded)))
        #expect(replace([.app("a")]) == Verdict(.factorsReplaced, .unchanged(user("a"))))
        var renamed = SecondFactor.app("a")
        renamed.displayName = "mine"
        let change = AccountChange.only { $0.secondFactors = [renamed] }
        #expect(replace([renamed]) == Verdict(.factorsReplaced, .apply(user("a"), change, issuesTokens: false)))
    }

    @Test func `G15 to G17: the mail about a factor removes it, while the address is the same`() {
        func revert(_ account: Account?, added: String = "a", address: EmailAddress = ann) -> Verdict<UpdateDecision> {
            decideRevertSecondFactor(
                account: account,
                enrolled: [.app("a"), .number("n")],
                added: SecondFactor.app(added).id,
                address: address
            )
        }
        let invalid = Verdict<UpdateDecision>(.revertFactorCodeStale, .refuse(.invalidEmailCode))
        #expect(revert(nil) == invalid)
        #expect(revert(guarded, added: "x") == invalid)
        #expect(revert(guarded, address: bob) == invalid)
        let disabled = Account.fixture("a", email: ann, proof: .emailCode, disabled: true, secondFactor: true)
        #expect(revert(disabled) == Verdict(.revertFactorAccountDisabled, .refuse(.userDisabled)))
        #expect(
            revert(guarded) == Verdict(.factorReverted, .apply(user("a"), factors([.number("n")]), issuesTokens: false))
        )
    }

    @Test func `G18, G19: codes are sent to the project's regions only`() {
        #expect(
            decideSendFactorCode(isRegionAllowed: false) == Verdict(.factorRegionNotAllowed, .messageRegionNotAllowed)
        )
        #expect(decideSendFactorCode(isRegionAllowed: true) == Verdict(.factorCodeSent, nil))
    }

    @Test func `G20 to G22: a sign-in continues unless the account's sessions have ended`() {
        func goesOn(_ account: Account?, epoch: Int64 = 7, isOriginGone: Bool = false) -> Verdict<Refusal?> {
            decideContinueSignIn(account: account, sessionEpoch: epoch, isOriginGone: isOriginGone)
        }
        #expect(goesOn(nil) == Verdict(.pendingSignInStale, .invalidPendingSignIn))
        #expect(goesOn(guarded, epoch: 6) == Verdict(.pendingSignInStale, .invalidPendingSignIn))
        #expect(goesOn(guarded, isOriginGone: true) == Verdict(.pendingSignInStale, .invalidPendingSignIn))
        #expect(goesOn(.fixture("a", disabled: true)) == Verdict(.pendingSignInAccountDisabled, .userDisabled))
        #expect(goesOn(guarded) == Verdict(.pendingSignInContinued, nil))
    }

    @Test func `G20: the second factor proves nothing for another account`() {
        let stale = Verdict<Refusal>(.pendingSignInStale, .invalidPendingSignIn)
        func signIn(_ account: String) -> SignInDecision {
            .signIn(user(account), AccountChange(), emailWasRecycled: false)
        }
        #expect(decideFinishSignIn(signIn("a"), of: user("a")) == nil)
        #expect(decideFinishSignIn(signIn("b"), of: user("a")) == stale)
        #expect(decideFinishSignIn(.createUser(AccountChange()), of: user("a")) == stale)
        #expect(decideFinishSignIn(.secondFactorRequired(user("a")), of: user("a")) == stale)
        #expect(decideFinishSignIn(.conflict(.credentialAlreadyInUse(account: user("b"))), of: user("a")) == stale)
        #expect(decideFinishSignIn(.refuse(.userDisabled), of: user("a")) == nil)
    }
}
