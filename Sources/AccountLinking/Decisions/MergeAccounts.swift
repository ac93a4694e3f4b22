/// What two accounts may both have, and an account has but once.
package enum MergeField: Sendable, Hashable {
    case email
    case password
    case phoneNumber
    case displayName
    case photoURL
    case screenName
    case language
    case timeZone
    case dateOfBirth
    case customAttributes
    case provider(ProviderID)

    /// All but the providers, in the order in which they are told.
    package static let fixed: [MergeField] = [
        .email, .password, .phoneNumber, .displayName, .photoURL, .screenName, .language, .timeZone, .dateOfBirth,
        .customAttributes,
    ]

    /// The name on the wire, in the database and on the command line.
    package var name: String {
        switch self {
        case .email: "email"
        case .password: "password"
        case .phoneNumber: "phoneNumber"
        case .displayName: "displayName"
        case .photoURL: "photoUrl"
        case .screenName: "screenName"
        case .language: "language"
        case .timeZone: "timeZone"
        case .dateOfBirth: "dateOfBirth"
        case .customAttributes: "customAttributes"
        case .provider(let provider): provider.rawValue
        }
    }

    /// The inverse of `name`; `nil` for text that names nothing. What has a dot in it is a provider.
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

/// Who wants two accounts to be one.
package enum MergeRequester: Sendable, Hashable {
    /// Somebody who runs the service, with a reason.
    case administrator
    /// Whoever has a session of each.
    case owners(OwnerSession, OwnerSession)

    /// What a session of one of the accounts shows: that of the survivor comes first.
    package struct OwnerSession: Sendable, Hashable {
        package var isRecent: Bool
        package var hasSecondFactor: Bool
        package var sessionEpoch: Int64

        ///
        /// - `hasSecondFactor`: whether a second factor was shown in this session.
        /// - `sessionEpoch`: the one that its token carries.
        package init(isRecent: Bool, hasSecondFactor: Bool, sessionEpoch: Int64) {
            self.isRecent = isRecent
            self.hasSecondFactor = hasSecondFactor
            self.sessionEpoch = sessionEpoch
        }
    }
}

/// Why two accounts are not made one. Raw values are names on the wire.
package enum MergeRefusal: String, Error, Sendable, Hashable, CaseIterable {
    case sameAccount = "same-account"
    case accountNotFound = "account-not-found"
    /// One of the sessions has ended since it was shown; told like everywhere.
    case sessionEnded = "session-ended"
    case accountDisabled = "account-disabled"
    case signInAgain = "sign-in-again"
    case secondFactorRequired = "second-factor-required"
    /// Custom attributes are the backend's word about an account: its owner does not choose among them. And a mail that takes
    /// back what was done to an account is the owner's last way in.
    case needsAdministrator = "needs-administrator"
    /// A choice about something that neither account has.
    case unknownChoice = "unknown-choice"
    case tooManySecondFactors = "too-many-second-factors"
    /// A factor of each account has the same name.
    case secondFactorRepeated = "second-factor-repeated"
    /// Second factors would stand on an address that nobody has shown to have, or it would replace another.
    case unverifiedEmail = "unverified-email"
    case noSignInMethodLeft = "no-sign-in-method-left"
}

/// What a merge comes to.
package struct MergePlan: Sendable, Hashable {
    /// One thing that at least one of the accounts has.
    package struct Line: Sendable, Hashable {
        package let field: MergeField
        /// Who has it.
        package let owners: Set<MergeSide>
        /// Whose of it the account has afterwards; `nil` while nobody has chosen.
        package let taken: MergeSide?
        /// Whether both have the same.
        package let isAlike: Bool

        /// Whose of it is dropped.
        package var dropped: MergeSide? {
            isAlike ? nil : taken.flatMap { owners.contains($0.other) ? $0.other : nil }
        }
    }

    package let lines: [Line]
    /// The account that stays, as it is afterwards, except for what waits to be chosen.
    package let merged: UserRecord
    /// The second factors that come over.
    package let movedFactors: [SecondFactorID]
    /// Whether every session of the account that stays ends as well.
    package let endsSessions: Bool

    /// What has to be chosen first.
    package var undecided: [MergeField] { lines.filter { $0.taken == nil }.map(\.field) }

    /// Whether the account has the absorbed one's `field` afterwards.
    package func takesAbsorbed(_ field: MergeField) -> Bool {
        lines.contains { $0.field == field && $0.taken == .absorbed && $0.owners.contains(.absorbed) }
    }
}

package enum MergeDecision: Sendable, Hashable {
    case merge(MergePlan)
    /// Nothing is wrong, but what both have has to be chosen.
    case choose(MergePlan)
    case refuse(MergeRefusal)

    package var plan: MergePlan? {
        switch self {
        case .merge(let plan), .choose(let plan): plan
        case .refuse: nil
        }
    }
}

/// What a merge is asked to do.
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

/// Decides whether two accounts are made one, and what of: rows E.
///
/// Total and pure; the first matching rule wins. Whoever can get into the absorbed account gets into the survivor afterwards,
/// and the other way round; so owners show both, each with its second factor, and a password under an address that nobody has
/// shown to have is taken or kept by an express choice only: somebody else may have set it before the owner came.
///
/// - `survivor`, `absorbed`: as loaded; `nil` when there is none.
/// - `canTakeBack`: whether a mail that went out can still take back what was done to the absorbed account. Of owners' merges
///   only.
/// - `now`: becomes the time since which sessions are valid, where they end.
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
    // A takeover that came since has ended the session: nothing that it began outlives that.
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
        // The mail would be void with the account, and who changed what it takes back may be who asks.
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
    // This is a change of address by another road, so it is refused where U1 and P17 refuse one.
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

/// What there is, and whose of it is taken.
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
    // The survivor has had these methods and factors only since the merge, and its session may be stolen: a code that takes
    // its address back takes them off (U28).
    let absorbed = isByOwners ? absorbed.proven(at: now) : absorbed
    for line in lines where line.taken == .absorbed { merged.take(line.field, of: absorbed) }
    // The owner of a replaced address is mailed and can recover it: the session may be stolen.
    if isByOwners, merged.initialEmail == nil, merged.email?.address != survivor.email?.address {
        merged.initialEmail = survivor.email?.address.raw
    }
    let numbers = Set(survivor.secondFactors.compactMap(\.number))
    let moved = absorbed.secondFactors.filter { factor in factor.number.map { !numbers.contains($0) } ?? true }
    merged.secondFactors += moved
    // Whoever is in by what is no longer so, or without a factor that is asked for from now on, is out.
    let changesPassword = lines.contains { $0.field == .password && $0.taken == .absorbed }
    let endsSessions = changesPassword || !moved.isEmpty
    if endsSessions { merged.endSessions(at: now) }
    return MergePlan(lines: lines, merged: merged, movedFactors: moved.map(\.id), endsSessions: endsSessions)
}

