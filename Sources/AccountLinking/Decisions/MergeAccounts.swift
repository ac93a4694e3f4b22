/// A field that both accounts of a merge can have, and one account has once.
package enum MergeField: Sendable, Hashable {
    case email
    case password
    case phoneNumber
    case profile(ProfileField)
    case customAttributes
    case provider(ProviderID)

    /// All fields but the providers, in the order of reports.
    package static let fixed: [MergeField] =
        [.email, .password, .phoneNumber] + ProfileField.allCases.map(MergeField.profile) + [.customAttributes]

    /// The name on the wire, in the database and on the command line.
    package var name: String {
        switch self {
        case .email: "email"
        case .password: "password"
        case .phoneNumber: "phoneNumber"
        case .profile(let field): field.name
        case .customAttributes: "customAttributes"
        case .provider(let provider): provider.rawValue
        }
    }

    /// The inverse of `name`; `nil` for an unknown name. A name with a dot is a provider.
    package init?(name: String) {
        if let field = Self.fixed.first(where: { $0.name == name }) {
            self = field
            return
        }
        guard name.contains("."), let provider = ProviderID(name) else { return nil }
        self = .provider(provider)
    }
}

/// One of the two accounts of a merge.
package enum MergeSide: String, Sendable, Hashable, CaseIterable {
    /// The account that stays.
    case survivor
    /// The account that goes.
    case absorbed

    package var other: MergeSide { self == .survivor ? .absorbed : .survivor }
}

/// The caller of a merge.
package enum MergeRequester: Sendable, Hashable {
    /// An operator, with a reason.
    case administrator
    /// A user with a session of each account: first the survivor's, then the other's.
    case owners(OwnerSession, OwnerSession)

    /// The facts of one of the sessions.
    package struct OwnerSession: Sendable, Hashable {
        package var isRecent: Bool
        package var hasSecondFactor: Bool
        package var sessionEpoch: Int64

        /// - `hasSecondFactor`: the session has proven a second factor.
        /// - `sessionEpoch`: the epoch in its token.
        package init(isRecent: Bool, hasSecondFactor: Bool, sessionEpoch: Int64) {
            self.isRecent = isRecent
            self.hasSecondFactor = hasSecondFactor
            self.sessionEpoch = sessionEpoch
        }
    }
}

/// The reason why two accounts are not merged. Raw values are names on the wire.
package enum MergeRefusal: String, Error, Sendable, Hashable, CaseIterable {
    case sameAccount = "same-account"
    case accountNotFound = "account-not-found"
    /// One of the sessions has ended. The answer is that for every ended session.
    case sessionEnded = "session-ended"
    case accountDisabled = "account-disabled"
    case signInAgain = "sign-in-again"
    case secondFactorRequired = "second-factor-required"
    /// The user cannot choose custom attributes, which the backend sets. And while a mail can still undo a change of
    /// the account, a merge by its owner would void the owner's last recovery.
    case needsAdministrator = "needs-administrator"
    /// A choice for a field that neither account has.
    case unknownChoice = "unknown-choice"
    case tooManySecondFactors = "too-many-second-factors"
    /// A factor of each account has the same name.
    case secondFactorRepeated = "second-factor-repeated"
    /// Second factors would depend on an unproven address, or such an address would replace another.
    case unverifiedEmail = "unverified-email"
    case noSignInMethodLeft = "no-sign-in-method-left"
}

/// The result of a merge.
package struct MergePlan: Sendable, Hashable {
    /// A field that at least one of the accounts has.
    package struct Line: Sendable, Hashable {
        package let field: MergeField
        /// The accounts that have it.
        package let owners: Set<MergeSide>
        /// The account whose value is taken; `nil` until it is chosen.
        package let taken: MergeSide?
        /// True if both have the same value.
        package let isAlike: Bool

        /// The account whose value is dropped.
        package var dropped: MergeSide? {
            isAlike ? nil : taken.flatMap { owners.contains($0.other) ? $0.other : nil }
        }
    }

    package let lines: [Line]
    /// The survivor after the merge, without the fields that are not chosen yet.
    package let merged: UserRecord
    /// The absorbed account's second factors that move.
    package let movedFactors: [SecondFactorID]
    /// True if every session of the survivor ends too.
    package let endsSessions: Bool

    /// The fields that must be chosen first.
    package var undecided: [MergeField] { lines.filter { $0.taken == nil }.map(\.field) }

    /// Returns true if the survivor gets the absorbed account's `field`.
    package func takesAbsorbed(_ field: MergeField) -> Bool {
        lines.contains { $0.field == field && $0.taken == .absorbed && $0.owners.contains(.absorbed) }
    }
}

