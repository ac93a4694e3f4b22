/// The client's intention with a number (`operation`). Raw values are those of the wire.
package enum PhoneOperation: String, Sendable, Hashable, CaseIterable {
    case unspecified = "VERIFY_OP_UNSPECIFIED"
    case signUpOrIn = "SIGN_UP_OR_IN"
    case reauthenticate = "REAUTH"
    case update = "UPDATE"
    case link = "LINK"
}

/// The proof of a number. Raw values are stored with decisions.
package enum PhoneProof: String, Sendable, Hashable, CaseIterable {
    /// The code of a text message.
    case code
    /// The proof that an earlier code earned when another account had the number (N8).
    case temporaryProof
}

/// A sign-in by a proven number: rows N.
///
/// A number never merges accounts by an address. No second factor follows it, because one phone could receive both. A
/// replaced number is free again.
package struct SignInWithPhoneQuestion {
    package var number: PhoneNumber
    /// The account that owns the number.
    package var owner: Account?
    /// The account of the session that the number is added to; `nil` without a session.
    package var target: Account?
    package var operation: PhoneOperation
    package var proof: PhoneProof
    /// True if that session signed in recently (`SensitiveOperation.changePhoneNumber`), or there is none.
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
        // Before the owner: a stolen old session must not learn who has the number.
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

/// Decides whether a sign-in code is sent to a number: rows N.
///
/// - `owner`: the account that owns the number.
/// - `isRegionAllowed`: the project sends messages to the number's region; true for a fictional number.
/// - Returns: the refusal; `nil` if the code is sent.
package func decideSendPhoneCode(policy: LinkPolicy, owner: Account?, isRegionAllowed: Bool) -> Verdict<Refusal?> {
    if let refusal = SignInWithPhoneQuestion.refusal(under: policy) { return Verdict(refusal.rule, refusal.decision) }
    guard isRegionAllowed else { return Verdict(.phoneRegionNotAllowed, .messageRegionNotAllowed) }
    if owner?.hasSecondFactor ?? false { return Verdict(.phoneRefusedWithSecondFactor, .unsupportedFirstFactor) }
    return Verdict(.phoneCodeSent, nil)
}
