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

/// Decides what happens after a client proved that it holds a number: rows N.
///
/// Total and pure; the first matching rule wins. A number never merges accounts by an address, and is never followed by a
/// second factor: who could receive the one could receive the other. The number that another one replaces is free again.
///
/// - `owner`: the account that owns the number.
/// - `target`: the account of the session, when the number is to be attached to it.
/// - `isSessionRecent`: whether that session signed in a moment ago (`SensitiveOperation.changePhoneNumber`); true
///   without one.
package func decideSignInWithPhone(
    policy: LinkPolicy,
    number: PhoneNumber,
    owner: Account?,
    target: Account?,
    operation: PhoneOperation,
    shownBy proof: PhoneProof,
    isSessionRecent: Bool
) -> Verdict<SignInDecision> {
    guard policy.allowsPhoneSignIn else { return Verdict(.phoneNotEnabled, .refuse(.operationNotAllowed)) }
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

/// Decides whether a code to sign in with is sent to a number: rows N.
///
/// Total and pure; the first matching rule wins.
///
/// - `owner`: the account that owns the number.
/// - `isRegionAllowed`: whether the project sends messages to where the number is; true for a fictional one.
/// - Returns: why not; `nil` when it is.
package func decideSendPhoneCode(policy: LinkPolicy, owner: Account?, isRegionAllowed: Bool) -> Verdict<Refusal?> {
    guard policy.allowsPhoneSignIn else { return Verdict(.phoneNotEnabled, .operationNotAllowed) }
    guard isRegionAllowed else { return Verdict(.phoneRegionNotAllowed, .messageRegionNotAllowed) }
    if owner?.hasSecondFactor ?? false { return Verdict(.phoneRefusedWithSecondFactor, .unsupportedFirstFactor) }
    return Verdict(.phoneCodeSent, nil)
}
