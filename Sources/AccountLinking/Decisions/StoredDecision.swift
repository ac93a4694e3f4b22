/// A decision that Concord stores with its question.
package protocol StoredDecision: Sendable, Hashable {
    var stored: StoredAnswer { get }
    var outcome: SimulatedOutcome { get }
}

/// A decision in its stored form, which is written, shown and compared, and never read back. Names are never changed.
package struct StoredAnswer: Encodable {
    var kind: String
    var user: UserID?
    var change: AccountChange?
    var emailRecycled: Bool?
    var issuesTokens: Bool?
    /// The account that loses an address, and its change.
    var from: UserID?
    var loss: AccountChange?
    var refusal: String?
    var conflict: ConflictKind?
    var account: UserID?
    var verifiedProviders: [ProviderID]?
}

extension SignInDecision: StoredDecision {
    package var stored: StoredAnswer {
        switch self {
        case .createUser(let change): StoredAnswer(kind: "createUser", change: change)
        case .signIn(let user, let change, let isRecycled):
            StoredAnswer(kind: "signIn", user: user, change: change, emailRecycled: isRecycled ? true : nil)
        case .secondFactorRequired(let user): StoredAnswer(kind: "secondFactorRequired", user: user)
        case .conflict(.accountExistsWithDifferentCredential(let account, let providers)):
            StoredAnswer(
                kind: "conflict",
                conflict: .accountExistsWithDifferentCredential,
                account: account,
                verifiedProviders: providers
            )
        case .conflict(.credentialAlreadyInUse(let account)):
            StoredAnswer(kind: "conflict", conflict: .credentialAlreadyInUse, account: account)
        case .conflict(.emailAlreadyInUse(let account)):
            StoredAnswer(kind: "conflict", conflict: .emailAlreadyInUse, account: account)
        case .conflict(.unprovenAddress): StoredAnswer(kind: "confirmAddress")
        case .conflict(.firstSignIn): StoredAnswer(kind: "askFirst")
        case .refuse(let refusal): StoredAnswer(kind: "refuse", refusal: refusal.rawValue)
        }
    }
}

extension UpdateDecision: StoredDecision {
    package var stored: StoredAnswer {
        switch self {
        case .apply(let user, let change, let issuesTokens):
            StoredAnswer(kind: "apply", user: user, change: change, issuesTokens: issuesTokens ? true : nil)
        case .takeAddress(let user, let change, let owner, let loss):
            StoredAnswer(kind: "takeAddress", user: user, change: change, from: owner, loss: loss)
        case .unchanged(let user): StoredAnswer(kind: "unchanged", user: user)
        case .refuse(let refusal): StoredAnswer(kind: "refuse", refusal: refusal.rawValue)
        }
    }
}

extension ResolutionDecision: StoredDecision {
    package var stored: StoredAnswer {
        switch self {
        case .resolve(let user, let change): StoredAnswer(kind: "resolve", user: user, change: change)
        case .refuse(let refusal): StoredAnswer(kind: "refuse", refusal: refusal.name)
        }
    }
}

extension LinkConfirmedDecision: StoredDecision {
    package var stored: StoredAnswer {
        switch self {
        case .openConflict(let account):
            StoredAnswer(kind: "conflict", conflict: .accountExistsWithDifferentCredential, account: account)
        case .refuse(let refusal): StoredAnswer(kind: "refuse", refusal: refusal.rawValue)
        }
    }
}

extension ConflictRefusal {
    fileprivate var name: String {
        switch self {
        case .unknown: "unknown"
        case .closed(let state): state.rawValue
        case .expired: "expired"
        case .unproven: "unproven"
        case .wrongAnswer: "wrongAnswer"
        case .tooManyAttempts: "tooManyAttempts"
        case .tooManyMails: "tooManyMails"
        case .proofExpired: "proofExpired"
        case .proofStale: "proofStale"
        case .refused(let refusal): refusal.rawValue
        case .secondFactorRequired: "secondFactorRequired"
        case .providerAlreadyLinked: "providerAlreadyLinked"
        case .proofNotOffered: "proofNotOffered"
        }
    }
}

/// Stored by the names of the changed values, without the others.
extension AccountChange: Encodable {
    private enum CodingKeys: String, CodingKey {
        case email, emailProof, initialEmail, password, emailLink, phone, linked, unlinked, quarantines, profile
        case disabled, customTokens, endsSessions, voidsProofs
    }

    package func encode(to encoder: any Encoder) throws {
        var changes = encoder.container(keyedBy: CodingKeys.self)
        switch email {
        case .keep: break
        case .set(let address, let proof):
            try changes.encode(address, forKey: .email)
            try changes.encode(proof, forKey: .emailProof)
        case .prove(let proof): try changes.encode(proof, forKey: .emailProof)
        case .unprove: try changes.encodeNil(forKey: .emailProof)
        case .remove: try changes.encodeNil(forKey: .email)
        }
        try changes.encodeIfPresent(rememberedInitialEmail, forKey: .initialEmail)
        switch password {
        case .keep: break
        case .set: try changes.encode(true, forKey: .password)
        case .remove: try changes.encode(false, forKey: .password)
        }
        try changes.encodeIfPresent(emailLink, forKey: .emailLink)
        switch phone {
        case .keep: break
        case .set(let number): try changes.encode(number, forKey: .phone)
        case .release: try changes.encode("released", forKey: .phone)
        case .remove: try changes.encodeNil(forKey: .phone)
        }
        try changes.encodeIfPresent(linkedIdentity?.provider, forKey: .linked)
        if !unlinkedProviders.isEmpty { try changes.encode(unlinkedProviders, forKey: .unlinked) }
        if quarantinesRemovals { try changes.encode(true, forKey: .quarantines) }
        switch profile {
        case .keep: break
        case .fillBlanks: try changes.encode("fillBlanks", forKey: .profile)
        case .replace: try changes.encode("replace", forKey: .profile)
        case .rename: try changes.encode("rename", forKey: .profile)
        }
        try changes.encodeIfPresent(isDisabled, forKey: .disabled)
        try changes.encodeIfPresent(usesCustomTokens, forKey: .customTokens)
        if endsSessions { try changes.encode(true, forKey: .endsSessions) }
        if voidsOutstandingProofs { try changes.encode(true, forKey: .voidsProofs) }
    }
}
