import Testing

@testable import AccountLinking

/// Rules B: methods that a takeover or a reset suspended.
struct QuarantineRows {
    private let account = Account.fixture("a", email: ann, proof: .provider(.google), providers: [.google: "g"])

    private func restore(
        _ account: Account,
        policy: LinkPolicy = LinkPolicy(),
        quarantined: Bool = true,
        recent: Bool = true,
        locked: Bool = false,
        right: Bool = true
    ) -> Verdict<UpdateDecision> {
        RestorePasswordQuestion(
            account: account,
            isQuarantined: quarantined,
            isSessionRecent: recent,
            isLocked: locked,
            passwordMatches: right
        ).decide(policy)
    }

    private func discard(
        _ method: SignInMethod,
        of account: Account,
        quarantined: Bool = true,
        recent: Bool = true
    ) -> Verdict<Refusal?> {
        decideDiscardQuarantined(method, account: account, isQuarantined: quarantined, isSessionRecent: recent)
    }

    @Test func `a change suspends the methods that the account loses, except mailed links`() {
        let full = Account.fixture(
            "a",
            email: ann,
            password: true,
            emailLink: true,
            phone: true,
            providers: [.google: "g"]
        )
        let takeover = AccountChange.takeover(of: full, proof: .emailCode)
        #expect(methodsSuspended(by: takeover, of: full) == [.password, .phone, .provider(.google)])
        var deletion = takeover
        deletion.quarantinesRemovals = false
        #expect(methodsSuspended(by: deletion, of: full) == [])
        #expect(methodsSuspended(by: .nothing, of: full) == [])
        // A password without an address signs no user in.
        let numbered = Account.fixture("a", password: true, phone: true)
        #expect(methodsSuspended(by: .takeover(of: numbered, proof: .emailCode), of: numbered) == [.phone])
    }

    @Test func `B1: a disabled account can neither restore nor discard a method`() {
        let disabled = Account.fixture("a", email: ann, disabled: true)
        #expect(restore(disabled) == Verdict(.quarantineAccountDisabled, .refuse(.userDisabled)))
        #expect(discard(.password, of: disabled) == Verdict(.quarantineAccountDisabled, .userDisabled))
    }

    @Test func `B2: a method that is not suspended, or exists again, can neither be restored nor discarded`() {
        let refused = Verdict<UpdateDecision>(.notQuarantined, .refuse(.methodNotQuarantined))
        #expect(restore(account, quarantined: false) == refused)
        #expect(restore(.fixture("a", email: ann, password: true)) == refused)
        #expect(restore(.fixture("a", password: true)) == refused, "a password without an address counts too")
        let gone = Verdict<Refusal?>(.notQuarantined, .methodNotQuarantined)
        #expect(discard(.password, of: account, quarantined: false) == gone)
        #expect(discard(.provider(.google), of: account) == gone)
        #expect(discard(.password, of: .fixture("a", password: true)) == gone)
    }

    @Test func `B3: a password that could not sign in is not restored`() {
        let refused = Verdict<UpdateDecision>(.restorePasswordNotAllowed, .refuse(.operationNotAllowed))
        var noPasswords = LinkPolicy()
        noPasswords.allowsPasswordSignIn = false
        #expect(restore(account, policy: noPasswords) == refused)
        #expect(restore(.fixture("a", providers: [.google: "g"]), recent: false) == refused)
    }

    @Test func `B4 and B5: an old session and a locked address are refused before the password is checked`() {
        for right in [true, false] {
            for locked in [true, false] {
                let stale = restore(account, recent: false, locked: locked, right: right)
                #expect(stale == Verdict(.restoreNeedsRecentSignIn, .refuse(.credentialTooOld)))
            }
            #expect(
                restore(account, locked: true, right: right)
                    == Verdict(.restoreTooManyWrongPasswords, .refuse(.tooManyAttempts))
            )
        }
        #expect(discard(.password, of: account, recent: false) == Verdict(.restoreNeedsRecentSignIn, .credentialTooOld))
    }

    @Test func `B6 and B7: the right password is restored, and sessions stay`() {
        #expect(restore(account, right: false) == Verdict(.restoreWrongPassword, .refuse(.invalidPassword)))
        var change = AccountChange()
        change.password = .set
        #expect(
            restore(account) == Verdict(.quarantinedPasswordRestored, .apply(user("a"), change, issuesTokens: false))
        )
    }

    @Test func `B8: the owner can discard a suspended method`() {
        #expect(discard(.password, of: account) == Verdict(.quarantinedMethodDiscarded, nil))
        #expect(discard(.phone, of: account) == Verdict(.quarantinedMethodDiscarded, nil))
        #expect(discard(.provider(.facebook), of: account) == Verdict(.quarantinedMethodDiscarded, nil))
    }

    @Test func `each rule that suspends methods has a reason for their owner, and no other rule has one`() {
        var suspending: Set<Rule> = []
        for verdict in OutcomeCoverage.signIns {
            guard case .signIn(_, let change, emailWasRecycled: _) = verdict.decision else { continue }
            if change.quarantinesRemovals { suspending.insert(verdict.rule) }
        }
        for verdict in UpdateCase.all.map(\.verdict) {
            switch verdict.decision {
            case .apply(_, let change, issuesTokens: _):
                if change.quarantinesRemovals { suspending.insert(verdict.rule) }
            case .takeAddress(_, let change, from: _, let loss):
                if change.quarantinesRemovals || loss.quarantinesRemovals { suspending.insert(verdict.rule) }
            case .unchanged, .refuse: break
            }
        }
        for resolution in ConflictCase.resolutions {
            guard case .resolve(_, let change) = resolution.verdict.decision else { continue }
            if change.quarantinesRemovals { suspending.insert(resolution.verdict.rule) }
        }
        for repair in RepairRows.all {
            guard case .apply(let change) = repair.verdict.decision else { continue }
            if change.quarantinesRemovals { suspending.insert(repair.verdict.rule) }
        }
        #expect(Set(Rule.allCases.filter { $0.suspensionReason != nil }) == suspending)
    }

    @Test func `the owner learns whether it was a first proof, a reset, a recovery or an audit`() {
        #expect(QuarantineReason(.takeoverByProvider) == .addressProven)
        #expect(QuarantineReason(.resetUnlinksProviders) == .passwordReset)
        #expect(QuarantineReason(.decoyGivesWay) == .addressRecovered)
        #expect(QuarantineReason(.repairApplied) == .audit)
    }
}
