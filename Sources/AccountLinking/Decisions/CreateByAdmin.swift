/// An account that an administrator creates.
package struct NewAccount: Sendable, Hashable {
    package var email: EmailAddress?
    package var isEmailVerified: Bool
    package var hasPassword: Bool
    package var phoneNumber: PhoneNumber?
    package var isDisabled: Bool

    package init(
        email: EmailAddress? = nil,
        isEmailVerified: Bool = false,
        hasPassword: Bool = false,
        phoneNumber: PhoneNumber? = nil,
        isDisabled: Bool = false
    ) {
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.hasPassword = hasPassword
        self.phoneNumber = phoneNumber
        self.isDisabled = isDisabled
    }
}

/// Decides a creation by an administrator: rows P8 and P12. Policy about clients does not apply.
///
/// - `isIDTaken`: an account has the identifier.
/// - `isPhoneNumberTaken`: an account owns the number.
/// - `isEmailTaken`: an account owns the address.
package func decideCreateByAdmin(
    request: NewAccount,
    isIDTaken: Bool,
    isPhoneNumberTaken: Bool,
    isEmailTaken: Bool
) -> Verdict<CreationDecision> {
    if isIDTaken { return Verdict(.adminCreateIdentifierTaken, .refuse(.duplicateLocalID)) }
    if isPhoneNumberTaken { return Verdict(.adminCreateIdentifierTaken, .refuse(.phoneNumberExists)) }
    if isEmailTaken { return Verdict(.adminCreateIdentifierTaken, .refuse(.emailExists)) }
    var change = AccountChange()
    if let email = request.email {
        change.email = .set(email, proof: request.isEmailVerified ? .administrator : nil)
    }
    if request.hasPassword { change.password = .set }
    if let phoneNumber = request.phoneNumber { change.phone = .set(phoneNumber) }
    if request.isDisabled { change.isDisabled = true }
    return Verdict(.accountCreatedByAdmin, .create(change))
}
