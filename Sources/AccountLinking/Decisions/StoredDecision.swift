/// A decision that Concord stores with its question. Its stored form is written, shown and compared, and never read back. What is
/// written once is never renamed.
package protocol StoredDecision: Sendable, Hashable, Encodable {
    var outcome: SimulatedOutcome { get }
}

private enum AnswerKey: String, CodingKey {
    case kind, user, change, from, loss, refusal
    case emailRecycled, issuesTokens
    case conflict, account, verifiedProviders
}

extension SignInDecision: StoredDecision {
    package func encode(to encoder: any Encoder) throws {
        var answer = encoder.container(keyedBy: AnswerKey.self)
        switch self {
        case .createUser(let change):
            try answer.encode("createUser", forKey: .kind)
            try answer.encode(change, forKey: .change)
        case .signIn(let user, let change, let emailWasRecycled):
            try answer.encode("signIn", forKey: .kind)
            try answer.encode(user, forKey: .user)
            try answer.encode(change, forKey: .change)
            if emailWasRecycled { try answer.encode(true, forKey: .emailRecycled) }
        case .secondFactorRequired(let user):
            try answer.encode("secondFactorRequired", forKey: .kind)
            try answer.encode(user, forKey: .user)
        case .conflict(let conflict):
            try answer.encode("conflict", forKey: .kind)
            try conflict.encode(to: encoder)
        case .refuse(let refusal):
            try answer.encode("refuse", forKey: .kind)
            try answer.encode(refusal.rawValue, forKey: .refusal)
        }
    }
}

extension UpdateDecision: StoredDecision {
    package func encode(to encoder: any Encoder) throws {
        var answer = encoder.container(keyedBy: AnswerKey.self)
        switch self {
        case .apply(let user, let change, let issuesTokens):
            try answer.encode("apply", forKey: .kind)
            try answer.encode(user, forKey: .user)
            try answer.encode(change, forKey: .change)
            if issuesTokens { try answer.encode(true, forKey: .issuesTokens) }
        case .takeAddress(let user, let change, let owner, let loss):
            try answer.encode("takeAddress", forKey: .kind)
            try answer.encode(user, forKey: .user)
            try answer.encode(change, forKey: .change)
            try answer.encode(owner, forKey: .from)
            try answer.encode(loss, forKey: .loss)
        case .unchanged(let user):
            try answer.encode("unchanged", forKey: .kind)
            try answer.encode(user, forKey: .user)
        case .refuse(let refusal):
            try answer.encode("refuse", forKey: .kind)
            try answer.encode(refusal.rawValue, forKey: .refusal)
        }
    }
}

extension ResolutionDecision: StoredDecision {
    package func encode(to encoder: any Encoder) throws {
        var answer = encoder.container(keyedBy: AnswerKey.self)
        switch self {
        case .resolve(let user, let change):
            try answer.encode("resolve", forKey: .kind)
            try answer.encode(user, forKey: .user)
            try answer.encode(change, forKey: .change)
        case .refuse(let refusal):
            try answer.encode("refuse", forKey: .kind)
            try answer.encode(refusal.name, forKey: .refusal)
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

extension Conflict: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var answer = encoder.container(keyedBy: AnswerKey.self)
        switch self {
        case .accountExistsWithDifferentCredential(let account, let verifiedProviders):
            try answer.encode(ConflictKind.accountExistsWithDifferentCredential.rawValue, forKey: .conflict)
            try answer.encode(account, forKey: .account)
            try answer.encode(verifiedProviders, forKey: .verifiedProviders)
        case .credentialAlreadyInUse(let account):
            try answer.encode(ConflictKind.credentialAlreadyInUse.rawValue, forKey: .conflict)
            try answer.encode(account, forKey: .account)
        case .emailAlreadyInUse(let account):
            try answer.encode(ConflictKind.emailAlreadyInUse.rawValue, forKey: .conflict)
            try answer.encode(account, forKey: .account)
        }
    }
}

/// Stored by the names of what changes; what stays is left out.
extension AccountChange: Encodable {
    private enum CodingKeys: String, CodingKey {
        case email, emailProof, initialEmail, password, emailLink, phone, linked, unlinked, quarantines, profile,
            disabled,
            customTokens, endsSessions, voidsProofs
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
