import AccountLinking
import Testing

/// Laws that hold for every combination of policy, accounts and credential, under any rules.
struct SignInWithIdpLaws {
    private func forAll(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ law: (SignInWithIdpCase, SignInDecision) -> Bool?
    ) {
        let points = Array(zip(SignInWithIdpCase.all, SignInWithIdpCase.verdicts))
        checkLaw(points, sourceLocation: sourceLocation) { law($0.0, $0.1.decision) }
    }

    @Test func `a linked identity signs in to its account only`() {
        forAll { point, decision in
            guard point.accounts.identityOwner != nil else { return nil }
            return switch decision {
            case .signIn(let id, let change, let emailWasRecycled):
                id == point.accounts.identityOwner?.id && change.linkedIdentity == nil && !emailWasRecycled
            case .secondFactorRequired(let id): id == point.accounts.identityOwner?.id
            case .refuse(let refusal): refusal == .userDisabled || refusal == .operationNotAllowed
            case .createUser, .conflict: false
            }
        }
    }

    @Test func `no unverified address signs in to an existing account`() {
        forAll { point, decision in
            guard point.accounts.identityOwner == nil && !point.claim.isVerified else { return nil }
            return switch decision {
            case .signIn, .secondFactorRequired: false
            case .createUser, .conflict, .refuse: true
            }
        }
    }

    @Test func `only the owner of the address is ever linked`() {
        forAll { point, decision in
            guard point.accounts.identityOwner == nil else { return nil }
            return switch decision {
            case .signIn(let id, _, _), .secondFactorRequired(let id):
                point.policy.isOneAccountPerEmail && id == point.accounts.emailOwner?.id
            case .conflict(.accountExistsWithDifferentCredential(let id, _)):
                point.policy.isOneAccountPerEmail && id == point.accounts.emailOwner?.id
            case .conflict(.credentialAlreadyInUse), .conflict(.emailAlreadyInUse): false
            case .conflict(.unprovenAddress(let address)): address == point.credential.email.address
            case .conflict(.firstSignIn): true
            case .createUser, .refuse: true
            }
        }
    }

    @Test func `an unproven account loses its old methods, sessions and proofs to its owner`() {
        var takeoverCount = 0
        forAll { point, decision in
            guard point.accounts.identityOwner == nil else { return nil }
            guard case .signIn(_, let change, _) = decision, let owner = point.accounts.emailOwner,
                !point.policy.isProven(owner)
            else { return nil }
            takeoverCount += 1
            let after = owner.applying(change)
            return after.signInMethods == [.provider(point.credential.identity.provider)] && after.isEmailVerified
                && !after.hasPassword && change.password == .remove && change.phone == .remove
                && change.emailLink == false && change.endsSessions && change.voidsOutstandingProofs
                && after.linkedProviders.values.sorted() == [point.credential.identity.subject]
        }
        #expect(takeoverCount > 0)
    }

    @Test func `a proven account keeps everything except another subject of the same provider`() {
        forAll { point, decision in
            guard case .signIn(let id, let change, _) = decision,
                let account = [point.accounts.identityOwner, point.accounts.emailOwner].compactMap({ $0 })
                    .first(where: { $0.id == id }), point.policy.isProven(account),
                // Except if the operator lets another subject take the account over.
                point.policy.subjectChange != .takeover
            else { return nil }
            let after = account.applying(change)
            return Set(account.signInMethods).isSubset(of: after.signInMethods) && after.email == account.email
                && change.unlinkedProviders.isSubset(of: [point.credential.identity.provider])
                && !change.endsSessions
        }
    }

    @Test func `disabled users never sign in`() {
        forAll { point, decision in
            switch decision {
            case .signIn(let id, _, _), .secondFactorRequired(let id):
                ![point.accounts.identityOwner, point.accounts.emailOwner]
                    .contains { $0?.id == id && $0?.isDisabled == true }
            case .createUser, .conflict, .refuse: true
            }
        }
    }

