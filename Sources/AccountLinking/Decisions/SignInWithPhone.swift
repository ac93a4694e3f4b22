/// What a client says it means to do with a number (`operation` on the wire); raw values are the wire's.
package enum PhoneOperation: String, Sendable, Hashable, CaseIterable {
    case unspecified = "VERIFY_OP_UNSPECIFIED"
    case signUpOrIn = "SIGN_UP_OR_IN"
    case reauthenticate = "REAUTH"
    case update = "UPDATE"
    case link = "LINK"
}

/// How somebody showed to hold a number; raw values are kept with decisions.
package enum PhoneProof: String, Sendable, Hashable, CaseIterable {
    /// The code of a message came back.
    case code
    /// The code had come back before, when the number was somebody else's (N8).
    case temporaryProof
}

/// A sign-in by a number that a client has proven to hold: rows N.
///
/// A number never merges accounts by an address, and is never followed by a second factor: who could receive the one could
/// receive the other. The number that another one replaces is free again.
package struct SignInWithPhoneQuestion {
    package var number: PhoneNumber
    /// The account that owns the number.
    package var owner: Account?
    /// The account of the session, if the number is to be attached to it.
    package var target: Account?
    package var operation: PhoneOperation
    package var proof: PhoneProof
    /// True if that session signed in a moment ago (`SensitiveOperation.changePhoneNumber`), or without one.
    package var isSessionRecent: Bool
    /// The credential that waits for the account.
    package var waiting: WaitingCredential?

    package init(
        number: PhoneNumber,
        owner: Account?,
        target: Account?,
        operation: PhoneOperation,
        proof: PhoneProof,
        isSessionRecent: Bool,
        waiting: WaitingCredential? = nil
    ) {
        self.number = number
        self.owner = owner
        self.target = target
        self.operation = operation
        self.proof = proof
        self.isSessionRecent = isSessionRecent
        self.waiting = waiting
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        decideAlone(policy).linking(waiting, toOneOf: accounts, isSessionRecent: isSessionRecent, policy)
    }

    /// The refusal of every sign-in by a number; `nil` if policy allows them. Known before the code is read.
    package static func refusal(under policy: LinkPolicy) -> Verdict<Refusal>? {
        policy.allowsPhoneSignIn ? nil : Verdict(.phoneNotEnabled, .operationNotAllowed)
    }

    private func decideAlone(_ policy: LinkPolicy) -> Verdict<SignInDecision> {
        if let refusal = Self.refusal(under: policy) { return Verdict(refusal.rule, .refuse(refusal.decision)) }
        if (target ?? owner)?.isDisabled ?? false { return Verdict(.phoneAccountDisabled, .refuse(.userDisabled)) }
        if operation == .reauthenticate, owner == nil || target.map({ $0.id != owner?.id }) ?? false {
            return Verdict(.reauthenticationOfUnknownNumber, .refuse(.userNotFound))
        }
        // Before the owner is looked at: a stolen old session must not find out who has the number.
        if policy.linkingNeedsRecentSignIn, let target, owner?.id != target.id, !isSessionRecent {
            return Verdict(.numberNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
        if let owner, let target, owner.id != target.id {
            switch proof {
            case .code: return Verdict(.phoneInUse, .refuse(.phoneNumberExists))
            case .temporaryProof: return Verdict(.phoneInUseTemporaryProof, .refuse(.phoneNumberExists))
            }
        }
        if (target ?? owner)?.hasSecondFactor ?? false {
            return Verdict(.phoneRefusedWithSecondFactor, .refuse(.unsupportedFirstFactor))
        }

        var change = AccountChange()
        switch (target, owner) {
        case (.some(let target), .some):
            return Verdict(.phoneAlreadyLinked, .signIn(target.id, change, emailWasRecycled: false))
        case (.some(let target), .none):
            change.phone = .set(number)
            return Verdict(
                target.isAnonymous ? .anonymousUpgradedByPhone : .phoneLinked,
                .signIn(target.id, change, emailWasRecycled: false)
            )
        case (.none, .some(let owner)):
            let rule: Rule =
                switch proof {
                case .code: .signInByPhoneCode
                case .temporaryProof: .signInByTemporaryProof
                }
            return Verdict(rule, .signIn(owner.id, change, emailWasRecycled: false))
        case (.none, .none):
            guard policy.allowsClientSignUp else { return Verdict(.phoneSignUpNotAllowed, .refuse(.signUpDisabled)) }
            change.phone = .set(number)
            return Verdict(.signUpByPhone, .createUser(change))
        }
    }
}

extension SignInWithPhoneQuestion: SettlingQuestion {
    package static let name = "signInWithPhone"

    package enum CodingKeys: String, CodingKey {
        case owner, target, operation, waiting
        case number = "phone"
        case proof = "shownBy"
        case isSessionRecent = "sessionRecent"
    }

    package var accounts: [Account] { [owner, target].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        number.rename(by: &names)
        owner?.rename(by: &names)
        target?.rename(by: &names)
        waiting?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .sessionRecent where target != nil: isSessionRecent.toggle()
        case .numberTaken where owner != nil: owner = nil
        case .accountDisabled:
            owner?.isDisabled.toggle()
            target?.isDisabled.toggle()
        case .providerEnabled, .proofGiven: return waiting?.flip(fact) ?? false
        case .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked, .providerLinked, .createsUsers,
            .sessionRecent, .passwordRight, .passwordLocked, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }

    package mutating func enable(_ providers: Set<ProviderID>) { waiting?.enable(providers) }
}

/// Decides whether a code to sign in with is sent to a number: rows N.
///
/// Total and pure; the first matching rule wins.
///
/// - `owner`: the account that owns the number.
/// - `isRegionAllowed`: whether the project sends messages to where the number is; true for a fictional one.
/// - Returns: why not; `nil` when it is.
package func decideSendPhoneCode(policy: LinkPolicy, owner: Account?, isRegionAllowed: Bool) -> Verdict<Refusal?> {
    if let refusal = SignInWithPhoneQuestion.refusal(under: policy) { return Verdict(refusal.rule, refusal.decision) }
    guard isRegionAllowed else { return Verdict(.phoneRegionNotAllowed, .messageRegionNotAllowed) }
    if owner?.hasSecondFactor ?? false { return Verdict(.phoneRefusedWithSecondFactor, .unsupportedFirstFactor) }
    return Verdict(.phoneCodeSent, nil)
}
