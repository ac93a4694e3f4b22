/// An administrator's changes of an account. `nil` and `false` keep the present value; a `Removal` removes one.
package struct AdminUpdate: Sendable, Hashable, Codable {
    package var email: EmailAddress?
    package var isEmailVerified: Bool?
    package var setsPassword: Bool
    package var phoneNumber: PhoneNumber?
    package var isDisabled: Bool?
    /// `linkProviderUserInfo`.
    package var identity: ProviderIdentity?
    /// `validSince`: revokes the user's refresh tokens.
    package var revokesSessions: Bool

    private enum CodingKeys: String, CodingKey {
        case email, setsPassword, revokesSessions
        case isEmailVerified = "emailVerified"
        case phoneNumber = "phone"
        case isDisabled = "disabled"
        case identity = "+identity"
    }

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

    mutating func rename(by names: inout Pseudonyms) {
        email?.rename(by: &names)
        phoneNumber?.rename(by: &names)
        identity?.rename(by: &names)
    }
}

/// An update by an administrator: rows X. No tokens are issued.
///
/// A new address is unverified unless the request says otherwise. A new address, a new password, disabling and revoking
/// end every session.
package struct UpdateByAdminQuestion {
    /// The account; `nil` if there is none.
    package var account: Account?
    package var update: AdminUpdate
    /// The account that owns the address of the request.
    package var emailOwner: Account?
    /// The account that owns the number of the request.
    package var phoneOwner: Account?
    /// The account that holds the identity of the request.
    package var identityOwner: Account?

    package init(
        account: Account?,
        update: AdminUpdate,
        emailOwner: Account?,
        phoneOwner: Account?,
        identityOwner: Account?
    ) {
        self.account = account
        self.update = update
        self.emailOwner = emailOwner
        self.phoneOwner = phoneOwner
        self.identityOwner = identityOwner
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        guard let account else { return Verdict(.adminUpdateUnknownAccount, .refuse(.userNotFound)) }
        if let emailOwner, emailOwner.id != account.id {
            return Verdict(.adminUpdateEmailExists, .refuse(.emailExists))
        }
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
}

extension UpdateByAdminQuestion: Question {
    package static let name = "updateByAdmin"

    package enum CodingKeys: String, CodingKey {
        case account, emailOwner, phoneOwner, identityOwner
        case update = "+update"
    }

    package var accounts: [Account] { [account, emailOwner, phoneOwner, identityOwner].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        account?.rename(by: &names)
        update.rename(by: &names)
        emailOwner?.rename(by: &names)
        phoneOwner?.rename(by: &names)
        identityOwner?.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .emailTaken where emailOwner != nil: emailOwner = nil
        case .identityLinked where identityOwner != nil: identityOwner = nil
        case .providerEnabled, .emailTrusted, .emailProven, .emailTaken, .numberTaken, .identityLinked,
            .accountDisabled, .providerLinked, .createsUsers, .sessionRecent, .passwordRight, .passwordLocked,
            .proofGiven, .methodQuarantined, .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
