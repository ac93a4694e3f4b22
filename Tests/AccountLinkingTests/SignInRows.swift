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
        decideSignInWithPassword(
            policy: policy,
            owner: owner,
            isLocked: locked,
            passwordMatches: matches,
            secondFactorProvenBy: proven
        )
    }

    @Test func `S1: without password sign-in no password signs in`() {
        let policy = LinkPolicy.policy { $0.allowsPasswordSignIn = false }
        let owner = Account.fixture("o", email: ann, password: true)
        #expect(decide(owner, policy: policy) == Verdict(.s1, .refuse(.operationNotAllowed)))
        #expect(decide(nil, policy: policy) == Verdict(.s1, .refuse(.operationNotAllowed)))
    }

    @Test func `S2: an unknown address looks like a wrong password where addresses are protected`() {
        #expect(decide(nil) == Verdict(.s2, .refuse(.invalidLoginCredentials)))
        #expect(decide(nil, policy: .enumerable) == Verdict(.s2, .refuse(.emailNotFound)))
    }

    @Test func `S3: a disabled account is told so before its password`() {
        let owner = Account.fixture("o", email: ann, password: true, disabled: true)
        #expect(decide(owner, matches: false) == Verdict(.s3, .refuse(.userDisabled)))
        #expect(decide(owner, policy: .enumerable) == Verdict(.s3, .refuse(.userDisabled)))
    }

    @Test func `S4: a wrong password is refused, as is any for an account without one`() {
        let owner = Account.fixture("o", email: ann, password: true, secondFactor: true)
        #expect(decide(owner, matches: false) == Verdict(.s4, .refuse(.invalidLoginCredentials)))
        #expect(
            decide(owner, matches: false, policy: .secondFactors)
                == Verdict(.s4, .refuse(.invalidLoginCredentials))
        )
        #expect(decide(owner, matches: false, policy: .enumerable) == Verdict(.s4, .refuse(.invalidPassword)))
        let withoutPassword = Account.fixture("o", email: ann, proof: .emailLink, emailLink: true)
        #expect(decide(withoutPassword) == Verdict(.s4, .refuse(.invalidLoginCredentials)))
        #expect(decide(withoutPassword, policy: .enumerable) == Verdict(.s4, .refuse(.invalidPassword)))
    }

    @Test func `S5: an enrolled second factor is asked for`() {
        let owner = Account.fixture("o", email: ann, password: true, secondFactor: true)
        #expect(decide(owner, policy: .secondFactors) == Verdict(.s5, .secondFactorRequired(user("o"))))
        #expect(
            decide(owner, policy: .secondFactors, proven: user("x"))
                == Verdict(.s5, .secondFactorRequired(user("o")))
        )
        #expect(decide(owner, policy: .secondFactors, proven: user("o")).rule == .s6)
        #expect(decide(owner).rule == .s6)
    }

    @Test func `S6: the right password signs in and changes nothing`() {
        let owner = Account.fixture("o", email: ann, password: true)
        #expect(decide(owner) == Verdict(.s6, .signIn(user("o"), .nothing, emailWasRecycled: false)))
    }

    @Test func `S7: while locked no password is looked at, and nobody learns whose address it is`() {
        let owner = Account.fixture("o", email: ann, password: true)
        let refused = Verdict<SignInDecision>(.s7, .refuse(.tooManyAttempts))
        #expect(decide(owner, locked: true) == refused)
        #expect(decide(owner, matches: false, locked: true) == refused)
        #expect(decide(owner, locked: true, policy: .enumerable) == refused)
        #expect(decide(nil, locked: true) == refused)
        #expect(decide(nil, locked: true, policy: .enumerable) == Verdict(.s2, .refuse(.emailNotFound)))
        let disabled = Account.fixture("o", email: ann, password: true, disabled: true)
        #expect(decide(disabled, locked: true) == Verdict(.s3, .refuse(.userDisabled)))
    }

    @Test func `exactly the answers about a wrong password are counted`() {
        let counted = Refusal.allCases.filter(\.saysPasswordIsWrong)
        #expect(counted == [.invalidPassword, .invalidLoginCredentials])
    }
}

struct CustomTokenRows {
    @Test func `C1: an unknown uid becomes an account`() {
        #expect(
            decideSignInWithCustomToken(existing: nil, isMergedAway: false)
                == Verdict(.c1, .createUser(.only { $0.usesCustomTokens = true }))
        )
    }

    @Test func `C4: a uid that is another account now becomes no account of its own`() {
        #expect(
            decideSignInWithCustomToken(existing: nil, isMergedAway: true) == Verdict(.c4, .refuse(.accountMerged))
        )
    }

    @Test func `C2: a disabled account is refused`() {
        #expect(
            decideSignInWithCustomToken(existing: .fixture("u", disabled: true), isMergedAway: false)
                == Verdict(.c2, .refuse(.userDisabled))
        )
    }

    @Test func `C3: a known uid signs in, without its second factor, and is marked once`() {
        let first = Account.fixture("u", email: ann, password: true, secondFactor: true)
        #expect(
            decideSignInWithCustomToken(existing: first, isMergedAway: false)
                == Verdict(.c3, .signIn(user("u"), .only { $0.usesCustomTokens = true }, emailWasRecycled: false))
        )
        #expect(
            decideSignInWithCustomToken(existing: .fixture("u", customTokens: true), isMergedAway: false)
                == Verdict(.c3, .signIn(user("u"), .nothing, emailWasRecycled: false))
        )
    }
}