    @Test func `a required second factor is never skipped`() {
        forAll { point, decision in
            guard point.policy.requiresEnrolledSecondFactors && point.proven == nil else { return nil }
            guard case .signIn(let id, _, _) = decision else { return nil }
            return ![point.accounts.identityOwner, point.accounts.emailOwner]
                .contains { $0?.id == id && $0?.hasSecondFactor == true }
        }
    }

    @Test func `a proven second factor does not change the decision`() {
        forAll { point, decision in
            guard point.proven != nil else { return nil }
            var without = point
            without.accounts.identityOwner?.hasSecondFactor = false
            without.accounts.emailOwner?.hasSecondFactor = false
            return without.verdict.decision == decision
        }
    }

    @Test func `a reauthentication creates nothing, links nothing and is no conflict`() {
        forAll { point, decision in
            guard !point.createsUsers else { return nil }
            return switch decision {
            case .signIn(_, let change, _): change.linkedIdentity == nil
            case .secondFactorRequired, .refuse: true
            case .createUser, .conflict: false
            }
        }
    }

    @Test func `with duplicates allowed the owner of the address does not matter`() {
        forAll { point, decision in
            guard !point.policy.isOneAccountPerEmail else { return nil }
            var without = point
            without.accounts.emailOwner = nil
            return without.verdict.decision == decision
        }
    }

    @Test func `an owned address is never given to a new account`() {
        forAll { point, decision in
            guard point.accounts.emailOwner != nil else { return nil }
            guard case .createUser(let change) = decision else { return nil }
            return change.email == .keep
        }
    }

    @Test func `a new account's address is proven exactly if the provider is trusted`() {
        forAll { point, decision in
            guard case .createUser(let change) = decision, case .set(let address, let proof) = change.email else {
                return nil
            }
            return point.claim == (proof == nil ? .unverified(address) : .verified(address))
        }
    }

    @Test func `less trust never permits more`() {
        forAll { point, trusted in
            guard point.claim.isVerified else { return nil }
            var doubted = point
            doubted.credential.email = .present(ann, flag: .isFalse, hostedDomain: nil)
            guard case .signIn(let id, _, _) = doubted.verdict.decision else { return nil }
            guard case .signIn(id, _, _) = trusted else { return false }
            return true
        }
    }

    @Test func `stricter policy never permits more`() {
        forAll { point, decision in
            var strict = point
            strict.policy.allowsClientSignUp = false
            strict.policy.requiresEnrolledSecondFactors = true
            strict.createsUsers = false
            guard case .signIn(let id, _, _) = strict.verdict.decision else { return nil }
            if point.isProviderEnabled, case .signIn(id, _, _) = decision { return true }
            return decision == .secondFactorRequired(id)
        }
    }

    @Test func `a second sign-in finds the identity and changes nothing`() {
        forAll { point, decision in
            guard point.isProviderEnabled else { return nil }
            var account: Account
            switch decision {
            case .createUser(let change): account = Account.fixture("N").applying(change)
            case .signIn(let id, let change, _):
                guard
                    let before = [point.accounts.identityOwner, point.accounts.emailOwner].compactMap({ $0 })
                        .first(where: { $0.id == id })
                else { return false }
                account = before.applying(change)
            case .secondFactorRequired, .conflict, .refuse: return nil
            }
            account.hasSecondFactor = false
            var again = point
            again.accounts.identityOwner = account
            return again.verdict
                == Verdict(.signInByIdentity, .signIn(account.id, AccountChange(), emailWasRecycled: false))
        }
    }

    @Test func `a project that confirms unproven addresses gives one answer with and without an account`() {
        checkLaw(SignInWithIdpCase.all) { point in
            guard point.policy.confirmsUnprovenAddresses, case .unverified = point.claim, point.f == nil else {
                return nil
            }
            var stranger = point
            stranger.accounts.emailOwner = nil
            return point.verdict.decision == stranger.verdict.decision
        }
    }

    @Test func `a client that asks first gets every decision, except that no account is created`() {
        var askedCount = 0
        checkLaw(SignInWithIdpCase.all) { point in
            var asking = point
            asking.asksFirst = true
            var plain = point
            plain.asksFirst = false
            guard case .createUser = plain.verdict.decision else { return asking.verdict == plain.verdict }
            askedCount += 1
            return asking.verdict == Verdict(.firstSignInAsks, .conflict(.firstSignIn))
        }
        #expect(askedCount > 0)
    }

