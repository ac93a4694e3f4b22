import AccountLinking
import AccountTestSupport
import Testing

/// Rules E and H: merging two accounts, over the whole input.
struct MergeRows {
    static let now = Timestamp(secondsSinceEpoch: 1_750_000_000)
    static let before = Timestamp(secondsSinceEpoch: 1_740_000_000)
    static let administrator = MergeRequester.administrator
    static let shown = MergeRequester.OwnerSession(isRecent: true, hasSecondFactor: true, sessionEpoch: 7)
    static let old = MergeRequester.OwnerSession(isRecent: false, hasSecondFactor: true, sessionEpoch: 7)
    static let first = MergeRequester.OwnerSession(isRecent: true, hasSecondFactor: false, sessionEpoch: 7)
    static let ended = MergeRequester.OwnerSession(isRecent: true, hasSecondFactor: true, sessionEpoch: 6)

    struct Case: Sendable {
        var survivor: UserRecord?
        var absorbed: UserRecord?
        var choices: [MergeField: MergeSide]
        var requester: MergeRequester
        var canTakeBack = false
        var policy = LinkPolicy()

        var verdict: Verdict<MergeDecision> {
            decideMergeAccounts(
                MergeRequest(
                    survivor: survivor?.id ?? user("s"),
                    absorbed: absorbed?.id ?? user("a"),
                    choices: choices,
                    requester: requester
                ),
                policy: policy,
                survivor: survivor,
                absorbed: absorbed,
                canTakeBack: canTakeBack,
                now: now
            )
        }
    }

    /// An account with only the data that `edit` sets.
    static func record(_ id: String, _ edit: (inout UserRecord) -> Void = { _ in }) -> UserRecord {
        var record = UserRecord(tenant: .project, id: user(id), sessionEpoch: 7, createdAt: before)
        edit(&record)
        return record
    }

    static func give(_ method: SignInMethod, _ record: inout UserRecord, _ subject: String = "s") {
        record.methodProofs[method] = UserRecord.MethodProof(proof: .session, provenAt: before)
        switch method {
        case .password: record.passwordUpdatedAt = before
        case .emailLink: break
        case .phone: record.phoneNumber = annsNumber
        case .provider(let provider):
            record.linkedProviders[provider] = UserRecord.LinkedProvider(
                identity: identity(provider, subject),
                issuer: nil,
                email: nil,
                displayName: nil,
                photoURL: nil,
                screenName: nil,
                linkedAt: before,
                updatedAt: before
            )
        }
    }

    static func address(_ address: EmailAddress, isProven: Bool, _ record: inout UserRecord) {
        record.email = AccountEmail(address: address, proof: isProven ? .emailCode : nil)
        record.emailProvenAt = isProven ? before : nil
    }

    /// Accounts of every kind. No two of different sides have the same address or identity.
    private static func kinds(_ side: MergeSide) -> [UserRecord?] {
        let id = side == .survivor ? "s" : "a"
        let mail = side == .survivor ? ann : bob
        let empty = record(id)
        let unproven = record(id) {
            address(mail, isProven: false, &$0)
            give(.password, &$0)
        }
        let proven = record(id) { record in
            address(mail, isProven: true, &record)
            give(.password, &record)
            give(.emailLink, &record)
            give(.provider(.google), &record, id)
            record.profile.displayName = id
        }
        var secured = proven
        secured.secondFactors = [.app(id), .number("f-" + id)]
        var claimed = record(id) { give(.provider(.gitHub), &$0, id) }
        claimed.customAttributes = #"{"role":"\#(id)"}"#
        var disabled = proven
        disabled.isDisabled = true
        var crowded = proven
        crowded.secondFactors = (1...4).map { .app("\(id)\($0)") }
        var repeated = proven
        repeated.secondFactors = [.app("same")]
        var naked = record(id) { give(.provider(.google), &$0, id) }
        naked.secondFactors = [.app(id)]
        return [nil, empty, unproven, proven, secured, claimed, disabled, crowded, repeated, naked]
    }

