import Testing

@testable import AccountLinking

/// Rows B: what becomes of a method that a takeover or a reset took off.
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

    @Test func `what a change suspends is what the account loses by it, a mailed link aside`() {
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
        // A password without an address signs nobody in.
        let numbered = Account.fixture("a", password: true, phone: true)
        #expect(methodsSuspended(by: .takeover(of: numbered, proof: .emailCode), of: numbered) == [.phone])
    }

    @Test func `B1: nobody does anything about a disabled account`() {
        let disabled = Account.fixture("a", email: ann, disabled: true)
        #expect(restore(disabled) == Verdict(.quarantineAccountDisabled, .refuse(.userDisabled)))
        #expect(discard(.password, of: disabled) == Verdict(.quarantineAccountDisabled, .userDisabled))
    }

    @Test func `B2: what is not suspended, or there anew, neither comes back nor goes`() {
        let refused = Verdict<UpdateDecision>(.notQuarantined, .refuse(.methodNotQuarantined))
        #expect(restore(account, quarantined: false) == refused)
        #expect(restore(.fixture("a", email: ann, password: true)) == refused)
        #expect(restore(.fixture("a", password: true)) == refused, "a password without an address is one as well")
        let gone = Verdict<Refusal?>(.notQuarantined, .methodNotQuarantined)
        #expect(discard(.password, of: account, quarantined: false) == gone)
        #expect(discard(.provider(.google), of: account) == gone)
        #expect(discard(.password, of: .fixture("a", password: true)) == gone)
    }

    @Test func `B3: a password that could not sign in does not come back`() {
        let refused = Verdict<UpdateDecision>(.restorePasswordNotAllowed, .refuse(.operationNotAllowed))
        var noPasswords = LinkPolicy()
        noPasswords.allowsPasswordSignIn = false
        #expect(restore(account, policy: noPasswords) == refused)
        #expect(restore(.fixture("a", providers: [.google: "g"]), recent: false) == refused)
    }

    @Test func `B4 and B5: the sign-in has to be recent and the address open, before any password is looked at`() {
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

    @Test func `B6 and B7: who knows the password has it back, and sessions stay`() {
        #expect(restore(account, right: false) == Verdict(.restoreWrongPassword, .refuse(.invalidPassword)))
        var change = AccountChange()
        change.password = .set
        #expect(
            restore(account) == Verdict(.quarantinedPasswordRestored, .apply(user("a"), change, issuesTokens: false))
        )
    }

    @Test func `B8: a suspended method is given up`() {
        #expect(discard(.password, of: account) == Verdict(.quarantinedMethodDiscarded, nil))
        #expect(discard(.phone, of: account) == Verdict(.quarantinedMethodDiscarded, nil))
        #expect(discard(.provider(.facebook), of: account) == Verdict(.quarantinedMethodDiscarded, nil))
    }

    @Test func `the owner is told whether it was a reset, the first proof, a recovery or an audit`() {
        let reset: Set<Rule> = [.resetUnlinksProviders, .resetSetsFirstPassword, .resetReleasesNumber]
        for rule in Rule.allCases {
            let other: QuarantineReason =
                switch rule {
                case .repairApplied: .audit
                case .recoverySuspendsAdditions, .decoyGivesWay: .addressRecovered
                default: .addressProven
                }
            #expect(QuarantineReason(rule) == (reset.contains(rule) ? .passwordReset : other))
        }
    }
}