extension UserRecord {
    /// What there is of a field, for people to choose by; of a password only that there is one.
    package func text(of field: MergeField) -> String? {
        switch field {
        case .email: email?.address.raw
        case .password: passwordUpdatedAt.map { _ in "set" }
        case .phoneNumber: phoneNumber?.rawValue
        case .displayName: profile.displayName
        case .photoURL: profile.photoURL
        case .screenName: profile.screenName
        case .language: profile.language
        case .timeZone: profile.timeZone
        case .dateOfBirth: profile.dateOfBirth
        case .customAttributes: claims
        case .provider(let provider): linkedProviders[provider]?.identity.subject
        }
    }

    /// Whether it does not matter whose of `field` is taken, where both have it. Addresses, numbers and identities are no two
    /// accounts' at once, and whether two passwords are the same nobody can tell.
    fileprivate func isAlike(_ other: UserRecord, _ field: MergeField) -> Bool {
        switch field {
        case .email, .password, .phoneNumber, .provider: false
        case .displayName: profile.displayName == other.profile.displayName
        case .photoURL: profile.photoURL == other.profile.photoURL
        case .screenName: profile.screenName == other.profile.screenName
        case .language: profile.language == other.profile.language
        case .timeZone: profile.timeZone == other.profile.timeZone
        case .dateOfBirth: profile.dateOfBirth == other.profile.dateOfBirth
        case .customAttributes: claims == other.claims
        }
    }

    /// Whether there is a password that whoever signed up with somebody else's address may have set.
    fileprivate var hasPasswordOfNobody: Bool { passwordUpdatedAt != nil && email.map { !$0.isVerified } ?? false }