    /// The same rules as a flat table, each with its whole condition. An error would have to occur in both.
    @Test func `the flat table gives the same answer`() {
        let rows: [(Rule, (SignInWithIdpCase) -> Bool)] = [
            (.signInProviderNotEnabled, { !$0.isProviderEnabled }),
            (.identityOwnerDisabled, { $0.f?.isDisabled == true }),
            (.identityOwnerNeedsSecondFactor, { $0.f?.hasSecondFactor == true && $0.asksSecondFactor }),
            (.signInByIdentity, { $0.f != nil }),
            (.reauthenticationByUntrustedEmail, { $0.m != nil && !$0.claim.isVerified && !$0.createsUsers }),
            (.reauthenticationOfUnknownIdentity, { !$0.createsUsers }),
            (
                .untrustedEmailConfirmed,
                { $0.credential.email.address != nil && !$0.claim.isVerified && $0.policy.confirmsUnprovenAddresses }
            ),
            (.untrustedEmailConflict, { $0.m != nil && !$0.claim.isVerified }),
            (.emailOwnerDisabled, { $0.m?.isDisabled == true }),
            (.emailOwnerNeedsSecondFactor, { $0.m?.hasSecondFactor == true && $0.asksSecondFactor }),
            (.takeoverByProvider, { $0.m?.email?.isVerified == false }),
            (.takeoverFromFormerHolder, { $0.m?.email?.proof == .provider(.apple) }),
            (.subjectDiffers, { $0.hasAnotherSubject && $0.policy.subjectChange == .conflict }),
            (.takeoverBySubject, { $0.hasAnotherSubject && $0.policy.subjectChange == .takeover }),
            (.subjectMoved, { $0.hasAnotherSubject && $0.policy.subjectChange == .move }),
            (.subjectReplaced, { $0.hasAnotherSubject }),
            (.linkByProvenEmail, { $0.m != nil }),
            (.providerSignUpNotAllowed, { !$0.policy.allowsClientSignUp }),
            (.firstSignInAsks, { $0.asksFirst }),
            (.signUpWithoutEmail, { $0.claim == .absent }),
            (.signUpWithDuplicateEmail, { !$0.policy.isOneAccountPerEmail }),
            (.signUpWithEmail, { _ in true }),
        ]
        checkLaw(Array(zip(SignInWithIdpCase.all, SignInWithIdpCase.verdicts))) { point, verdict in
            rows.first { $0.1(point) }?.0 == verdict.rule
        }
    }
}

extension SignInWithIdpCase {
    fileprivate var f: Account? { accounts.identityOwner }
    fileprivate var m: Account? { policy.isOneAccountPerEmail ? accounts.emailOwner : nil }
    fileprivate var hasAnotherSubject: Bool {
        let isOfParty = m?.linkedProviders[workspace] != nil && credential.identity.provider == .google
        return m?.linkedProviders.keys.contains(credential.identity.provider) == true
            || isOfParty && [.conflict, .takeover].contains(policy.subjectChange)
    }
    fileprivate var asksSecondFactor: Bool { policy.requiresEnrolledSecondFactors && proven == nil }
}

struct LinkWithIdpLaws {
    private func forAll(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ law: (LinkWithIdpCase, SignInDecision) -> Bool?
    ) {
        let points = Array(zip(LinkWithIdpCase.all, LinkWithIdpCase.verdicts))
        checkLaw(points, sourceLocation: sourceLocation) { law($0.0, $0.1.decision) }
    }

    @Test func `linking never creates an account and never signs in to another one`() {
        forAll { point, decision in
            switch decision {
            case .signIn(let id, _, let emailWasRecycled): id == point.target.id && !emailWasRecycled
            case .secondFactorRequired(let id): id == point.target.id
            case .createUser: false
            case .conflict, .refuse: true
            }
        }
    }

