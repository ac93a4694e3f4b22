import AccountLinking
import Testing

struct PasswordRows {
    private func decide(
        _ owner: Account?,
        matches: Bool = true,
        locked: Bool = false,
        policy: LinkPolicy = LinkPolicy(),
        proven: UserID? = nil
    ) -> Verdict<SignInDecision> {
        SignInWithPasswordQuestion(
            owner: owner,
            isLocked: locked,
            passwordMatches: matches,
            secondFactorProvenBy: proven
        ).decide(policy)
    }

    @Test func `S1: without password sign-in no password signs in`() {
        let policy = LinkPolicy.policy { $0.allowsPasswordSignIn = false }
        let owner = Account.fixture("o", email: ann, password: true)
        #expect(decide(owner, policy: policy) == Verdict(.passwordSignInNotEnabled, .refuse(.operationNotAllowed)))
        #expect(decide(nil, policy: policy) == Verdict(.passwordSignInNotEnabled, .refuse(.operationNotAllowed)))
    }

    @Test func `S2: with enumeration protection an unknown address looks like a wrong password`() {
        #expect(decide(nil) == Verdict(.passwordSignInUnknownEmail, .refuse(.invalidLoginCredentials)))
        #expect(decide(nil, policy: .enumerable) == Verdict(.passwordSignInUnknownEmail, .refuse(.emailNotFound)))
    }

    @Test(arguments: [LinkPolicy.enumerable, .firebase])
    func `S3: a disabled account is refused before its password is checked, unless it is hidden`(policy: LinkPolicy) {
        let owner = Account.fixture("o", email: ann, password: true, disabled: true)
        for matches in [true, false] {
            for locked in [true, false] {
                #expect(
                    decide(owner, matches: matches, locked: locked, policy: policy)
                        == Verdict(.passwordSignInAccountDisabled, .refuse(.userDisabled))
                )
            }
        }
    }

    @Test func `S8: only the right password learns that a protected account is disabled`() {
        let owner = Account.fixture("o", email: ann, password: true, disabled: true)
        #expect(decide(owner) == Verdict(.passwordOfDisabledAccount, .refuse(.userDisabled)))
        #expect(
            SignInWithPasswordQuestion(
                owner: owner,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: nil
            ).decideReplacement(LinkPolicy()) == Verdict(.passwordOfDisabledAccount, .refuse(.userDisabled))
        )
        let bare = Account.fixture("o", email: ann, disabled: true)
        #expect(decide(bare) == Verdict(.wrongPassword, .refuse(.invalidLoginCredentials)))
        #expect(decide(owner, locked: true) == decide(nil, locked: true))
    }

    @Test func `a wrong password for a protected address gets one refusal, with and without an account`() {
        checkLaw(PasswordCase.all) { point in
            guard point.policy.hidesDisabledAccounts, !(point.passwordMatches && point.owner?.hasPassword ?? false)
            else {
                return true
            }
            var stranger = point
            stranger.owner = nil
            return point.verdict.decision == stranger.verdict.decision
        }
    }

    @Test func `S4: a wrong password is refused, as is any for an account without one`() {
        let owner = Account.fixture("o", email: ann, password: true, secondFactor: true)
        #expect(decide(owner, matches: false) == Verdict(.wrongPassword, .refuse(.invalidLoginCredentials)))
        #expect(
            decide(owner, matches: false, policy: .secondFactors)
                == Verdict(.wrongPassword, .refuse(.invalidLoginCredentials))
        )
        #expect(
            decide(owner, matches: false, policy: .enumerable) == Verdict(.wrongPassword, .refuse(.invalidPassword))
        )
        let withoutPassword = Account.fixture("o", email: ann, proof: .emailLink, emailLink: true)
        #expect(decide(withoutPassword) == Verdict(.wrongPassword, .refuse(.invalidLoginCredentials)))
        #expect(decide(withoutPassword, policy: .enumerable) == Verdict(.wrongPassword, .refuse(.invalidPassword)))
    }

    @Test func `S5: an enrolled second factor is required`() {
        let owner = Account.fixture("o", email: ann, password: true, secondFactor: true)
        #expect(
            decide(owner, policy: .secondFactors)
                == Verdict(.passwordSignInNeedsSecondFactor, .secondFactorRequired(user("o")))
        )
        #expect(
            decide(owner, policy: .secondFactors, proven: user("x"))
                == Verdict(.passwordSignInNeedsSecondFactor, .secondFactorRequired(user("o")))
        )
        #expect(decide(owner, policy: .secondFactors, proven: user("o")).rule == .signInByPassword)
        #expect(decide(owner).rule == .signInByPassword)
    }

    @Test func `S5 and W4: a new password replaces the right one, unless the account needs its second factor`() {
        checkLaw(PasswordCase.all) { point in
            let replaced = point.question.decideReplacement(point.policy)
            switch point.verdict.decision {
            case .refuse(let refusal): return replaced == Verdict(point.verdict.rule, .refuse(refusal))
            case .secondFactorRequired:
                return replaced == Verdict(.passwordSignInNeedsSecondFactor, .refuse(.credentialTooOld))
            case .signIn(let id, _, emailWasRecycled: _):
                let change = AccountChange.only {
                    $0.password = .set
                    $0.endsSessions = true
                }
                return replaced == Verdict(.passwordChanged, .apply(id, change, issuesTokens: true))
            case .createUser, .conflict: return false
            }
        }
    }

    @Test func `S6: the right password signs in and changes nothing`() {
        let owner = Account.fixture("o", email: ann, password: true)
        #expect(decide(owner) == Verdict(.signInByPassword, .signIn(user("o"), .nothing, emailWasRecycled: false)))
    }

    @Test func `S7: while locked no password is checked, and the answer is the same with and without an account`() {
        let owner = Account.fixture("o", email: ann, password: true)
        let refused = Verdict<SignInDecision>(.tooManyWrongPasswords, .refuse(.tooManyAttempts))
        #expect(decide(owner, locked: true) == refused)
        #expect(decide(owner, matches: false, locked: true) == refused)
        #expect(decide(owner, locked: true, policy: .enumerable) == refused)
        #expect(decide(nil, locked: true) == refused)
        #expect(
            decide(nil, locked: true, policy: .enumerable)
                == Verdict(.passwordSignInUnknownEmail, .refuse(.emailNotFound))
        )
        let disabled = Account.fixture("o", email: ann, password: true, disabled: true)
        #expect(decide(disabled, locked: true) == refused)
    }

    @Test func `exactly the refusals about a wrong password are counted`() {
        let counted = Refusal.allCases.filter(\.saysPasswordIsWrong)
        #expect(counted == [.invalidPassword, .invalidLoginCredentials])
    }
}

