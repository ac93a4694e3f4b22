/// The decision about a request for a code that resets a password or changes an address.
package enum SendEmailCodeDecision: Sendable, Hashable {
    case mail
    /// Give the same answer after the same work, but store a void code and mail none.
    ///
    /// - `warnsOwner`: the owner of the new address is mailed about the request.
    case withhold(warnsOwner: Bool)
    case refuse(Refusal)
}

/// Decides whether the account of a request for a code can be mailed: rows M13 and M14. For codes that verify or change
/// the address of an account.
///
/// - `user`: the account of the session, or the owner of the address that an administrator names; `nil` if there is
///   none.
package func decideFindMailedAccount(_ user: UserRecord?) -> Lookup<MailedAccount, EmailCodeRefusal> {
    guard let user else { return .refused(Verdict(.mailedCodeUnknownAccount, .refused(.userNotFound))) }
    guard let email = user.email else { return .refused(Verdict(.mailedCodeWithoutEmail, .noAddress)) }
    return .found(MailedAccount(user: user, address: email.address))
}

/// An account and its address.
package struct MailedAccount: Sendable, Hashable {
    package let user: UserRecord
    package let address: EmailAddress
}

/// Decides whether a code that resets a password is mailed: rows M15, M18 and M19.
///
/// With enumeration protection an administrator gets the protected answer too, as in Firebase.
///
/// - `owner`: the account that owns the address.
package func decideSendPasswordReset(policy: LinkPolicy, owner: UserID?) -> Verdict<SendEmailCodeDecision> {
    if owner != nil { return Verdict(.mailedCodeSent, .mail) }
    guard policy.protectsEmailEnumeration else { return Verdict(.resetOfUnknownEmail, .refuse(.emailNotFound)) }
    return Verdict(.mailedCodeWithheld, .withhold(warnsOwner: false))
}

/// Decides whether a code that changes the address of an account is mailed to the new address: rows M16 to M19.
///
/// - `account`: the account to change.
/// - `owner`: the account that owns the new address.
/// - `reservation`: the reservation of the new address.
/// - `isSessionRecent`: true if the session signed in recently (`SensitiveOperation.requestEmailChange`), or an
///   administrator requests the code.
package func decideSendEmailChange(
    policy: LinkPolicy,
    account: UserID,
    newAddress: EmailAddress,
    owner: UserID?,
    reservation: AddressReservation?,
    isSessionRecent: Bool,
    isAdministrator: Bool
) -> Verdict<SendEmailCodeDecision> {
    guard isSessionRecent else { return Verdict(.mailedChangeNeedsRecentSignIn, .refuse(.credentialTooOld)) }
    let isOwned = owner.map { $0 != account } ?? false
    var change = AccountChange()
    change.email = .set(newAddress, proof: .emailCode)
    let isReserved = decideTakeAddress(change, by: account, reservation: reservation) != nil
    guard isOwned || isReserved else { return Verdict(.mailedCodeSent, .mail) }
    guard policy.protectsEmailEnumeration, !isAdministrator else {
        return Verdict(.mailedChangeEmailExists, .refuse(.emailExists))
    }
    return Verdict(.mailedCodeWithheld, .withhold(warnsOwner: isOwned))
}