    @Test func `linking removes only a subject that the owner replaces, ends no session and keeps the profile`() {
        forAll { point, decision in
            guard case .signIn(_, let change, _) = decision else { return nil }
            let after = point.target.applying(change)
            let replaced: Set<ProviderID> =
                point.settlesConflict && point.isSessionRecent
                ? [point.credential.identity.provider] : []
            return change.unlinkedProviders.isSubset(of: replaced) && change.password == .keep && change.phone == .keep
                && change.emailLink == nil && !change.endsSessions && change.profile == .keep
                && Set(point.target.signInMethods).isSubset(of: after.signInMethods)
                && (point.target.email == nil || after.email?.address == point.target.email?.address)
        }
    }

    @Test func `an address that linking sets is proven, or the first of the account`() {
        forAll { point, decision in
            guard case .signIn(_, let change, _) = decision, case .set(_, let proof) = change.email else { return nil }
            return proof != nil || !point.target.hasHadEmail
        }
    }

    @Test func `a link that succeeds links the identity, which then signs in to the account`() {
        forAll { point, decision in
            guard case .signIn(_, let change, _) = decision else { return nil }
            var after = point.target.applying(change)
            after.hasSecondFactor = false
            let signIn = SignInWithIdpCase(
                policy: point.policy,
                credential: point.credential,
                accounts: MatchingAccounts(identityOwner: after, emailOwner: nil)
            )
            return after.linkedProviders[point.credential.identity.provider] == point.credential.identity.subject
                && !after.isAnonymous
                && signIn.verdict
                    == Verdict(.signInByIdentity, .signIn(after.id, AccountChange(), emailWasRecycled: false))
        }
    }

    @Test func `an identity or address of another account is never linked`() {
        forAll { point, decision in
            let decides = point.policy.isOneAccountPerEmail && !point.ignoresAddress
            let others = [
                point.accounts.identityOwner, decides ? point.accounts.emailOwner : nil,
            ].compactMap { $0 }.filter { $0.id != point.target.id }
            guard !others.isEmpty else { return nil }
            return switch decision {
            case .conflict, .refuse: true
            case .createUser, .signIn, .secondFactorRequired: false
            }
        }
    }

    @Test func `a project that confirms unproven addresses links them alike with and without an account`() {
        var taken: Set<Rule> = []
        checkLaw(LinkWithIdpCase.all) { point in
            guard point.ignoresAddress, let owner = point.accounts.emailOwner else { return nil }
            var stranger = point
            stranger.accounts.emailOwner = nil
            if owner.id != point.target.id { taken.insert(point.verdict.rule) }
            return point.verdict == stranger.verdict
        }
        #expect(taken.isSuperset(of: [.providerLinked, .anonymousUpgradedByProvider, .linkOfSecondSubject]))
        #expect(!taken.contains(.linkEmailInUse))
    }

    @Test func `a project that confirms unproven addresses gives no account one by a link`() {
        forAll { point, decision in
            guard point.ignoresAddress, case .signIn(_, let change, _) = decision else { return nil }
            return change.email == .keep
        }
    }

    @Test func `only a trusted provider of the same address proves it`() {
        forAll { point, decision in
            guard case .signIn(_, let change, _) = decision, !point.target.isEmailVerified else { return nil }
            let after = point.target.applying(change)
            guard let email = after.email, email.isVerified else { return nil }
            return point.policy.emailClaim(
                of: point.credential,
                isAddressTaken: point.accounts.emailOwner != nil
            ) == .verified(email.address)
        }
    }

    @Test func `a disabled account and a missing second factor link nothing`() {
        forAll { point, decision in
            let needsFactor =
                point.policy.requiresEnrolledSecondFactors && point.target.hasSecondFactor && point.proven == nil
            guard point.target.isDisabled || needsFactor else { return nil }
            if case .signIn = decision { return false }
            return true
        }
    }
}

struct PhoneLaws {
    private func forAll(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ law: (PhoneCase, SignInDecision) -> Bool?
    ) {
        let points = Array(zip(PhoneCase.all, PhoneCase.verdicts))
        checkLaw(points, sourceLocation: sourceLocation) { law($0.0, $0.1.decision) }
    }