package enum MergeDecision: Sendable, Hashable {
    case merge(MergePlan)
    /// The caller must choose between values.
    case choose(MergePlan)
    case refuse(MergeRefusal)

    package var plan: MergePlan? {
        switch self {
        case .merge(let plan), .choose(let plan): plan
        case .refuse: nil
        }
    }
}

package struct MergeRequest: Sendable, Hashable {
    package var survivor: UserID
    package var absorbed: UserID
    package var choices: [MergeField: MergeSide]
    package var requester: MergeRequester

    package init(survivor: UserID, absorbed: UserID, choices: [MergeField: MergeSide], requester: MergeRequester) {
        self.survivor = survivor
        self.absorbed = absorbed
        self.choices = choices
        self.requester = requester
    }
}

/// The refusal of a merge by a session that is old; `nil` if it is recent. Known before the accounts are read.
package func refusalOfMerge(isSessionRecent: Bool) -> Verdict<MergeRefusal>? {
    isSessionRecent ? nil : Verdict(.mergeNeedsRecentSignIn, .signInAgain)
}

/// Decides whether two accounts are merged, and with which values: rows E.
///
/// After a merge each person with access to one account has access to both. So owners need a session of each, with its
/// second factor. A password with an unproven address is never taken without a choice, because an intruder may have set
/// it.
///
/// - `survivor`, `absorbed`: as loaded; `nil` if there is none.
/// - `canTakeBack`: a mail can still undo a change of the absorbed account. Only for merges by owners.
/// - `now`: the time from which sessions are valid, if they end.
package func decideMergeAccounts(
    _ request: MergeRequest,
    policy: LinkPolicy,
    survivor: UserRecord?,
    absorbed: UserRecord?,
    canTakeBack: Bool,
    now: Timestamp
) -> Verdict<MergeDecision> {
    if request.survivor == request.absorbed { return Verdict(.mergeSameAccount, .refuse(.sameAccount)) }
    guard let survivor, let absorbed else { return Verdict(.mergeAccountGone, .refuse(.accountNotFound)) }
    // A takeover has ended the session, and everything that the session began.
    if case .owners(let ofSurvivor, let ofAbsorbed) = request.requester,
        ofSurvivor.sessionEpoch != survivor.sessionEpoch || ofAbsorbed.sessionEpoch != absorbed.sessionEpoch
    {
        return Verdict(.mergeSessionEnded, .refuse(.sessionEnded))
    }
    if survivor.isDisabled || absorbed.isDisabled { return Verdict(.mergeAccountDisabled, .refuse(.accountDisabled)) }
    if case .owners(let ofSurvivor, let ofAbsorbed) = request.requester {
        for session in [ofSurvivor, ofAbsorbed] {
            if let refusal = refusalOfMerge(isSessionRecent: session.isRecent) {
                return Verdict(refusal.rule, .refuse(refusal.decision))
            }
        }
        if !survivor.secondFactors.isEmpty, !ofSurvivor.hasSecondFactor {
            return Verdict(.mergeNeedsSecondFactor, .refuse(.secondFactorRequired))
        }
        if !absorbed.secondFactors.isEmpty, !ofAbsorbed.hasSecondFactor {
            return Verdict(.mergeNeedsSecondFactor, .refuse(.secondFactorRequired))
        }
        let givesUpAttributes = absorbed.claims != nil && absorbed.claims != survivor.claims
        if givesUpAttributes || request.choices[.customAttributes] != nil {
            return Verdict(.mergeClaimsNeedAdmin, .refuse(.needsAdministrator))
        }
        // The merge would void the mail, and the caller may be the one whose change the mail undoes.
        if canTakeBack { return Verdict(.mergeWhileRecoverable, .refuse(.needsAdministrator)) }
    }
    let lines = mergeLines(survivor, absorbed, request.choices)
    guard Set(request.choices.keys).isSubset(of: lines.map(\.field)) else {
        return Verdict(.mergeUnknownChoice, .refuse(.unknownChoice))
    }
    let isByOwners = request.requester != .administrator
    let plan = mergePlan(survivor, absorbed, lines, isByOwners: isByOwners, now: now)
    if !plan.undecided.isEmpty { return Verdict(.mergeNeedsChoices, .choose(plan)) }
    let merged = plan.merged
    // This is a change of address by another route, so U1 and P17 apply.
    if isByOwners, policy.protectsEmailEnumeration, survivor.account.hasHadEmail, plan.takesAbsorbed(.email),
        !policy.isProven(merged.account)
    {
        return Verdict(.mergeNeedsVerifiedEmail, .refuse(.unverifiedEmail))
    }
    if merged.secondFactors.count > SecondFactor.countMax {
        return Verdict(.mergeTooManyFactors, .refuse(.tooManySecondFactors))
    }
    if Set(merged.secondFactors.map(\.id)).count < merged.secondFactors.count {
        return Verdict(.mergeFactorNameRepeated, .refuse(.secondFactorRepeated))
    }
    if !merged.secondFactors.isEmpty, !policy.isProven(merged.account) {
        return Verdict(.mergeFactorsNeedProvenEmail, .refuse(.unverifiedEmail))
    }
    let hadMethods = !survivor.account.signInMethods.isEmpty || !absorbed.account.signInMethods.isEmpty
    if hadMethods, merged.account.signInMethods.isEmpty {
        return Verdict(.mergeLeavesNoMethod, .refuse(.noSignInMethodLeft))
    }
    return Verdict(.accountsMerged, .merge(plan))
}