    static let all: [Case] = {
        var all = [
            Case(survivor: record("s"), absorbed: record("s"), choices: [:], requester: administrator)
        ]
        let requesters: [MergeRequester] = [
            administrator, .owners(shown, shown), .owners(ended, shown), .owners(shown, ended),
            .owners(old, shown), .owners(shown, old), .owners(first, shown), .owners(shown, first),
        ]
        let both: [MergeField] = [.email, .password, .profile(.displayName), .provider(.google)]
        let choices: [[MergeField: MergeSide]] = [
            [:], Dictionary(uniqueKeysWithValues: both.map { ($0, .survivor) }),
            Dictionary(uniqueKeysWithValues: both.map { ($0, .absorbed) }),
            [.email: .absorbed, .password: .survivor], [.password: .absorbed], [.password: .survivor],
            [.email: .survivor], [.customAttributes: .absorbed], [.customAttributes: .survivor],
            [.profile(.timeZone): .survivor],
            [
                .provider(.google): .survivor, .email: .survivor, .password: .survivor,
                .profile(.displayName): .survivor,
            ],
            [.provider(.google): .survivor], [.provider(.gitHub): .survivor],
        ]
        for survivor in kinds(.survivor) {
            for absorbed in kinds(.absorbed) {
                for requester in requesters {
                    for chosen in choices {
                        all.append(Case(survivor: survivor, absorbed: absorbed, choices: chosen, requester: requester))
                    }
                }
                for chosen in choices {
                    var one = Case(
                        survivor: survivor,
                        absorbed: absorbed,
                        choices: chosen,
                        requester: .owners(shown, shown)
                    )
                    one.canTakeBack = true
                    all.append(one)
                    one.canTakeBack = false
                    one.policy.protectsEmailEnumeration = false
                    all.append(one)
                }
            }
        }
        return all
    }()

    static let handOvers: [Verdict<MergeApprovalDecision>] = [false, true].flatMap { isWithdrawn in
        [false, true].flatMap { isVetoed in
            [0, 1].flatMap { waiting in
                [false, true].flatMap { isOverdue in
                    [false, true].map { isUnchanged in
                        decideMergeApproval(
                            MergeApproval(
                                isWithdrawn: isWithdrawn,
                                isVetoed: isVetoed,
                                waitingCount: waiting,
                                isOverdue: isOverdue,
                                isUnchanged: isUnchanged
                            )
                        )
                    }
                }
            }
        }
    }

    static let undos: [Verdict<MergeUndoDecision>] = [false, true].flatMap { isCommitted in
        [false, true].flatMap { isInTime in
            [false, true].flatMap { hasLaterChanges in
                [false, true].map { keeps in
                    decideUndoMerge(
                        isCommitted: isCommitted,
                        isInTime: isInTime,
                        hasLaterChanges: hasLaterChanges,
                        keepsLaterChanges: keeps
                    )
                }
            }
        }
    }

    private func verdict(
        _ survivor: UserRecord?,
        _ absorbed: UserRecord?,
        _ choices: [MergeField: MergeSide] = [:],
        _ requester: MergeRequester = administrator
    ) -> Verdict<MergeDecision> {
        Case(survivor: survivor, absorbed: absorbed, choices: choices, requester: requester).verdict
    }

    private func refusal(_ verdict: Verdict<MergeDecision>) -> MergeRefusal? {
        if case .refuse(let refusal) = verdict.decision { refusal } else { nil }
    }

    // MARK: Laws

    @Test func `a merge never proves an address, and takes no proof of another address`() {
        for one in Self.all {
            guard let plan = one.verdict.decision.plan, let survivor = one.survivor, let absorbed = one.absorbed else {
                continue
            }
            let sources = [survivor, absorbed].map { ($0.email, $0.emailProvenAt) }
            let merged = (plan.merged.email, plan.merged.emailProvenAt)
            #expect(plan.merged.email == nil || sources.contains { $0 == merged }, "\(one)")
        }
    }