    @Test func `a sign-in by a number sets it on the account, which loses only another number`() {
        forAll { point, decision in
            let (before, after): (Account?, Account?)
            switch decision {
            case .createUser(let change): (before, after) = (nil, Account.fixture("X").applying(change))
            case .signIn(_, let change, _):
                before = point.target ?? point.owner
                after = before?.applying(change)
            case .secondFactorRequired, .conflict, .refuse: return nil
            }
            let kept = Set(before?.signInMethods ?? []).isSubset(of: after?.signInMethods ?? [])
            return after?.phoneNumber == annsNumber && kept && after?.sessionEpoch == (before ?? after)?.sessionEpoch
        }
    }

    @Test func `the number of one account never moves to another`() {
        forAll { point, decision in
            guard let owner = point.owner else { return nil }
            return switch decision {
            case .signIn(let id, let change, _): id == owner.id && change.isEmpty
            case .refuse: true
            case .createUser, .conflict, .secondFactorRequired: false
            }
        }
    }

    @Test func `no number bypasses a second factor or signs in to a disabled account`() {
        forAll { point, decision in
            guard let account = point.target ?? point.owner, account.hasSecondFactor || account.isDisabled else {
                return nil
            }
            if case .refuse = decision { return true }
            return false
        }
    }

    @Test func `a reauthentication creates nothing and changes nothing`() {
        forAll { point, decision in
            guard point.operation == .reauthenticate else { return nil }
            return switch decision {
            case .signIn(_, let change, _): change.isEmpty
            case .refuse: true
            case .createUser, .conflict, .secondFactorRequired: false
            }
        }
    }
}

struct EmailLinkLaws {
    private func forAll(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ law: (EmailLinkCase, SignInDecision) -> Bool?
    ) {
        let points = Array(zip(EmailLinkCase.all, EmailLinkCase.verdicts))
        checkLaw(points, sourceLocation: sourceLocation) { law($0.0, $0.1.decision) }
    }

    @Test func `a followed link proves the address on the account, which can use links again`() {
        forAll { point, decision in
            let after: Account?
            switch decision {
            case .createUser(let change): after = Account.fixture("N").applying(change)
            case .signIn(_, let change, _): after = (point.target ?? point.owner)?.applying(change)
            case .secondFactorRequired, .conflict, .refuse: return nil
            }
            return after?.email?.address == ann && after?.isEmailVerified == true && after?.hasEmailLink == true
        }
    }

    @Test func `the address of one account never moves to another`() {
        forAll { point, decision in
            guard point.owner != nil else { return nil }
            return switch decision {
            case .signIn(let id, _, _), .secondFactorRequired(let id): id == point.owner?.id
            case .refuse: true
            case .createUser, .conflict: false
            }
        }
    }

    @Test func `an unproven account without a session loses all its other methods`() {
        forAll { point, decision in
            guard point.target == nil, let owner = point.owner, !point.policy.isProven(owner) else { return nil }
            guard case .signIn(_, let change, _) = decision else { return nil }
            return owner.applying(change).signInMethods == [.emailLink] && change.endsSessions
                && change.voidsOutstandingProofs && change.linkedIdentity == nil && change.profile == .keep
        }
    }

    @Test func `a proven account, and one with a session, keep every method`() {
        forAll { point, decision in
            guard point.target != nil || point.owner.map(point.policy.isProven) == true else { return nil }
            guard case .signIn(_, let change, _) = decision, let account = point.target ?? point.owner else {
                return nil
            }
            return Set(account.signInMethods).isSubset(of: account.applying(change).signInMethods)
                && !change.voidsOutstandingProofs
        }
    }

    @Test func `an old session sets no address if linking needs a recent one`() {
        forAll { point, decision in
            guard let target = point.target, !point.isSessionRecent, point.policy.linkingNeedsRecentSignIn,
                !target.isAnonymous
            else { return nil }
            guard case .signIn(_, let change, _) = decision, case .set = change.email else { return true }
            return false
        }
    }

