import AccountLinking
import Testing

/// Named attacks on account linking, played against the rules alone: the attacker moves first, then the owner of the
/// address signs in, then the attacker tries to return. ("Pre-hijacked accounts", USENIX Security 2022, and published
/// vulnerabilities of others.)
struct Attacks {
    /// The prepared account after each sign-in of its owner.
    private func arrivals(at prepared: Account) -> [(String, Account)] {
        var arrivals: [(String, Account)] = []
        let byProvider = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: prepared,
            credential: .trusted,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        let byLink = SignInWithEmailLinkQuestion(
            email: ann,
            owner: prepared,
            target: nil,
            isSessionRecent: false,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        for (way, verdict) in [("provider", byProvider), ("link", byLink)] {
            guard case .signIn(_, let change, _) = verdict.decision else { continue }
            #expect(change.voidsOutstandingProofs)
            arrivals.append((way, prepared.applying(change)))
        }
        for unlinks in [true, false] {
            let policy = LinkPolicy.policy { $0.passwordResetUnlinksProviders = unlinks }
            let reset = ResetPasswordQuestion(account: prepared, address: ann).decide(policy)
            guard case .apply(_, let change, _) = reset.decision else { continue }
            #expect(change.voidsOutstandingProofs)
            arrivals.append(("reset", prepared.applying(change)))
        }
        #expect(arrivals.count == 4)
        return arrivals
    }

    @Test func `classic-federated merge: a password from before the owner's first sign-in stops working`() {
        let prepared = Account.fixture("m", email: ann, password: true)
        for (way, account) in arrivals(at: prepared) where way != "reset" {
            let attacker = SignInWithPasswordQuestion(
                owner: account,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: nil
            ).decide(LinkPolicy())
            #expect(attacker.rule == .wrongPassword, "after \(way)")
        }
    }

    @Test func `unexpired session: a session from before the owner's first sign-in ends, in the same second`() {
        let now = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let prepared = Account.fixture("m", email: ann, password: true)
        for (way, account) in arrivals(at: prepared) {
            let access = decideAccess(
                account: account,
                tokenEpoch: prepared.sessionEpoch,
                tokenIssuedAt: now,
                validSince: now,
                session: .notRead,
                lifetimes: .unlimited,
                now: now
            )
            #expect(access == Verdict(.tokenEpochStale, .refuse(.tokenExpired)), "after \(way)")
            let refresh = decideRefresh(
                account: account,
                sessionEpoch: prepared.sessionEpoch,
                sessionStartedAt: now,
                validSince: now,
                times: SessionTimes(startedAt: now, lastUsedAt: now),
                lifetimes: .unlimited,
                now: now
            )
            #expect(refresh == Verdict(.refreshSessionGone, .refuse(.tokenExpired)), "after \(way)")
        }
    }

    @Test
    func `unexpired session: a session from before the owner's first sign-in merges nothing, in either direction`() {
        let prepared = Account.fixture("m", email: ann, password: true)
        let session = MergeRequester.OwnerSession(
            isRecent: true,
            hasSecondFactor: true,
            sessionEpoch: prepared.sessionEpoch
        )
        let own = MergeRows.record("t") { $0.sessionEpoch = prepared.sessionEpoch }
        for (way, account) in arrivals(at: prepared) {
            let taken = MergeRows.record("m") { $0.sessionEpoch = account.sessionEpoch }
            for (survivor, absorbed) in [(own, taken), (taken, own)] {
                let merge = MergeRows.Case(
                    survivor: survivor,
                    absorbed: absorbed,
                    choices: [:],
                    requester: .owners(session, session)
                )
                #expect(merge.verdict == Verdict(.mergeSessionEnded, .refuse(.sessionEnded)), "after \(way)")
            }
        }
    }

    @Test func `trojan identifier: a provider or number from before the owner's first sign-in stops working`() {
        let prepared = Account.fixture(
            "m",
            email: ann,
            password: true,
            phone: true,
            providers: [.gitHub: "attacker", .google: "attacker"]
        )
        for (way, account) in arrivals(at: prepared) {
            #expect(!account.linkedProviders.values.contains("attacker"), "after \(way)")
            #expect(account.phoneNumber == nil, "after \(way)")
        }
    }

    @Test func `unexpired e-mail change: a change from before the owner's first sign-in cannot be confirmed`() {
        let begun = EmailCodeChange.verifyAndChange(to: bob, sentFor: ann, sessionEpoch: 7)
        let unproven = Account.fixture("m", email: ann, password: true)
        for (way, account) in arrivals(at: unproven) {
            #expect(
                decideApplyEmailCode(policy: LinkPolicy(), account: account, code: begun, owner: nil)
                    == Verdict(.emailCodeStale, .refuse(.invalidEmailCode)),
                "after \(way)"
            )
        }
        // The same for a proven account whose owner resets or changes the password to evict an intruder.
        let proven = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        let rescues = [
            ResetPasswordQuestion(account: proven, address: ann).decide(LinkPolicy()),
            decideChangePassword(policy: LinkPolicy(), account: proven, isSessionRecent: true),
        ]
        for rescue in rescues {
            guard case .apply(_, let change, _) = rescue.decision else {
                Issue.record("the owner was refused")
                continue
            }
            #expect(
                decideApplyEmailCode(policy: LinkPolicy(), account: proven.applying(change), code: begun, owner: nil)
                    == Verdict(.emailCodeStale, .refuse(.invalidEmailCode))
            )
        }
    }

    @Test func `trojan first address: an attacker's address from before the owner's first sign-in recovers nothing`() {
        // The attacker signed up with an address of theirs, then changed it, unproven, to the owner's.
        let prepared = Account.fixture("m", email: ann, password: true, initialEmail: true)
        for (way, account) in arrivals(at: prepared) {
            #expect(!account.hasInitialEmail, "after \(way)")
            // Therefore the owner's next change of address stores and mails the owner's own.
            let change = decideChangeEmail(
                policy: .policy { $0.protectsEmailEnumeration = false },
                account: account,
                newAddress: bob,
                owner: nil,
                isSessionRecent: true
            )
            guard case .apply(_, let change, _) = change.decision else {
                Issue.record("the owner was refused after \(way)")
                continue
            }
            #expect(change.rememberedInitialEmail == ann, "after \(way)")
        }
    }

    /// U1 and P17 refuse an address that a session types in. Linking an account at a provider, whose address the user
    /// can type, must not avoid that. A word for new addresses would avoid it too: the next person to prove the address
    /// takes the account over.
    @Test(arguments: [
        IncomingCredential.untrusted, incoming(provider("oidc.work"), "thief", ann, flagged: false),
        incoming(.apple, "thief", ann, flagged: true),
    ])
    func `change of address with a stolen session: an unproven address from a provider replaces none`(
        thief: IncomingCredential
    ) {
        for policy in [LinkPolicy(), .enumerable] {
            let victim = Account.fixture("v", email: bob, proof: .provider(.google), providers: [.google: "victim"])
            let removed = UnlinkQuestion(
                account: victim,
                enabledProviders: [.google],
                removal: Removal(email: true),
                request: .client(isSessionRecent: true)
            ).decide(policy)
            guard case .apply(_, let removal, _) = removed.decision else {
                Issue.record("the session was refused")
                return
            }
            let without = victim.applying(removal)
            #expect(without.email == nil && without.hasInitialEmail)
            let linked = LinkWithIdpQuestion(
                target: without,
                identityOwner: nil,
                emailOwner: nil,
                credential: thief,
                isProviderEnabled: true,
                secondFactorProvenBy: nil,
                isSessionRecent: true
            ).decide(policy)
            guard case .signIn(_, let link, _) = linked.decision else {
                Issue.record("the session was refused: \(linked.rule)")
                return
            }
            // Without an address there is nothing to take over.
            #expect(without.applying(link).email == nil && without.applying(link).hasInitialEmail)
        }
    }

    /// The first address does not show who is right: the reader of the new one may be its owner or a thief.
    @Test(arguments: [false, true])
    func `trojan first address: a proven one of the attacker survives only behind a second factor`(
        hasSecondFactor: Bool
    ) {
        let prepared = Account.fixture(
            "m",
            email: ann,
            password: true,
            secondFactor: hasSecondFactor,
            initialEmail: true
        )
        for isAsked in [false, true] {
            let policy = LinkPolicy.policy { $0.requiresEnrolledSecondFactors = isAsked }
            guard policy.codesVoided(byTakeoverOf: prepared) != .all else { continue }
            #expect(hasSecondFactor && isAsked)
            // The owner of the address cannot sign in without the attacker's second factor.
            let byLink = SignInWithEmailLinkQuestion(
                email: ann,
                owner: prepared,
                target: nil,
                isSessionRecent: false,
                secondFactorProvenBy: nil
            ).decide(policy)
            let byProvider = SignInWithIdpQuestion(
                identityOwner: nil,
                emailOwner: prepared,
                credential: .trusted,
                isProviderEnabled: true,
                createsUsers: true,
                secondFactorProvenBy: nil
            ).decide(policy)
            let byPassword = SignInWithPasswordQuestion(
                owner: prepared,
                isLocked: false,
                passwordMatches: true,
                secondFactorProvenBy: nil
            ).decide(policy)
            for verdict in [byLink, byProvider, byPassword] {
                #expect(verdict.decision == .secondFactorRequired(prepared.id))
            }
        }
    }

    @Test func `stolen session: merging the account into another voids no recovery mail`() {
        let stolen = MergeRows.record("m") { record in
            MergeRows.give(.provider(.google), &record)
            record.initialEmail = ann.raw
        }
        let own = MergeRows.record("t") { MergeRows.address(bob, isProven: true, &$0) }
        let merge = MergeRows.Case(
            survivor: own,
            absorbed: stolen,
            choices: [:],
            requester: .owners(MergeRows.shown, MergeRows.shown),
            canTakeBack: true
        )
        #expect(merge.verdict == Verdict(.mergeWhileRecoverable, .refuse(.needsAdministrator)))
    }

    @Test(arguments: [false, true], [false, true])
    func `stolen session: a merge into the account replaces no address without a way to recover it`(
        isProtected: Bool,
        isProven: Bool
    ) {
        let stolen = MergeRows.record("m") { MergeRows.address(ann, isProven: true, &$0) }
        let own = MergeRows.record("t") { record in
            MergeRows.address(bob, isProven: isProven, &record)
            MergeRows.give(.password, &record)
        }
        var merge = MergeRows.Case(
            survivor: stolen,
            absorbed: own,
            choices: [.email: .absorbed, .password: .absorbed],
            requester: .owners(MergeRows.shown, MergeRows.shown)
        )
        merge.policy.protectsEmailEnumeration = isProtected
        guard case .merge(let plan) = merge.verdict.decision else {
            #expect(isProtected && !isProven)
            #expect(merge.verdict == Verdict(.mergeNeedsVerifiedEmail, .refuse(.unverifiedEmail)))
            return
        }
        #expect(isProven || !isProtected)
        #expect(plan.merged.initialEmail == ann.raw)
    }

    @Test(arguments: [ProviderID.facebook, .gitHub, .twitter, .linkedIn, provider("example.com"), .google])
    func `non-verifying provider: a claimed address is a conflict, never a sign-in`(
        attacker: ProviderID
    ) {
        let owner = Account.fixture("m", email: bob, proof: .emailCode, password: true)
        let verdict = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: owner,
            credential: incoming(attacker, "attacker", bob, flagged: true),
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        #expect(verdict.rule == .untrustedEmailConflict)
    }

    @Test func `nOAuth: an address from a work directory is no proof`() {
        let mailbox = address("ann@outlook.com")
        let owner = Account.fixture("m", email: mailbox, proof: .emailCode, password: true)
        let verdict = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: owner,
            credential: incoming(
                .microsoft,
                "attacker",
                mailbox,
                flagged: true,
                issuer: "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
            ),
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        #expect(verdict.rule == .untrustedEmailConflict)
    }

    @Test func `a session of another account cannot link a pending credential (CVE-2026-9087)`() {
        let now = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let victim = Account.fixture("victim", email: ann, proof: .emailCode, password: true)
        let facts = ConflictFacts(
            state: .open,
            expiresAt: now.adding(seconds: 3600),
            tenant: .project,
            account: victim.id
        )
        #expect(
            decidePendingCredential(
                conflict: facts,
                handleTenant: .project,
                target: user("attacker"),
                isOfRegisteredIssuer: true,
                now: now
            ) == Verdict(.pendingOfOtherAccount, .invalid)
        )
        // Without a session the credential is worth as much as when it was presented: another conflict.
        let again = SignInWithIdpQuestion(
            identityOwner: nil,
            emailOwner: victim,
            credential: .untrusted,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        #expect(again.rule == .untrustedEmailConflict)
    }

    @Test
    func `proof used by another person: if the mail is the first proof of the address, no sign-in settles it`() {
        let now = Timestamp(secondsSinceEpoch: 1_700_000_000)
        let prepared = Account.fixture(
            "m",
            email: ann,
            password: true,
            providers: [.gitHub: "attacker"],
            initialEmail: true
        )
        // The owner of the address signed in by an untrusted provider, and has proven the mailbox.
        let proof = ConflictProofFacts(
            binding: ProofBinding(.mailbox, of: prepared, policyVersion: LinkPolicy().version),
            attempts: 0,
            expiresAt: now.adding(seconds: 900)
        )
        let facts = ConflictFacts(
            state: .proven,
            expiresAt: now.adding(seconds: 3600),
            tenant: .project,
            account: prepared.id,
            proof: proof
        )
        // The attacker signs in, by password or provider, without the owner's credential.
        let attacker = refusalOfNextSignIn(
            conflict: facts,
            target: prepared,
            credential: .untrusted,
            policy: LinkPolicy(),
            now: now
        )
        #expect(attacker?.rule == .nextSignInLeavesConflict)
        // The owner continues.
        let settled = ResolveConflictQuestion(
            conflict: facts,
            handleTenant: .project,
            isProver: true,
            target: prepared,
            identityOwner: nil,
            emailOwner: nil,
            credential: incoming(.facebook, "facebook-ann", ann),
            isProviderEnabled: true,
            now: now
        ).decide(LinkPolicy())
        guard case .resolve(_, let change) = settled.decision else {
            Issue.record("the owner was refused: \(settled.rule)")
            return
        }
        #expect(settled.rule == .takeoverByConflict)
        let account = prepared.applying(change)
        #expect(account.signInMethods == [.provider(.facebook)])
        #expect(account.linkedProviders == [.facebook: "facebook-ann"] && account.isEmailVerified)
    }

    @Test func `an unverified address stays a conflict under every trust table (CVE-2026-56666)`() {
        let owner = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        for trust in [EmailTrust.declared, .asserted] {
            let verdict = SignInWithIdpQuestion(
                identityOwner: nil,
                emailOwner: owner,
                credential: incoming(provider("oidc.work"), "attacker", ann, flagged: false),
                isProviderEnabled: true,
                createsUsers: true,
                secondFactorProvenBy: nil
            ).decide(.policy { $0.emailTrust = trust })
            #expect(verdict.rule == .untrustedEmailConflict)
        }
    }

    @Test(arguments: [
        ("ann@gmail.com", "a\u{FF4E}n@gmail.com"), ("mike@example.com", "m\u{131}ke@example.com"),
        ("kate@example.com", "\u{212A}ate@example.com"), ("ann@strasse.example", "ann@straße.example"),
        ("fin@example.com", "ﬁn@example.com"), ("ann@example.com", "ánn@example.com"),
    ])
    func `case and compatibility collisions: a look-alike is refused or another address, never the same`(
        victim: String,
        attacker: String
    ) {
        #expect(EmailAddress(victim) != nil)
        #expect(EmailAddress(attacker) == nil || EmailAddress(attacker) != EmailAddress(victim))
    }
}