/// Returns a line for each field that an account has.
private func mergeLines(
    _ survivor: UserRecord,
    _ absorbed: UserRecord,
    _ choices: [MergeField: MergeSide]
) -> [MergePlan.Line] {
    let providers = Set(survivor.linkedProviders.keys).union(absorbed.linkedProviders.keys).sorted()
    return (MergeField.fixed + providers.map(MergeField.provider)).compactMap { field in
        var owners: Set<MergeSide> = []
        if survivor.text(of: field) != nil { owners.insert(.survivor) }
        if absorbed.text(of: field) != nil { owners.insert(.absorbed) }
        guard let only = owners.first else { return nil }
        let isAlike = owners.count == 2 && survivor.isAlike(absorbed, field)
        let taken: MergeSide? =
            if let choice = choices[field] {
                choice
            } else if field == .password, survivor.hasPasswordOfNobody || absorbed.hasPasswordOfNobody {
                nil
            } else if owners.count == 1 {
                only
            } else {
                isAlike ? .survivor : nil
            }
        return MergePlan.Line(field: field, owners: owners, taken: taken, isAlike: isAlike)
    }
}

private func mergePlan(
    _ survivor: UserRecord,
    _ absorbed: UserRecord,
    _ lines: [MergePlan.Line],
    isByOwners: Bool,
    now: Timestamp
) -> MergePlan {
    var merged = survivor
    // The survivor has these methods and factors only since the merge. If its session is stolen, a code that recovers
    // its address removes them (U28).
    let absorbed = isByOwners ? absorbed.proven(at: now) : absorbed
    for line in lines where line.taken == .absorbed { merged.take(line.field, of: absorbed) }
    // The session may be stolen: the owner of the replaced address is mailed and can recover it.
    if isByOwners, merged.initialEmail == nil, merged.email?.address != survivor.email?.address {
        merged.initialEmail = survivor.email?.address.raw
    }
    let numbers = Set(survivor.secondFactors.compactMap(\.number))
    let moved = absorbed.secondFactors.filter { factor in factor.number.map { !numbers.contains($0) } ?? true }
    merged.secondFactors += moved
    // Ends sessions that used the replaced password, or that never proved the new second factors.
    let changesPassword = lines.contains { $0.field == .password && $0.taken == .absorbed }
    let endsSessions = changesPassword || !moved.isEmpty
    if endsSessions { merged.endSessions(at: now) }
    return MergePlan(lines: lines, merged: merged, movedFactors: moved.map(\.id), endsSessions: endsSessions)
}

extension UserRecord {
    /// The value of a field, for people to choose by; only "set" for a password.
    package func text(of field: MergeField) -> String? {
        switch field {
        case .email: email?.address.raw
        case .password: passwordUpdatedAt.map { _ in "set" }
        case .phoneNumber: phoneNumber?.rawValue
        case .profile(let field): profile[field]
        case .customAttributes: claims
        case .provider(let provider): linkedProviders[provider]?.identity.subject
        }
    }

    /// Returns true if both accounts have the same value. Two accounts never share an address, number or identity, and
    /// passwords cannot be compared.
    fileprivate func isAlike(_ other: UserRecord, _ field: MergeField) -> Bool {
        switch field {
        case .email, .password, .phoneNumber, .provider: false
        case .profile(let field): profile[field] == other.profile[field]
        case .customAttributes: claims == other.claims
        }
    }

    /// True for a password with an unproven address, which an intruder may have set.
    fileprivate var hasPasswordOfNobody: Bool { passwordUpdatedAt != nil && email.map { !$0.isVerified } ?? false }

    /// The record with every method proven, and every second factor enrolled, at `now`.
    fileprivate func proven(at now: Timestamp) -> UserRecord {
        var record = self
        for method in methodProofs.keys { record.methodProofs[method]?.provenAt = now }
        for place in secondFactors.indices { record.secondFactors[place].enrolledAt = now }
        return record
    }

