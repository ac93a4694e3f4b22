/// What a client asks of `accounts:signUp`.
package enum SignUpRequest: Sendable, Hashable {
    case anonymous
    case password(EmailAddress)
    /// Sets address and password of the account of the session (also `accounts:update` with both).
    ///
    /// - `isSessionRecent`: whether the session may change address and password (`reauthentication`).
    case linkPassword(EmailAddress, to: Account, isSessionRecent: Bool)
}

/// Decides a client's sign-up, with or without a session: rows P.
///
/// Total and pure; the first matching rule wins. A taken address is reported with enumeration protection too
/// (rule P1).
///
/// - `emailOwner`: the account that owns the address of the request; `nil` for an anonymous one.
/// - `displayName`: what the account is to be called; `nil` leaves that as it is.
package func decideSignUp(
    policy: LinkPolicy,
    request: SignUpRequest,
    emailOwner: Account?,
    displayName: String? = nil
) -> Verdict<SignInDecision> {
    var change = AccountChange()
    if let displayName { change.profile = .rename(displayName) }
    switch request {
    case .anonymous:
        guard policy.allowsAnonymousSignUp else {
            return Verdict(.anonymousSignUpNotEnabled, .refuse(.anonymousSignUpDisabled))
        }
        guard policy.allowsClientSignUp else { return Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)) }
        return Verdict(.anonymousSignUp, .createUser(change))

    case .password(let email):
        guard policy.allowsPasswordSignIn else {
            return Verdict(.signUpPasswordNotEnabled, .refuse(.operationNotAllowed))
        }
        guard policy.allowsClientSignUp else { return Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)) }
        if let emailOwner {
            // One answer, three reasons; support wants to know which.
            let isWithoutPassword = !emailOwner.hasPassword && !emailOwner.hasEmailLink
            let rule: Rule =
                isWithoutPassword
                ? (emailOwner.linkedProviders.isEmpty ? .signUpEmailOfBareAccount : .signUpEmailOfProviderAccount)
                : .signUpEmailExists
            return Verdict(rule, .refuse(.emailExists))
        }
        change.email = .set(email, proof: nil)
        change.password = .set
        return Verdict(
            policy.isOneAccountPerEmail ? .signUpByPassword : .signUpDuplicateEmailsAllowed,
            .createUser(change)
        )

    case .linkPassword(let email, let target, let isSessionRecent):
        guard policy.allowsPasswordSignIn else {
            return Verdict(.signUpPasswordNotEnabled, .refuse(.operationNotAllowed))
        }
        if target.isDisabled { return Verdict(.passwordLinkAccountDisabled, .refuse(.userDisabled)) }
        guard isSessionRecent else { return Verdict(.passwordLinkNeedsRecentSignIn, .refuse(.credentialTooOld)) }
        change.password = .set
        change.endsSessions = true
        guard let emailOwner else {
            change.email = .set(email, proof: nil)
            // This is a change of address by another road, so it is refused where U1 refuses one; also where the address was
            // taken off first.
            if target.hasHadEmail, policy.protectsEmailEnumeration {
                return Verdict(.passwordLinkNeedsVerifiedEmail, .refuse(.emailChangeNeedsVerification))
            }
            if policy.secondFactorsNeedProvenAddress, target.hasSecondFactor {
                return Verdict(.passwordNeedsProvenAddress, .refuse(.unverifiedEmail))
            }
            if !target.hasInitialEmail { change.rememberedInitialEmail = target.email?.address }
            return Verdict(.emailAndPasswordLinked, .signIn(target.id, change, emailWasRecycled: false))
        }
        if emailOwner.id != target.id { return Verdict(.passwordLinkEmailInUse, .refuse(.emailExists)) }
        return Verdict(.passwordAddedToOwnEmail, .signIn(target.id, change, emailWasRecycled: false))
    }
}