    @Test func `an old session never replaces an address`() {
        forAll { point, decision in
            guard !point.isSessionRecent && point.target?.email != nil else { return nil }
            guard case .signIn(_, let change, _) = decision, case .set = change.email else { return true }
            return false
        }
    }

    @Test func `disabled users and users without the required second factor never sign in`() {
        forAll { point, decision in
            guard let account = point.target ?? point.owner else { return nil }
            let needsFactor =
                point.policy.requiresEnrolledSecondFactors && account.hasSecondFactor && point.proven == nil
            guard account.isDisabled || needsFactor else { return nil }
            return switch decision {
            case .signIn, .createUser: false
            case .secondFactorRequired, .conflict, .refuse: true
            }
        }
    }
}

struct TakeoverLaws {
    @Test func `a takeover deletes the first address`() {
        var changes: Set<AccountChange> = []
        for verdict in SignInWithIdpCase.verdicts + LinkWithIdpCase.verdicts + EmailLinkCase.verdicts {
            if case .signIn(_, let change, _) = verdict.decision { changes.insert(change) }
        }
        for point in UpdateCase.all {
            if case .apply(_, let change, _) = point.verdict.decision { changes.insert(change) }
        }
        let account = Account.fixture("a", email: ann, initialEmail: true)
        var record = UserRecord(
            tenant: .project,
            id: account.id,
            sessionEpoch: 1,
            createdAt: Timestamp(secondsSinceEpoch: 1)
        )
        record.initialEmail = bob.raw
        let context = ChangeContext(now: Timestamp(secondsSinceEpoch: 2), methodProof: .session)
        checkLaw(changes.filter { $0.rememberedInitialEmail == nil }) { change in
            account.applying(change).hasInitialEmail == !change.voidsOutstandingProofs
                && (record.applying(change, context).initialEmail == nil) == change.voidsOutstandingProofs
        }
    }
}

struct SignUpLaws {
    @Test func `an owned address is never given away`() {
        checkLaw(SignUpCase.all.filter { $0.owner != nil }) { point in
            switch point.verdict.decision {
            case .signIn(let id, let change, _): id == point.owner?.id && change.email == .keep
            case .refuse: true
            case .createUser, .secondFactorRequired, .conflict: false
            }
        }
    }

    @Test func `a sign-up never proves its address`() {
        checkLaw(SignUpCase.all) { point in
            switch point.verdict.decision {
            case .createUser(let change), .signIn(_, let change, _):
                switch change.email {
                case .keep, .set(_, proof: nil): true
                case .set, .prove, .unprove, .remove: false
                }
            case .secondFactorRequired, .conflict, .refuse: true
            }
        }
    }

    @Test func `with enumeration protection no address is replaced by an unproven one`() {
        checkLaw(SignUpCase.all.filter(\.policy.protectsEmailEnumeration)) { point in
            guard case .linkPassword(_, let target, _) = point.request, target.email != nil,
                case .signIn(_, let change, _) = point.verdict.decision
            else { return nil }
            return change.email == .keep
        }
    }

    @Test func `setting a password ends every other session`() {
        checkLaw(SignUpCase.all) { point in
            guard case .signIn(_, let change, _) = point.verdict.decision else { return nil }
            return change.password == .set && change.endsSessions
        }
    }
}

struct PasswordLaws {
    @Test func `only the right password of an enabled account signs in, and changes nothing`() {
        checkLaw(PasswordCase.all) { point in
            guard case .signIn(let id, let change, _) = point.verdict.decision else { return nil }
            guard let owner = point.owner else { return false }
            return id == owner.id && owner.hasPassword && point.passwordMatches && !point.isLocked
                && !owner.isDisabled && change.isEmpty
        }
    }

    @Test func `with enumeration protection an anonymous caller cannot learn which addresses have accounts`() {
        for isLocked in [false, true] {
            let unknown = PasswordCase(isLocked: isLocked, passwordMatches: false).verdict.decision
            checkLaw(
                PasswordCase.all.filter {
                    $0.policy.protectsEmailEnumeration && $0.policy.allowsPasswordSignIn && !$0.passwordMatches
                        && $0.isLocked == isLocked
                        && ($0.owner?.isDisabled != true || !$0.policy.showsDisabledAccounts)
                }
            ) { $0.verdict.decision == unknown }
        }
    }