    /// Takes a field of `other`. An address keeps its own proof, or has none.
    fileprivate mutating func take(_ field: MergeField, of other: UserRecord) {
        switch field {
        case .email:
            email = other.email
            emailProvenAt = other.emailProvenAt
            // A followed link proves its own address only.
            methodProofs[.emailLink] = other.methodProofs[.emailLink]
        case .password:
            passwordUpdatedAt = other.passwordUpdatedAt
            methodProofs[.password] = other.methodProofs[.password]
        case .phoneNumber:
            phoneNumber = other.phoneNumber
            if phoneNumber != nil { unprovenPhoneNumber = nil }
            methodProofs[.phone] = other.methodProofs[.phone]
        case .profile(let field): profile[field] = other.profile[field]
        case .customAttributes: customAttributes = other.customAttributes
        case .provider(let provider):
            linkedProviders[provider] = other.linkedProviders[provider]
            methodProofs[.provider(provider)] = other.methodProofs[.provider(provider)]
        }
    }
}

/// The state of a merge. Raw values are stored, and are names on the wire.
package enum MergeState: String, Sendable, Hashable, CaseIterable {
    /// Concord waits for the answers of webhook receivers.
    case prepared
    /// The absorbed account's id is a tombstone.
    case committed
    case aborted
    case undone
}

/// The caller of a stored merge. Raw values are stored, and are names on the wire.
package enum MergeRequesterKind: String, Sendable, Hashable {
    case administrator
    /// A user with a session of each account.
    case owners
}

/// The facts of a merge that waits for webhook receivers.
package struct MergeApproval: Sendable, Hashable {
    /// An operator has withdrawn the merge.
    package var isWithdrawn: Bool
    /// A receiver has refused.
    package var isVetoed: Bool
    /// Number of receivers that have not agreed.
    package var waitingCount: Int64
    package var isOverdue: Bool
    /// Both accounts are as they were when the receivers were asked.
    package var isUnchanged: Bool

    package init(
        isWithdrawn: Bool = false,
        isVetoed: Bool = false,
        waitingCount: Int64,
        isOverdue: Bool,
        isUnchanged: Bool
    ) {
        self.isWithdrawn = isWithdrawn
        self.isVetoed = isVetoed
        self.waitingCount = waitingCount
        self.isOverdue = isOverdue
        self.isUnchanged = isUnchanged
    }
}

/// The reason why a prepared merge was aborted. Raw values are stored, and are names on the wire.
package enum MergeAbortReason: String, Sendable, Hashable, CaseIterable {
    /// A webhook receiver refused.
    case vetoed
    /// A receiver did not answer in time.
    case timedOut = "timed-out"
    /// One of the accounts changed.
    case accountsChanged = "accounts-changed"
    /// An operator withdrew it.
    case withdrawn
}

package enum MergeApprovalDecision: Sendable, Hashable {
    case wait
    case commit
    case abort(MergeAbortReason)
}

/// Decides how a prepared merge continues: rows H. No answer is no consent, because data of the app may depend on the
/// absorbed id.
package func decideMergeApproval(_ facts: MergeApproval) -> Verdict<MergeApprovalDecision> {
    if facts.isWithdrawn { return Verdict(.mergeWithdrawn, .abort(.withdrawn)) }
    if facts.isVetoed { return Verdict(.mergeVetoed, .abort(.vetoed)) }
    if !facts.isUnchanged { return Verdict(.mergeAccountsChanged, .abort(.accountsChanged)) }
    if facts.waitingCount == 0 { return Verdict(.mergeCommitted, .commit) }
    return facts.isOverdue ? Verdict(.mergeTimedOut, .abort(.timedOut)) : Verdict(.mergeWaiting, .wait)
}

/// The reason why a merge is not undone.
package enum MergeUndoRefusal: Sendable, Hashable {
    /// The merge was not committed, or is undone.
    case notCommitted
    case tooLate
    /// Later changes prevent it.
    case laterChanges
}

package enum MergeUndoDecision: Sendable, Hashable {
    case undo
    case refuse(MergeUndoRefusal)
}

/// Decides whether a merge is undone: rows H.
///
/// - `keepsLaterChanges`: later changes stay, and everything else is restored.
package func decideUndoMerge(
    isCommitted: Bool,
    isInTime: Bool,
    hasLaterChanges: Bool,
    keepsLaterChanges: Bool
) -> Verdict<MergeUndoDecision> {
    guard isCommitted else { return Verdict(.undoNotCommitted, .refuse(.notCommitted)) }
    guard isInTime else { return Verdict(.undoTooLate, .refuse(.tooLate)) }
    if hasLaterChanges, !keepsLaterChanges { return Verdict(.undoLaterChanges, .refuse(.laterChanges)) }
    return Verdict(.mergeUndone, .undo)
}