    /// The record with every method proven, and every second factor enrolled, at `now`.
    fileprivate func proven(at now: Timestamp) -> UserRecord {
        var record = self
        for method in methodProofs.keys { record.methodProofs[method]?.provenAt = now }
        for place in secondFactors.indices { record.secondFactors[place].enrolledAt = now }
        return record
    }

    /// Becomes what `other` is in one respect; an address keeps its own proof, or none.
    fileprivate mutating func take(_ field: MergeField, of other: UserRecord) {
        switch field {
        case .email:
            email = other.email
            emailProvenAt = other.emailProvenAt
            // A link that was followed says something of its own address only.
            methodProofs[.emailLink] = other.methodProofs[.emailLink]
        case .password:
            passwordUpdatedAt = other.passwordUpdatedAt
            methodProofs[.password] = other.methodProofs[.password]
        case .phoneNumber:
            phoneNumber = other.phoneNumber
            if phoneNumber != nil { unprovenPhoneNumber = nil }
            methodProofs[.phone] = other.methodProofs[.phone]
        case .displayName: profile.displayName = other.profile.displayName
        case .photoURL: profile.photoURL = other.profile.photoURL
        case .screenName: profile.screenName = other.profile.screenName
        case .language: profile.language = other.profile.language
        case .timeZone: profile.timeZone = other.profile.timeZone
        case .dateOfBirth: profile.dateOfBirth = other.profile.dateOfBirth
        case .customAttributes: customAttributes = other.customAttributes
        case .provider(let provider):
            linkedProviders[provider] = other.linkedProviders[provider]
            methodProofs[.provider(provider)] = other.methodProofs[.provider(provider)]
        }
    }
}

/// How far a merge is. Raw values are kept, and are names on the wire.
package enum MergeState: String, Sendable, Hashable, CaseIterable {
    /// Receivers of webhooks are asked.
    case prepared
    /// The uid of the account that went is a tombstone.
    case committed
    case aborted
    case undone
}

/// Who asked for a merge. Raw values are kept, and are names on the wire.
package enum MergeRequesterKind: String, Sendable, Hashable {
    case administrator
    /// Somebody with a session of each account.
    case owners
}

/// What is known of a merge that waits for the receivers of webhooks.
package struct MergeApproval: Sendable, Hashable {
    /// Whether an operator has said no.
    package var isWithdrawn: Bool
    /// Whether a receiver has said no.
    package var isVetoed: Bool
    /// Receivers that have not said yes.
    package var waitingCount: Int64
    package var isOverdue: Bool
    /// Whether both accounts are as they were when the receivers were asked.
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

/// Why a merge that was prepared was not done. Raw values are kept, and are names on the wire.
package enum MergeAbortReason: String, Sendable, Hashable, CaseIterable {
    /// A receiver of webhooks said no.
    case vetoed
    /// A receiver said nothing in time.
    case timedOut = "timed-out"
    /// One of the accounts has changed since.
    case accountsChanged = "accounts-changed"
    /// An operator said no.
    case withdrawn
}

package enum MergeApprovalDecision: Sendable, Hashable {
    case wait
    case commit
    case abort(MergeAbortReason)
}

/// Decides how a merge that was prepared goes on. Silence is no consent: data of the app may hang on the uid that goes.
///
/// Total and pure; the first matching rule wins.
package func decideMergeApproval(_ facts: MergeApproval) -> Verdict<MergeApprovalDecision> {
    if facts.isWithdrawn { return Verdict(.mergeWithdrawn, .abort(.withdrawn)) }
    if facts.isVetoed { return Verdict(.mergeVetoed, .abort(.vetoed)) }
    if !facts.isUnchanged { return Verdict(.mergeAccountsChanged, .abort(.accountsChanged)) }
    if facts.waitingCount == 0 { return Verdict(.mergeCommitted, .commit) }
    return facts.isOverdue ? Verdict(.mergeTimedOut, .abort(.timedOut)) : Verdict(.mergeWaiting, .wait)
}

/// Why a merge is not undone.
package enum MergeUndoRefusal: Sendable, Hashable {
    /// It was not done, or was undone.
    case notCommitted
    case tooLate
    /// Later changes stand in the way.
    case laterChanges
}

package enum MergeUndoDecision: Sendable, Hashable {
    case undo
    case refuse(MergeUndoRefusal)
}

/// Decides whether a merge is undone.
///
/// Total and pure; the first matching rule wins.
///
/// - `keepsLaterChanges`: what was changed since stays as it is, and everything else is put back.
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