struct CustomTokenRows {
    @Test func `C1: an unknown uid becomes an account`() {
        #expect(
            SignInWithCustomTokenQuestion(existing: nil, isMergedAway: false).decide(LinkPolicy())
                == Verdict(.signUpByCustomToken, .createUser(.only { $0.usesCustomTokens = true }))
        )
    }

    @Test func `C4: the uid of a merged account creates no account`() {
        #expect(
            SignInWithCustomTokenQuestion(existing: nil, isMergedAway: true).decide(LinkPolicy())
                == Verdict(.customTokenAccountMerged, .refuse(.accountMerged))
        )
    }

    @Test func `C2: a disabled account is refused`() {
        #expect(
            SignInWithCustomTokenQuestion(
                existing: .fixture("u", disabled: true),
                isMergedAway: false
            ).decide(LinkPolicy())
                == Verdict(.customTokenAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `C3: a known uid signs in without its second factor, and is marked once`() {
        let first = Account.fixture("u", email: ann, password: true, secondFactor: true)
        #expect(
            SignInWithCustomTokenQuestion(
                existing: first,
                isMergedAway: false
            ).decide(LinkPolicy())
                == Verdict(
                    .signInByCustomToken,
                    .signIn(user("u"), .only { $0.usesCustomTokens = true }, emailWasRecycled: false)
                )
        )
        #expect(
            SignInWithCustomTokenQuestion(
                existing: .fixture("u", customTokens: true),
                isMergedAway: false
            ).decide(LinkPolicy())
                == Verdict(.signInByCustomToken, .signIn(user("u"), .nothing, emailWasRecycled: false))
        )
    }
}