    @Test func `owners who replace an address store the first one, and under enumeration protection prove the new one`()
    {
        for one in Self.all {
            guard case .merge(let plan) = one.verdict.decision, let survivor = one.survivor else { continue }
            guard one.requester != Self.administrator else {
                #expect(plan.merged.initialEmail == survivor.initialEmail)
                continue
            }
            let isReplaced = plan.merged.email?.address != survivor.email?.address
            guard isReplaced, survivor.account.hasHadEmail else { continue }
            #expect(plan.merged.initialEmail == survivor.initialEmail ?? survivor.email?.address.raw, "\(one)")
            #expect(plan.merged.email?.isVerified != false || !one.policy.protectsEmailEnumeration, "\(one)")
        }
    }

    @Test func `no owner bypasses a second factor, and no factor is lost`() {
        for one in Self.all {
            guard case .merge(let plan) = one.verdict.decision, let survivor = one.survivor,
                let absorbed = one.absorbed
            else { continue }
            let methods = survivor.secondFactors.map(\.method) + absorbed.secondFactors.map(\.method)
            let numbers = Set(methods.compactMap { if case .phone(let number) = $0 { number } else { nil } })
            #expect(Set(plan.merged.secondFactors.compactMap(\.number)) == numbers)
            #expect(plan.merged.secondFactors.prefix(survivor.secondFactors.count) == survivor.secondFactors[...])
            if plan.merged.secondFactors != survivor.secondFactors {
                #expect(plan.merged.sessionEpoch > survivor.sessionEpoch)
            }
            guard case .owners(let first, let second) = one.requester else { continue }
            #expect(survivor.secondFactors.isEmpty || first.hasSecondFactor)
            #expect(absorbed.secondFactors.isEmpty || second.hasSecondFactor)
            #expect(first.isRecent && second.isRecent)
            #expect(first.sessionEpoch == survivor.sessionEpoch && second.sessionEpoch == absorbed.sessionEpoch)
        }
    }

    @Test func `a password under an unproven address is taken by an explicit choice only`() {
        for one in Self.all {
            guard case .merge = one.verdict.decision else { continue }
            for record in [one.survivor, one.absorbed].compactMap(\.self)
            where record.passwordUpdatedAt != nil && record.email?.isVerified == false {
                #expect(one.choices[.password] != nil, "\(one)")
            }
        }
    }

