/// The reason for which an import skips a row.
package enum ImportRefusal: Error, Sendable, Hashable {
    case missingLocalID
    case invalidLocalID
    case tenantMismatch
    case invalidClaims
    case claimsTooLarge
    case reservedClaim
    /// A linked identity names no provider or no subject.
    case incompleteIdentity
    /// Two identities of one provider: an account has one of each.
    case repeatedProvider
    case invalidPhoneNumber
    case invalidEmail
    case unsupportedSecondFactor
    case invalidSecondFactorNumber
    case repeatedSecondFactor
    case tooManySecondFactors
    /// A value that is too long, of another type or out of range; the field's name on the wire.
    case unusableField(String)
    /// The hash is not of the named algorithm, or names an unknown key.
    case invalidPasswordHash
    case weakPassword
    case repeatedLocalID
    case secondFactorNeedsEmail
    case secondFactorNeedsVerifiedEmail
    case identityTaken
    case phoneNumberTaken
    case emailTaken
    case accountExists
    /// The account was merged into another.
    case accountMerged
}

/// The identifiers in a readable row.
package struct ImportedFacts: Sendable, Hashable {
    package var id: UserID
    package var email: EmailAddress?
    package var isEmailVerified: Bool
    package var phoneNumber: PhoneNumber?
    /// At most one of each provider.
    package var identities: [ProviderIdentity]
    package var hasSecondFactor: Bool

    package init(
        id: UserID,
        email: EmailAddress? = nil,
        isEmailVerified: Bool = false,
        phoneNumber: PhoneNumber? = nil,
        identities: [ProviderIdentity] = [],
        hasSecondFactor: Bool = false
    ) {
        self.id = id
        self.email = email
        self.isEmailVerified = isEmailVerified
        self.phoneNumber = phoneNumber
        self.identities = identities
        self.hasSecondFactor = hasSecondFactor
    }
}

/// The owners of a row's identifiers, in the database or in an earlier row of the request.
package struct ImportOwners: Sendable, Hashable {
    package var ofEmail: UserID?
    package var ofPhoneNumber: UserID?
    /// Owners of the identities.
    package var ofIdentities: Set<UserID>

    package init(ofEmail: UserID? = nil, ofPhoneNumber: UserID? = nil, ofIdentities: Set<UserID> = []) {
        self.ofEmail = ofEmail
        self.ofPhoneNumber = ofPhoneNumber
        self.ofIdentities = ofIdentities
    }
}

/// The account that already has the row's id.
package enum ImportTarget: Sendable, Hashable, CaseIterable {
    case none
    /// None, because it was merged into another.
    case mergedAway
    /// The account equals the row.
    case same
    case other
}

package enum ImportDecision: Sendable, Hashable {
    case create
    /// The row replaces the account; every session ends.
    case replace
    /// The account equals the row; nothing is written.
    case unchanged
    case refuse(ImportRefusal)
}

/// Decides a row of an import: rows Z. Policy about clients does not apply.
///
/// - `row`: its identifiers, or the reason why it is unreadable.
/// - `isRepeated`: an earlier row of the import has the same id.
package func decideImportAccount(
    _ row: Result<ImportedFacts, ImportRefusal>,
    isRepeated: Bool,
    target: ImportTarget,
    owners: ImportOwners,
    allowsOverwrite: Bool
) -> Verdict<ImportDecision> {
    let facts: ImportedFacts
    switch row {
    case .failure(let refusal): return Verdict(.importUnreadable, .refuse(refusal))
    case .success(let read): facts = read
    }
    if isRepeated { return Verdict(.importDuplicateRow, .refuse(.repeatedLocalID)) }
    if facts.hasSecondFactor {
        if facts.email == nil { return Verdict(.importFactorsNeedProvenEmail, .refuse(.secondFactorNeedsEmail)) }
        if !facts.isEmailVerified {
            return Verdict(.importFactorsNeedProvenEmail, .refuse(.secondFactorNeedsVerifiedEmail))
        }
    }
    if !owners.ofIdentities.subtracting([facts.id]).isEmpty {
        return Verdict(.importIdentityInUse, .refuse(.identityTaken))
    }
    if let owner = owners.ofPhoneNumber, owner != facts.id {
        return Verdict(.importPhoneInUse, .refuse(.phoneNumberTaken))
    }
    if let owner = owners.ofEmail, owner != facts.id { return Verdict(.importEmailInUse, .refuse(.emailTaken)) }
    switch target {
    case .mergedAway: return Verdict(.importAccountMerged, .refuse(.accountMerged))
    case .none: return Verdict(.importCreates, .create)
    case .same: return Verdict(.importUnchanged, .unchanged)
    case .other:
        return allowsOverwrite
            ? Verdict(.importOverwrites, .replace) : Verdict(.importNotOverwritten, .refuse(.accountExists))
    }
}
