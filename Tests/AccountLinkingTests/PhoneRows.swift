import AccountLinking
import Testing

struct PhoneRows {
    private func decide(
        owner: Account? = nil,
        target: Account? = nil,
        operation: PhoneOperation = .unspecified,
        shownBy proof: PhoneProof = .code,
        policy: LinkPolicy = LinkPolicy(),
        isSessionRecent: Bool = true
    ) -> Verdict<SignInDecision> {
        SignInWithPhoneQuestion(
            number: annsNumber,
            owner: owner,
            target: target,
            operation: operation,
            proof: proof,
            isSessionRecent: isSessionRecent
        ).decide(policy)
    }

    private let off = LinkPolicy.policy { $0.allowsPhoneSignIn = false }
    private let owner = Account.fixture("n", phone: true)
    private let setting = AccountChange.only { $0.phone = .set(annsNumber) }

    @Test func `N0: without the method no number signs in, and no code is sent`() {
        let disabled = Account.fixture("n", phone: true, disabled: true)
        #expect(decide(owner: disabled, policy: off) == Verdict(.phoneNotEnabled, .refuse(.operationNotAllowed)))
        #expect(
            decideSendPhoneCode(policy: off, owner: nil, isRegionAllowed: false)
                == Verdict(.phoneNotEnabled, .operationNotAllowed)
        )
    }

    @Test func `N16: an old session attaches no number, and does not learn who owns it`() {
        let target = Account.fixture("t", email: ann, password: true)
        let refused = Verdict<SignInDecision>(.numberNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(decide(target: target, isSessionRecent: false) == refused)
        #expect(decide(owner: owner, target: target, isSessionRecent: false) == refused)
        #expect(decide(owner: owner, target: owner, isSessionRecent: false).rule == .phoneAlreadyLinked)
        #expect(decide(target: target, policy: .firebase, isSessionRecent: false).rule == .phoneLinked)
    }

    @Test func `N1: a free number creates an account`() {
        #expect(decide() == Verdict(.signUpByPhone, .createUser(setting)))
        #expect(decide(operation: .signUpOrIn) == Verdict(.signUpByPhone, .createUser(setting)))
    }

    @Test func `N2: a reauthentication with another number finds no account, and creates none`() {
        let refused = Verdict<SignInDecision>(.reauthenticationOfUnknownNumber, .refuse(.userNotFound))
        #expect(decide(operation: .reauthenticate) == refused)
        #expect(decide(target: .fixture("t", email: bob), operation: .reauthenticate) == refused)
        #expect(decide(owner: owner, target: .fixture("t", email: bob), operation: .reauthenticate) == refused)
        let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }
        #expect(decide(operation: .reauthenticate, policy: closed) == refused)
    }

    @Test(arguments: PhoneOperation.allCases)
    func `N3: a code signs in to the account that owns the number, which keeps everything`(operation: PhoneOperation) {
        let unproven = Account.fixture("n", email: ann, password: true, phone: true, providers: [.gitHub: "h"])
        #expect(
            decide(owner: unproven, operation: operation)
                == Verdict(.signInByPhoneCode, .signIn(user("n"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `N4: a number does not sign in to a disabled account`() {
        let disabled = Account.fixture("n", phone: true, disabled: true, secondFactor: true)
        #expect(decide(owner: disabled) == Verdict(.phoneAccountDisabled, .refuse(.userDisabled)))
        #expect(decide(target: .fixture("t", disabled: true)) == Verdict(.phoneAccountDisabled, .refuse(.userDisabled)))
        #expect(decide(owner: disabled, target: .fixture("t", email: bob)).rule == .phoneInUse)
    }

    @Test func `N5: a number is no first factor beside a second one`() {
        let protected = Account.fixture("n", email: ann, phone: true, secondFactor: true)
        let refused = Verdict<SignInDecision>(.phoneRefusedWithSecondFactor, .refuse(.unsupportedFirstFactor))
        #expect(decide(owner: protected) == refused)
        #expect(decide(owner: protected, target: protected, operation: .reauthenticate) == refused)
        #expect(decide(target: .fixture("t", email: bob, secondFactor: true), operation: .link) == refused)
        #expect(
            decideSendPhoneCode(policy: LinkPolicy(), owner: protected, isRegionAllowed: true)
                == Verdict(.phoneRefusedWithSecondFactor, .unsupportedFirstFactor)
        )
    }

    @Test(arguments: [PhoneOperation.unspecified, .link, .update, .signUpOrIn], [PhoneProof.code, .temporaryProof])
    func `N6: a number is set on the session's account, in place of another`(
        operation: PhoneOperation,
        proof: PhoneProof
    ) {
        var target = Account.fixture("t", email: bob)
        let expected = Verdict<SignInDecision>(.phoneLinked, .signIn(user("t"), setting, emailWasRecycled: false))
        #expect(decide(target: target, operation: operation, shownBy: proof) == expected)
        target.phoneNumber = number("+16505551111")
        #expect(decide(target: target, operation: operation, shownBy: proof) == expected)
        #expect(target.applying(setting).phoneNumber == annsNumber)
    }

    @Test(arguments: PhoneOperation.allCases)
    func `N7: the account's own number signs in and writes nothing`(operation: PhoneOperation) {
        #expect(
            decide(owner: owner, target: owner, operation: operation)
                == Verdict(.phoneAlreadyLinked, .signIn(user("n"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `N8 and N9: another account's number is not attached, by code or by temporary proof`() {
        let target = Account.fixture("t", email: bob, secondFactor: true)
        #expect(decide(owner: owner, target: target) == Verdict(.phoneInUse, .refuse(.phoneNumberExists)))
        #expect(
            decide(owner: owner, target: target, shownBy: .temporaryProof)
                == Verdict(.phoneInUseTemporaryProof, .refuse(.phoneNumberExists))
        )
    }

    @Test func `N10: the temporary proof of a conflict signs its owner in`() {
        #expect(
            decide(owner: owner, shownBy: .temporaryProof)
                == Verdict(.signInByTemporaryProof, .signIn(user("n"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `N12: if clients may not sign up, a number creates no account`() {
        let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }
        #expect(decide(policy: closed) == Verdict(.phoneSignUpNotAllowed, .refuse(.signUpDisabled)))
        #expect(decide(owner: owner, policy: closed).rule == .signInByPhoneCode)
        #expect(decide(target: .fixture("t"), policy: closed).rule == .anonymousUpgradedByPhone)
    }

    @Test func `N13: a number makes an anonymous account permanent under its id`() {
        #expect(
            decide(target: .fixture("t"), operation: .link)
                == Verdict(.anonymousUpgradedByPhone, .signIn(user("t"), setting, emailWasRecycled: false))
        )
    }

    @Test func `N14 and N15: a code is sent to the project's regions only, for any number`() {
        let policy = LinkPolicy()
        #expect(
            decideSendPhoneCode(policy: policy, owner: owner, isRegionAllowed: false)
                == Verdict(.phoneRegionNotAllowed, .messageRegionNotAllowed)
        )
        let disabled = Account.fixture("n", phone: true, disabled: true)
        for owner in [nil, owner, disabled] {
            #expect(
                decideSendPhoneCode(policy: policy, owner: owner, isRegionAllowed: true) == Verdict(.phoneCodeSent, nil)
            )
        }
    }
}