    @Test func `merged data comes from one of the accounts, and choices are respected`() {
        for one in Self.all {
            guard case .merge(let plan) = one.verdict.decision, let survivor = one.survivor,
                let absorbed = one.absorbed
            else { continue }
            #expect(!survivor.isDisabled && !absorbed.isDisabled && survivor.id != absorbed.id)
            #expect(plan.merged.id == survivor.id && plan.merged.version == survivor.version)
            for line in plan.lines {
                let side = line.taken == .survivor ? survivor : absorbed
                #expect(plan.merged.text(of: line.field) == side.text(of: line.field), "\(line)")
                if let choice = one.choices[line.field] { #expect(line.taken == choice) }
            }
            for method in plan.merged.methodProofs.keys {
                #expect(survivor.methodProofs[method] != nil || absorbed.methodProofs[method] != nil)
            }
            for provider in plan.merged.linkedProviders.keys {
                #expect(plan.merged.methodProofs[.provider(provider)] != nil)
            }
        }
    }

    @Test func `dropped data is exactly what an account had and the merged one lacks`() {
        for one in Self.all {
            guard let plan = one.verdict.decision.plan, let survivor = one.survivor, let absorbed = one.absorbed else {
                continue
            }
            for line in plan.lines {
                let texts = [survivor, absorbed].map { $0.text(of: line.field) }
                guard line.taken != nil else {
                    #expect(line.dropped == nil)
                    continue
                }
                // Of a password only its presence is known; two are never the same.
                let isLost = texts.contains { $0 != nil && $0 != plan.merged.text(of: line.field) }
                #expect((line.dropped != nil) == (isLost || line.field == .password && !texts.contains(nil)), "\(line)")
                #expect(line.dropped.map { line.owners.contains($0) && $0 != line.taken } ?? true)
                #expect(!line.isAlike || texts[0] == texts[1])
            }
        }
        let names = [Self.record("s"), Self.record("a")].map { record in
            var record = record
            record.profile.displayName = "Ann"
            return record
        }
        let alike = verdict(names[0], names[1]).decision.plan?.lines.first
        #expect(alike?.isAlike == true && alike?.taken == .survivor && alike?.dropped == nil)
    }

    @Test func `only an administrator chooses custom attributes`() {
        for one in Self.all where one.requester != Self.administrator {
            guard case .merge(let plan) = one.verdict.decision else { continue }
            #expect(plan.merged.customAttributes == one.survivor?.customAttributes)
        }
    }

    // MARK: Rows

    private static let proven = record("s") {
        address(ann, isProven: true, &$0)
        give(.password, &$0)
    }
    private static let guest = record("a")

    @Test func `E1 to E3: the same account, a missing one and a disabled one are refused`() {
        #expect(verdict(Self.proven, Self.proven) == Verdict(.mergeSameAccount, .refuse(.sameAccount)))
        #expect(verdict(nil, Self.guest) == Verdict(.mergeAccountGone, .refuse(.accountNotFound)))
        #expect(verdict(Self.proven, nil) == Verdict(.mergeAccountGone, .refuse(.accountNotFound)))
        let disabled = Self.record("a") { $0.isDisabled = true }
        #expect(verdict(Self.proven, disabled) == Verdict(.mergeAccountDisabled, .refuse(.accountDisabled)))
        #expect(verdict(disabled, Self.proven) == Verdict(.mergeAccountDisabled, .refuse(.accountDisabled)))
    }

    @Test func `E14: a session that has ended merges nothing, before any other refusal`() {
        let disabled = Self.record("a") { $0.isDisabled = true }
        for requester in [MergeRequester.owners(Self.ended, Self.shown), .owners(Self.shown, Self.ended)] {
            for absorbed in [Self.guest, disabled] {
                #expect(
                    verdict(Self.proven, absorbed, [:], requester)
                        == Verdict(.mergeSessionEnded, .refuse(.sessionEnded))
                )
            }
        }
        #expect(verdict(Self.proven, disabled, [:], .owners(Self.shown, Self.shown)).rule == .mergeAccountDisabled)
    }

