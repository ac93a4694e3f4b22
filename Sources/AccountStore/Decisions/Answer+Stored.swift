import AccountLinking
import JSON

// Answers as they are kept: written, shown and compared, never read back. What is written once is never renamed.

extension Question {
    /// What the rules answer, as it is kept.
    func answer(_ policy: LinkPolicy) -> JSONValue {
        switch self {
        case .signIn(let question): question.verdict(policy).decision.stored
        case .update(let question): question.verdict(policy).decision.stored
        case .resolution(let question): question.verdict(policy).decision.stored
        }
    }
}

private func answer(_ kind: String, _ members: [String: JSONValue?] = [:]) -> JSONValue {
    .object(members.compactMapValues(\.self).merging(["kind": .string(kind)]) { $1 })
}

extension SignInDecision {
    fileprivate var stored: JSONValue {
        switch self {
        case .createUser(let change):
            answer("createUser", ["change": change.stored])
        case .signIn(let user, let change, let emailWasRecycled):
            answer(
                "signIn",
                [
                    "user": .string(user.rawValue), "change": change.stored,
                    "emailRecycled": emailWasRecycled ? .bool(true) : nil,
                ]
            )
        case .secondFactorRequired(let user): answer("secondFactorRequired", ["user": .string(user.rawValue)])
        case .conflict(let conflict): answer("conflict", conflict.stored)
        case .refuse(let refusal): answer("refuse", ["refusal": .string(refusal.rawValue)])
        }
    }
}

extension UpdateDecision {
    fileprivate var stored: JSONValue {
        switch self {
        case .apply(let user, let change, let issuesTokens):
            answer(
                "apply",
                [
                    "user": .string(user.rawValue), "change": change.stored,
                    "issuesTokens": issuesTokens ? .bool(true) : nil,
                ]
            )
        case .takeAddress(let user, let change, let owner, let loss):
            answer(
                "takeAddress",
                [
                    "user": .string(user.rawValue), "change": change.stored, "from": .string(owner.rawValue),
                    "loss": loss.stored,
                ]
            )
        case .unchanged(let user): answer("unchanged", ["user": .string(user.rawValue)])
        case .refuse(let refusal): answer("refuse", ["refusal": .string(refusal.rawValue)])
        }
    }
}

extension ResolutionDecision {
    fileprivate var stored: JSONValue {
        switch self {
        case .resolve(let user, let change):
            answer("resolve", ["user": .string(user.rawValue), "change": change.stored])
        case .refuse(let refusal): answer("refuse", ["refusal": .string(refusal.name)])
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

extension Conflict {
    fileprivate var stored: [String: JSONValue?] {
        switch self {
        case .accountExistsWithDifferentCredential(let account, let verifiedProviders):
            [
                "conflict": .string(ConflictKind.accountExistsWithDifferentCredential.rawValue),
                "account": .string(account.rawValue),
                "verifiedProviders": .array(verifiedProviders.map { .string($0.rawValue) }),
            ]
        case .credentialAlreadyInUse(let account):
            [
                "conflict": .string(ConflictKind.credentialAlreadyInUse.rawValue),
                "account": .string(account.rawValue),
            ]
        case .emailAlreadyInUse(let account):
            ["conflict": .string(ConflictKind.emailAlreadyInUse.rawValue), "account": .string(account.rawValue)]
        }
    }
}

extension AccountChange {
    /// What changes, by name; nothing that stays.
    fileprivate var stored: JSONValue {
        var members: [String: JSONValue] = [:]
        switch email {
        case .keep: break
        case .set(let address, let proof):
            members["email"] = .string(address.canonical)
            members["emailProof"] = proof.map { .string($0.name) } ?? .null
        case .prove(let proof): members["emailProof"] = .string(proof.name)
        case .unprove: members["emailProof"] = .null
        case .remove: members["email"] = .null
        }
        if let address = rememberedInitialEmail { members["initialEmail"] = .string(address.canonical) }
        switch password {
        case .keep: break
        case .set: members["password"] = .bool(true)
        case .remove: members["password"] = .bool(false)
        }
        members["emailLink"] = emailLink.map(JSONValue.bool)
        switch phone {
        case .keep: break
        case .set(let number): members["phone"] = .string(number.rawValue)
        case .release: members["phone"] = .string("released")
        case .remove: members["phone"] = .null
        }
        if let identity = linkedIdentity { members["linked"] = .string(identity.provider.rawValue) }
        if !unlinkedProviders.isEmpty {
            members["unlinked"] = .array(unlinkedProviders.sorted().map { .string($0.rawValue) })
        }
        if quarantinesRemovals { members["quarantines"] = .bool(true) }
        switch profile {
        case .keep: break
        case .fillBlanks: members["profile"] = .string("fillBlanks")
        case .replace: members["profile"] = .string("replace")
        case .rename: members["profile"] = .string("rename")
        }
        members["disabled"] = isDisabled.map(JSONValue.bool)
        members["customTokens"] = usesCustomTokens.map(JSONValue.bool)
        if endsSessions { members["endsSessions"] = .bool(true) }
        if voidsOutstandingProofs { members["voidsProofs"] = .bool(true) }
        return .object(members)
    }
}
