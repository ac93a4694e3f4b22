/// What an administrator asks to change about an account. `nil` and `false` leave things as they are; removing is a
/// `Removal`.
package struct AdminUpdate: Sendable, Hashable {
    package var email: EmailAddress?
    package var isEmailVerified: Bool?
    package var setsPassword: Bool
    package var phoneNumber: PhoneNumber?
    package var isDisabled: Bool?
    /// `linkProviderUserInfo`.
    package var identity: ProviderIdentity?
    /// `validSince`: the user's refresh tokens are revoked.
    package var revokesSessions: Bool

    package init(
        email: EmailAddress? = nil,
        isEmailVerified: Bool? = nil,
        setsPassword: Bool = false,
        phoneNumber: PhoneNumber? = nil,
        isDisabled: Bool? = nil,
        identity: ProviderIdentity? = nil,
        revokesSessions: Bool = false
    ) {
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.setsPassword = setsPassword
        self.phoneNumber = phoneNumber
        self.isDisabled = isDisabled
        self.identity = identity
        self.revokesSessions = revokesSessions
    }
}

/// Decides an update by an administrator. No tokens are issued.
///
/// Total and pure; the first matching rule wins. A new address counts as unverified unless the request says otherwise.
/// A new address, a new password, disabling and revoking end every session.
///
/// - `account`: `nil` when there is none.
/// - `emailOwner`: the account that owns the address of the request.
/// - `phoneOwner`: the account that owns the number of the request.
/// - `identityOwner`: the account that holds the identity of the request.
package func decideUpdateByAdmin(
    account: Account?,
    update: AdminUpdate,
    emailOwner: Account?,
    phoneOwner: Account?,
    identityOwner: Account?
) -> Verdict<UpdateDecision> {
    guard let account else { return Verdict(.adminUpdateUnknownAccount, .refuse(.userNotFound)) }
    if let emailOwner, emailOwner.id != account.id { return Verdict(.adminUpdateEmailExists, .refuse(.emailExists)) }
    if let phoneOwner, phoneOwner.id != account.id {
        return Verdict(.adminUpdatePhoneExists, .refuse(.phoneNumberExists))
    }
    if let identityOwner, identityOwner.id != account.id {
        return Verdict(.adminUpdateIdentityInUse, .refuse(.federatedIdentityAlreadyLinked))
    }

    var change = AccountChange()
    if let email = update.email, email != account.email?.address {
        change.email = .set(email, proof: update.isEmailVerified ?? false ? .administrator : nil)
        change.endsSessions = true
    } else if let isEmailVerified = update.isEmailVerified, account.hasEmail,
        isEmailVerified != account.isEmailVerified
    {
        change.email = isEmailVerified ? .prove(.administrator) : .unprove
    }
    if update.setsPassword {
        change.password = .set
        change.endsSessions = true
    }
    if let phoneNumber = update.phoneNumber, phoneNumber != account.phoneNumber { change.phone = .set(phoneNumber) }
    if let isDisabled = update.isDisabled, isDisabled != account.isDisabled {
        change.isDisabled = isDisabled
        if isDisabled { change.endsSessions = true }
    }
    if let identity = update.identity, account.linkedProviders[identity.provider] != identity.subject {
        change.linkedIdentity = identity
        if account.linkedProviders[identity.provider] != nil { change.unlinkedProviders = [identity.provider] }
    }
    if update.revokesSessions { change.endsSessions = true }

    if change.isEmpty { return Verdict(.adminUpdateUnchanged, .unchanged(account.id)) }
    return Verdict(.accountUpdatedByAdmin, .apply(account.id, change, issuesTokens: false))
}