    @Test func `E4 to E6: owners need recent sessions with second factors, and cannot choose custom attributes`() {
        let first = Self.first
        for requester in [MergeRequester.owners(Self.old, Self.shown), .owners(Self.shown, Self.old)] {
            #expect(
                verdict(Self.proven, Self.guest, [:], requester)
                    == Verdict(.mergeNeedsRecentSignIn, .refuse(.signInAgain))
            )
        }
        var secured = Self.proven
        secured.secondFactors = [.app("x")]
        #expect(
            verdict(secured, Self.guest, [:], .owners(first, Self.shown))
                == Verdict(.mergeNeedsSecondFactor, .refuse(.secondFactorRequired))
        )
        #expect(
            verdict(Self.guest, secured, [:], .owners(Self.shown, first))
                == Verdict(.mergeNeedsSecondFactor, .refuse(.secondFactorRequired))
        )
        #expect(verdict(secured, Self.guest, [:], .owners(Self.shown, first)).rule == .accountsMerged)
        let banned = Self.record("a") { $0.customAttributes = #"{"banned":true}"# }
        let owners = MergeRequester.owners(Self.shown, Self.shown)
        #expect(
            verdict(Self.proven, banned, [:], owners) == Verdict(.mergeClaimsNeedAdmin, .refuse(.needsAdministrator))
        )
        #expect(
            verdict(banned, Self.proven, [.customAttributes: .absorbed], owners)
                == Verdict(.mergeClaimsNeedAdmin, .refuse(.needsAdministrator))
        )
        #expect(verdict(banned, Self.proven, [:], owners).rule == .accountsMerged)
        let cleared = Self.record("b") { $0.customAttributes = UserRecord.noClaims }
        #expect(verdict(Self.proven, cleared, [:], owners).rule == .accountsMerged, "cleared claims are none")
        #expect(verdict(banned, cleared).rule == .accountsMerged)
    }

    @Test func `E15: owners cannot merge an account whose changes a mail can still undo`() {
        for requester in [MergeRequester.owners(Self.shown, Self.shown), Self.administrator] {
            for survivor in [Self.proven, Self.record("s")] {
                var one = Case(survivor: survivor, absorbed: Self.guest, choices: [:], requester: requester)
                #expect(one.verdict.rule == .accountsMerged)
                one.canTakeBack = true
                let isRefused = one.verdict == Verdict(.mergeWhileRecoverable, .refuse(.needsAdministrator))
                #expect(isRefused == (requester != Self.administrator))
            }
        }
    }

    @Test func `E7: a choice of a missing field is refused`() {
        #expect(
            verdict(Self.proven, Self.guest, [.profile(.timeZone): .survivor])
                == Verdict(.mergeUnknownChoice, .refuse(.unknownChoice))
        )
    }

    @Test func `E8: common fields and passwords under unproven addresses need a choice`() {
        let other = Self.record("a") { record in
            Self.address(bob, isProven: true, &record)
            Self.give(.password, &record)
            record.profile.displayName = "Bob"
        }
        var named = Self.proven
        named.profile.displayName = "Ann"
        guard case .choose(let plan) = verdict(named, other).decision else {
            Issue.record("no choices")
            return
        }
        #expect(plan.undecided == [.email, .password, .profile(.displayName)])
        let stranger = Self.record("a") {
            Self.address(bob, isProven: false, &$0)
            Self.give(.password, &$0)
        }
        let google = Self.record("s") { Self.give(.provider(.google), &$0) }
        #expect(verdict(google, stranger).rule == .mergeNeedsChoices)
        #expect(verdict(stranger, google).rule == .mergeNeedsChoices)
        let refused = verdict(google, stranger, [.password: .survivor]).decision.plan?.merged
        #expect(refused?.passwordUpdatedAt == nil && refused?.email?.proof == nil && refused?.email != nil)
        // Equal names need no choice.
        var alike = other
        alike.profile.displayName = "Ann"
        #expect(verdict(named, alike).decision.plan?.undecided == [.email, .password])
    }

    @Test func `E16: with enumeration protection owners replace no address, present or former, by an unproven one`() {
        let unproven = Self.record("a") { Self.address(bob, isProven: false, &$0) }
        let proven = Self.record("a") { Self.address(bob, isProven: true, &$0) }
        let anns = Self.record("s") { Self.address(ann, isProven: true, &$0) }
        let moved = Self.record("s") { $0.initialEmail = ann.raw }
        let owners = MergeRequester.owners(Self.shown, Self.shown)
        for (survivor, choices) in [(anns, [.email: .absorbed]), (moved, [:]), (moved, [.email: .absorbed])]
            as [(UserRecord, [MergeField: MergeSide])]
        {
            func merge(_ absorbed: UserRecord, _ requester: MergeRequester, isProtected: Bool) -> Verdict<MergeDecision>
            {
                var one = Case(survivor: survivor, absorbed: absorbed, choices: choices, requester: requester)
                one.policy.protectsEmailEnumeration = isProtected
                return one.verdict
            }
            let refused = Verdict(.mergeNeedsVerifiedEmail, MergeDecision.refuse(.unverifiedEmail))
            #expect(merge(unproven, owners, isProtected: true) == refused)
            for allowed in [
                merge(unproven, owners, isProtected: false), merge(proven, owners, isProtected: true),
                merge(unproven, Self.administrator, isProtected: true),
            ] {
                #expect(allowed.rule == .accountsMerged)
                #expect(allowed.decision.plan?.merged.email?.address == bob)
            }
        }
        // A word for new addresses is no proof here: the next person to prove the address would take the account over.
        let word = Self.record("a") {
            $0.email = AccountEmail(address: bob, proof: .provider(.apple))
            Self.give(.provider(.apple), &$0)
        }
        for (survivor, choices) in [(anns, [.email: .absorbed]), (moved, [:])]
            as [(UserRecord, [MergeField: MergeSide])]
        {
            var one = Case(survivor: survivor, absorbed: word, choices: choices, requester: owners)
            #expect(one.verdict == Verdict(.mergeNeedsVerifiedEmail, .refuse(.unverifiedEmail)))
            one.policy.emailTrust = .compatible
            #expect(one.verdict.rule == .accountsMerged)
        }
        // Nothing is replaced: the address stays, or there was none.
        for (survivor, choices) in [(anns, [.email: .survivor]), (moved, [.email: .survivor]), (Self.record("s"), [:])]
            as [(UserRecord, [MergeField: MergeSide])]
        {
            #expect(verdict(survivor, unproven, choices, owners).rule == .accountsMerged)
        }
    }

    @Test func `E9 to E12: a merge whose result is invalid is refused`() {
        var crowded = Self.proven
        crowded.secondFactors = (1...3).map { .app("s\($0)") }
        var more = Self.guest
        more.secondFactors = (1...3).map { .app("a\($0)") }
        #expect(verdict(crowded, more) == Verdict(.mergeTooManyFactors, .refuse(.tooManySecondFactors)))
        more.secondFactors = [.app("s1")]
        #expect(verdict(crowded, more) == Verdict(.mergeFactorNameRepeated, .refuse(.secondFactorRepeated)))
        more.secondFactors = [.app("a")]
        #expect(
            verdict(Self.guest, Self.record("b") { $0.secondFactors = [.app("a")] }).rule
                == .mergeFactorsNeedProvenEmail
        )
        #expect(verdict(Self.proven, more).rule == .accountsMerged)
        let word = Self.record("s") {
            $0.email = AccountEmail(address: ann, proof: .provider(.apple))
            Self.give(.provider(.apple), &$0)
        }
        #expect(verdict(word, more) == Verdict(.mergeFactorsNeedProvenEmail, .refuse(.unverifiedEmail)))
        let google = Self.record("s") { Self.give(.provider(.google), &$0) }
        #expect(
            verdict(google, Self.guest, [.provider(.google): .absorbed])
                == Verdict(.mergeLeavesNoMethod, .refuse(.noSignInMethodLeft))
        )
    }

    @Test func `E13: an anonymous account is merged into another, and only its sessions end`() {
        guard case .merge(let plan) = verdict(Self.proven, Self.guest).decision else {
            Issue.record("not merged")
            return
        }
        #expect(plan.merged == Self.proven && !plan.endsSessions)
        let google = Self.record("a") { record in
            Self.give(.provider(.google), &record)
            record.profile.displayName = "Ann"
        }
        guard case .merge(let linked) = verdict(Self.proven, google).decision else {
            Issue.record("not merged")
            return
        }
        #expect(linked.merged.linkedProviders.keys.contains(.google) && linked.merged.profile.displayName == "Ann")
        #expect(linked.merged.sessionEpoch == Self.proven.sessionEpoch)
        let password = Self.record("a") { Self.give(.password, &$0) }
        let taken = verdict(Self.proven, password, [.password: .absorbed]).decision.plan
        #expect(taken?.endsSessions == true && taken?.merged.sessionEpoch == 8)
    }

    @Test func `E13: methods from owners count from the merge, methods from an administrator keep their age`() {
        let survivor = Self.record("s") { record in
            Self.address(ann, isProven: true, &record)
            Self.give(.provider(.google), &record)
        }
        var absorbed = Self.record("a") { record in
            for method in [SignInMethod.password, .phone, .provider(.gitHub)] { Self.give(method, &record) }
        }
        absorbed.secondFactors = [.app("x"), .number("n")]
        for (requester, isByOwners) in [
            (MergeRequester.owners(Self.shown, Self.shown), true), (Self.administrator, false),
        ] {
            guard case .merge(let plan) = verdict(survivor, absorbed, [:], requester).decision else {
                Issue.record("not merged")
                return
            }
            let merged = plan.merged
            for method in absorbed.methodProofs.keys {
                #expect(merged.methodProofs[method]?.provenAt == (isByOwners ? Self.now : Self.before))
                #expect(merged.methodProofs[method]?.proof == absorbed.methodProofs[method]?.proof)
            }
            let times = merged.secondFactors.map(\.enrolledAt)
            #expect(times == (isByOwners ? [Self.now, Self.now] : absorbed.secondFactors.map(\.enrolledAt)))
            // A code from a mail before the merge finds them.
            let found = merged.additions(since: Self.now.adding(seconds: -1))
            #expect(found.methods == (isByOwners ? [.password, .phone, .provider(.gitHub)] : []))
            #expect(found.olderSecondFactors == (isByOwners ? [] : nil))
            #expect(merged.methodProofs[.provider(.google)] == survivor.methodProofs[.provider(.google)])
        }
    }

    @Test func `H1 to H6: no answer is no consent`() {
        func decide(
            _ isVetoed: Bool = false,
            waiting: Int64 = 0,
            isOverdue: Bool = false,
            isUnchanged: Bool = true,
            isWithdrawn: Bool = false
        ) -> Verdict<MergeApprovalDecision> {
            decideMergeApproval(
                MergeApproval(
                    isWithdrawn: isWithdrawn,
                    isVetoed: isVetoed,
                    waitingCount: waiting,
                    isOverdue: isOverdue,
                    isUnchanged: isUnchanged
                )
            )
        }
        #expect(decide(isWithdrawn: true) == Verdict(.mergeWithdrawn, .abort(.withdrawn)))
        #expect(decide(true, waiting: 1, isOverdue: true) == Verdict(.mergeVetoed, .abort(.vetoed)))
        #expect(decide(isUnchanged: false) == Verdict(.mergeAccountsChanged, .abort(.accountsChanged)))
        #expect(decide(isOverdue: true) == Verdict(.mergeCommitted, .commit))
        #expect(decide(waiting: 1, isOverdue: true) == Verdict(.mergeTimedOut, .abort(.timedOut)))
        #expect(decide(waiting: 1) == Verdict(.mergeWaiting, .wait))
    }

    @Test func `H7 to H10: a merge is undone once, in time, and without overwriting later changes`() {
        func decide(_ isCommitted: Bool, _ isInTime: Bool, _ later: Bool, _ keeps: Bool) -> Verdict<MergeUndoDecision> {
            decideUndoMerge(
                isCommitted: isCommitted,
                isInTime: isInTime,
                hasLaterChanges: later,
                keepsLaterChanges: keeps
            )
        }
        #expect(decide(false, true, false, false) == Verdict(.undoNotCommitted, .refuse(.notCommitted)))
        #expect(decide(true, false, false, true) == Verdict(.undoTooLate, .refuse(.tooLate)))
        #expect(decide(true, true, true, false) == Verdict(.undoLaterChanges, .refuse(.laterChanges)))
        #expect(decide(true, true, true, true) == Verdict(.mergeUndone, .undo))
        #expect(decide(true, true, false, false) == Verdict(.mergeUndone, .undo))
    }

    @Test func `every refusal occurs, and every name parses`() {
        #expect(Set(Self.all.compactMap { refusal($0.verdict) }) == Set(MergeRefusal.allCases))
        let reasons = Self.handOvers.compactMap { verdict -> MergeAbortReason? in
            if case .abort(let reason) = verdict.decision { reason } else { nil }
        }
        #expect(Set(reasons) == Set(MergeAbortReason.allCases))
        for field in MergeField.fixed + [.provider(.google), .provider(provider("oidc.corp"))] {
            #expect(MergeField(name: field.name) == field)
        }
        for name in ["", "uid", "disabled", "google com", "google"] { #expect(MergeField(name: name) == nil) }
    }
}