    @Test func `while an address is locked, the password makes no difference`() {
        checkLaw(PasswordCase.all.filter(\.isLocked)) { point in
            var other = point
            other.passwordMatches.toggle()
            return other.verdict == point.verdict
        }
    }
}

struct UpdateLaws {
    @Test func `setting a password or another address ends sessions`() {
        checkLaw(UpdateCase.all) { point in
            guard case .apply(_, let change, _) = point.verdict.decision else { return nil }
            if case .set = change.email { return change.endsSessions }
            // A restored password was the account's before, so its sessions stay.
            return change.password != .set || change.endsSessions || point.kind == .restorePassword
        }
    }

    @Test func `tokens are issued exactly if a client's own change ended its session`() {
        checkLaw(UpdateCase.all) { point in
            guard case .apply(_, let change, let issuesTokens) = point.verdict.decision else { return nil }
            switch point.kind {
            case .changeEmail, .changePassword: return issuesTokens && change.endsSessions
            // A code from a session that did not request it.
            case .verifyEmail: return !issuesTokens || point.verdict.rule == .firstProofElsewhere && change.endsSessions
            case .resetPassword, .applyEmailCode, .unlink, .removeMethod, .restorePassword, .updateByAdmin:
                return !issuesTokens
            }
        }
    }

    @Test func `an applied change changes something, on the account of the question`() {
        checkLaw(UpdateCase.all) { point in
            guard case .apply(let id, let change, _) = point.verdict.decision else { return nil }
            return !change.isEmpty && id == point.account?.id
        }
    }

    @Test func `after a reset only the password and the mailbox sign in`() {
        checkLaw(UpdateCase.all.filter { $0.kind == .resetPassword && $0.verdict.rule != .resetKeepsProviders }) {
            point in
            guard case .apply(_, let change, _) = point.verdict.decision, let account = point.account else {
                return nil
            }
            let after = account.applying(change)
            return Set(after.signInMethods).isSubset(of: [.password, .emailLink]) && after.isEmailVerified
                && after.hasPassword
        }
    }

    @Test func `on Concord's own routes a method is removed only if one that could work is left`() {
        checkLaw(UpdateCase.all.filter { $0.kind == .removeMethod }) { point in
            guard case .apply(_, let change, _) = point.verdict.decision, let account = point.account else {
                return nil
            }
            let left = account.applying(change).signInMethods
            // A password without an address is no method, and may be removed.
            return left == account.signInMethods || left.contains { $0 != .phone || !account.hasSecondFactor }
        }
    }

    @Test func `methods that a takeover or a reset removes are suspended, and no others`() {
        checkLaw(UpdateCase.all) { point in
            guard case .apply(_, let change, _) = point.verdict.decision, let account = point.account else {
                return nil
            }
            let lost = Set(account.signInMethods).subtracting(account.applying(change).signInMethods)
            switch point.kind {
            case .resetPassword:
                return change.quarantinesRemovals == !lost.subtracting([.emailLink]).isEmpty
            case .applyEmailCode:
                // A password without an address is no method. A takeover sets the flag for every account.
                return lost.isEmpty || change.quarantinesRemovals
            case .verifyEmail: return change.quarantinesRemovals == change.voidsOutstandingProofs
            default: return !change.quarantinesRemovals
            }
        }
    }

    @Test func `a disowned account has the mailbox as its only method, or has lost the address`() {
        checkLaw(UpdateCase.all.filter { $0.kind == .verifyEmail }) { point in
            guard case .apply(_, let change, _) = point.verdict.decision, change.voidsOutstandingProofs,
                let account = point.account
            else { return nil }
            let after = account.applying(change)
            guard after.hasEmail else { return account.hasSecondFactor && !after.hasPassword && !after.hasEmailLink }
            return after.isEmailVerified && after.signInMethods.isEmpty && change.endsSessions
        }
    }

    @Test func `a recovered address leaves nothing younger than the code, and after a first proof no other method`() {
        checkLaw(UpdateCase.all.filter { $0.kind == .applyEmailCode }) { point in
            guard let account = point.account else { return nil }
            let change: AccountChange
            switch point.verdict.decision {
            case .apply(_, let applied, _): change = applied
            case .takeAddress(_, let applied, from: _, _): change = applied
            case .unchanged, .refuse: return nil
            }
            let after = account.applying(change)
            switch point.verdict.rule {
            case .recoverySuspendsAdditions:
                return !after.hasPassword && after.linkedProviders.isEmpty && !after.hasSecondFactor
                    && after.phoneNumber == account.phoneNumber && change.endsSessions
            case .takeoverByRecovery:
                return after.signInMethods.isEmpty && after.isEmailVerified && change.endsSessions
                    && change.voidsOutstandingProofs
            default: return nil
            }
        }
    }

    @Test func `disabled users change nothing themselves`() {
        checkLaw(UpdateCase.all.filter { $0.account?.isDisabled == true && $0.kind != .updateByAdmin }) { point in
            if case .apply = point.verdict.decision { return false }
            return true
        }
    }

    @Test func `applying a change raises the version once, and the epoch exactly if sessions end`() {
        checkLaw(UpdateCase.all) { point in
            guard case .apply(_, let change, _) = point.verdict.decision, let account = point.account else {
                return nil
            }
            let after = account.applying(change)
            return after.version == account.version + 1
                && after.sessionEpoch == account.sessionEpoch + (change.endsSessions ? 1 : 0)
        }
    }

    @Test func `combined changes leave the facts that both in sequence leave`() {
        var distinct: Set<AccountChange> = [AccountChange()]
        for point in UpdateCase.all {
            if case .apply(_, let change, _) = point.verdict.decision { distinct.insert(change) }
        }
        for verdict in SignInWithIdpCase.verdicts {
            if case .signIn(_, let change, _) = verdict.decision { distinct.insert(change) }
        }
        let accounts = [
            Account.fixture("a"),
            .fixture("a", email: ann, password: true, emailLink: true, phone: true, providers: [.facebook: "f"]),
            .fixture("a", email: bob, proof: .emailCode, providers: [.google: "g"], disabled: true),
            .fixture("a", email: bob, password: true, initialEmail: true),
        ]
        let pairs = distinct.flatMap { first in distinct.map { (first, $0) } }
            .filter { $0.linkedIdentity == nil || $1.linkedIdentity == nil }
        checkLaw(pairs) { first, second in
            accounts.allSatisfy { account in
                var inARow = account.applying(first).applying(second)
                var asOne = account.applying(first.followed(by: second))
                // The number of increments is not a fact about the account.
                inARow.version = 0
                asOne.version = 0
                let ends = asOne.sessionEpoch > account.sessionEpoch
                let bothEnd = inARow.sessionEpoch > account.sessionEpoch
                inARow.sessionEpoch = 0
                asOne.sessionEpoch = 0
                return inARow == asOne && ends == bothEnd
            }
        }
    }

    @Test func `an empty change changes nothing`() {
        let account = Account.fixture("a", email: ann, password: true)
        #expect(account.applying(AccountChange()) == account)
        #expect(AccountChange().isEmpty)
    }
}

/// Reports the first counterexample of a law, and their number.
///
/// A law returns `nil` for points that it does not cover. A law that covers no point fails.
func checkLaw<Point>(
    _ points: some Sequence<Point>,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ holds: (Point) -> Bool?
) {
    var concernedCount = 0
    var counterexamples: [Point] = []
    for point in points {
        guard let isKept = holds(point) else { continue }
        concernedCount += 1
        if !isKept { counterexamples.append(point) }
    }
    #expect(concernedCount > 0, "the law speaks about nothing", sourceLocation: sourceLocation)
    if let first = counterexamples.first {
        Issue.record(
            "\(counterexamples.count) of \(concernedCount) combinations break the law, such as \(first)",
            sourceLocation: sourceLocation
        )
    }
}
