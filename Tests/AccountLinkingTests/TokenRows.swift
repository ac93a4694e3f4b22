import AccountLinking
import Testing

private let noon = Timestamp(secondsSinceEpoch: 1_700_000_000)

struct AccessRows {
    private func access(
        _ account: Account?,
        epoch: Int64 = 7,
        issued: Timestamp = noon,
        validSince: Timestamp? = nil,
        session: PresentedSession = .notRead,
        lifetimes: SessionLifetimes = .unlimited,
        now: Timestamp = noon
    ) -> Verdict<AccessDecision> {
        decideAccess(
            account: account,
            tokenEpoch: epoch,
            tokenIssuedAt: issued,
            validSince: validSince,
            session: session,
            lifetimes: lifetimes,
            now: now
        )
    }

    @Test func `A1: an ID token of a deleted account is refused`() {
        #expect(access(nil, epoch: 1) == Verdict(.tokenAccountGone, .refuse(.userNotFound)))
        #expect(refusalOfSession(isAccountGone: true) == Verdict(.tokenAccountGone, .userNotFound))
        #expect(refusalOfSession(isAccountGone: false) == nil)
        #expect(refusalOfSignOut(of: user("a"), named: "b") == Verdict(.tokenAccountGone, .userNotFound))
        #expect(
            refusalOfSignOut(of: user("a"), named: "a") == nil && refusalOfSignOut(of: user("a"), named: nil) == nil
        )
    }

    @Test func `A2: an ID token of another epoch is refused`() {
        #expect(access(.fixture("a"), epoch: 6) == Verdict(.tokenEpochStale, .refuse(.tokenExpired)))
        #expect(access(.fixture("a"), epoch: 8) == Verdict(.tokenEpochStale, .refuse(.tokenExpired)))
    }

    @Test func `A3: an ID token from a second before validSince is revoked, from the same second it is not`() {
        let account = Account.fixture("a")
        let late = Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + 999_999)
        #expect(
            access(account, validSince: noon.adding(seconds: 1))
                == Verdict(.tokenIssuedBeforeValidSince, .refuse(.tokenExpired))
        )
        #expect(access(account, validSince: late).rule == .tokenAccepted)
        #expect(access(account, validSince: noon.adding(seconds: -1)).rule == .tokenAccepted)
    }

    @Test func `A4: an ID token of a disabled account is refused, before its ended sessions count`() {
        let disabled = Account.fixture("a", disabled: true)
        let refused = Verdict(Rule.tokenAccountDisabled, AccessDecision.refuse(.userDisabled))
        #expect(access(disabled) == refused)
        #expect(access(disabled, epoch: 6, validSince: noon.adding(seconds: 1)) == refused)
    }

    @Test func `A5: any other ID token is accepted`() {
        #expect(access(.fixture("a")) == Verdict(.tokenAccepted, .allow(user("a"))))
    }

    @Test func `T6: an ID token of an ended session is refused`() {
        #expect(access(.fixture("a"), session: .gone) == Verdict(.sessionEnded, .refuse(.tokenExpired)))
        #expect(access(.fixture("a", disabled: true), session: .gone).rule == .tokenAccountDisabled)
        #expect(access(.fixture("a"), epoch: 6, session: .gone).rule == .tokenEpochStale)
    }

    @Test func `T7 and T8: an ID token is refused once its session exceeds the project's lifetimes`() {
        let session = PresentedSession.found(SessionTimes(startedAt: noon, lastUsedAt: noon))
        let unused = SessionLifetimes(inactivitySeconds: 3600)
        let old = SessionLifetimes(absoluteSeconds: 7200)
        func rule(_ lifetimes: SessionLifetimes, after seconds: Int64) -> Rule {
            access(.fixture("a"), session: session, lifetimes: lifetimes, now: noon.adding(seconds: seconds)).rule
        }
        #expect(rule(unused, after: 3599) == .tokenAccepted)
        #expect(rule(unused, after: 3600) == .sessionUnused)
        #expect(rule(old, after: 7199) == .tokenAccepted)
        #expect(rule(old, after: 7200) == .sessionTooOld)
        #expect(rule(.unlimited, after: 1_000_000_000) == .tokenAccepted)
    }
}

struct RefreshRows {
    private func refresh(
        _ account: Account?,
        epoch: Int64? = 7,
        started: Timestamp? = noon,
        validSince: Timestamp? = nil,
        times: SessionTimes? = nil,
        lifetimes: SessionLifetimes = .unlimited,
        now: Timestamp = noon
    ) -> Verdict<AccessDecision> {
        decideRefresh(
            account: account,
            sessionEpoch: epoch,
            sessionStartedAt: started,
            validSince: validSince,
            times: times,
            lifetimes: lifetimes,
            now: now
        )
    }

    @Test func `T1: a refresh token of a deleted account is refused`() {
        #expect(refresh(nil, epoch: nil, started: nil) == Verdict(.refreshAccountGone, .refuse(.userNotFound)))
    }

    @Test func `T2: a refresh token of an ended or deleted session is refused`() {
        let account = Account.fixture("a")
        #expect(refresh(account, epoch: 6) == Verdict(.refreshSessionGone, .refuse(.tokenExpired)))
        #expect(refresh(account, epoch: nil, started: nil) == Verdict(.refreshSessionGone, .refuse(.tokenExpired)))
    }

    @Test func `T3: a session from a second before validSince is revoked, from the same second it is not`() {
        let account = Account.fixture("a")
        let late = Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + 999_999)
        #expect(
            refresh(account, validSince: noon.adding(seconds: 1))
                == Verdict(.refreshBeforeValidSince, .refuse(.tokenExpired))
        )
        #expect(refresh(account, validSince: late).rule == .refreshAccepted)
    }

    @Test func `T4: a refresh token of a disabled account is refused, before its ended sessions count`() {
        let disabled = Account.fixture("a", disabled: true)
        let refused = Verdict(Rule.refreshAccountDisabled, AccessDecision.refuse(.userDisabled))
        #expect(refresh(disabled) == refused)
        #expect(refresh(disabled, epoch: 6, validSince: noon.adding(seconds: 1)) == refused)
        #expect(refresh(disabled, epoch: nil, started: nil) == refused)
    }

    @Test func `T5: any other refresh token is accepted`() {
        #expect(refresh(.fixture("a")) == Verdict(.refreshAccepted, .allow(user("a"))))
    }

    /// Rule for a session that began at noon and was last used `used` seconds later.
    private func rule(_ lifetimes: SessionLifetimes, used: Int64, after seconds: Int64) -> Rule {
        refresh(
            .fixture("a"),
            times: SessionTimes(startedAt: noon, lastUsedAt: noon.adding(seconds: used)),
            lifetimes: lifetimes,
            now: noon.adding(seconds: seconds)
        ).rule
    }

    @Test func `T7: a session expires after exactly the inactivity that the project allows`() {
        let lifetimes = SessionLifetimes(inactivitySeconds: 3600)
        #expect(rule(lifetimes, used: 0, after: 3599) == .refreshAccepted)
        #expect(rule(lifetimes, used: 0, after: 3600) == .sessionUnused)
        #expect(rule(lifetimes, used: 3000, after: 6599) == .refreshAccepted)
        #expect(rule(lifetimes, used: 3000, after: 6600) == .sessionUnused)
    }

    @Test func `T8: a session expires at the age that the project allows, however it is used`() {
        let lifetimes = SessionLifetimes(inactivitySeconds: 3600, absoluteSeconds: 7200)
        #expect(rule(lifetimes, used: 7199, after: 7199) == .refreshAccepted)
        #expect(rule(lifetimes, used: 7200, after: 7200) == .sessionTooOld)
        #expect(rule(lifetimes, used: 0, after: 7200) == .sessionTooOld)
    }

    @Test func `without limits no session expires`() {
        #expect(rule(.unlimited, used: 0, after: 100 * 366 * 86_400) == .refreshAccepted)
    }

    @Test func `the remaining time of a session is the shorter of both lifetimes`() {
        let session = SessionTimes(startedAt: noon, lastUsedAt: noon)
        let now = noon.adding(seconds: 5000)
        func left(_ inactivity: Int64?, _ absolute: Int64?) -> Int64? {
            SessionLifetimes(inactivitySeconds: inactivity, absoluteSeconds: absolute)
                .secondsLeft(of: session, usedAt: now)
        }
        #expect(left(nil, nil) == nil)
        #expect(left(3600, nil) == 3600)
        #expect(left(nil, 7200) == 2200)
        #expect(left(3600, 7200) == 2200)
        #expect(left(3600, 86_400) == 3600)
    }

    @Test func `a limit on inactivity is compared with a longer one, an equal one and none`() {
        func isShorter(_ proposed: Int64?, than present: Int64?) -> Bool {
            SessionLifetimes(inactivitySeconds: proposed, absoluteSeconds: 7200)
                .limitsInactivityMore(than: SessionLifetimes(inactivitySeconds: present))
        }
        #expect(isShorter(3600, than: 7200) && isShorter(3600, than: nil))
        #expect(!isShorter(3600, than: 3600) && !isShorter(7200, than: 3600))
        #expect(!isShorter(nil, than: 3600) && !isShorter(nil, than: nil))
    }

    @Test func `a use is recorded daily, or at a tenth of a shorter inactivity limit`() {
        #expect(SessionLifetimes.unlimited.usePrecisionSeconds == 86_400)
        #expect(SessionLifetimes(inactivitySeconds: 3600).usePrecisionSeconds == 360)
        #expect(SessionLifetimes(inactivitySeconds: 30 * 86_400).usePrecisionSeconds == 86_400)
    }
}

struct EndSessionsRows {
    private let account = Account.fixture("a")

    @Test(arguments: [SessionsToEnd.own, .one, .others])
    func `T9: ending sessions that have ended changes nothing`(sessions: SessionsToEnd) {
        #expect(
            decideEndSessions(sessions, of: account, areThere: false) == Verdict(.sessionsEndedAlready, .unchanged)
        )
    }

    @Test(
        arguments: [(.own, .addressChanges), (.one, .allButRecovery), (.others, .allButRecovery)]
            as [(SessionsToEnd, VoidedCodes)]
    )
    func `T10: ending one session, or all others, voids what they may have begun`(
        sessions: SessionsToEnd,
        voided: VoidedCodes
    ) {
        #expect(
            decideEndSessions(sessions, of: account, areThere: true)
                == Verdict(.sessionsEndedByRequest, .delete(voiding: voided))
        )
    }

    @Test func `T10: ending all sessions revokes every ID token, even without a session`() {
        var change = AccountChange()
        change.endsSessions = true
        for areThere in [true, false] {
            #expect(
                decideEndSessions(.all, of: account, areThere: areThere)
                    == Verdict(.sessionsEndedByRequest, .endAll(change, voiding: .allButRecovery))
            )
        }
        #expect(account.applying(change).sessionEpoch != account.sessionEpoch)
    }
}

struct ReauthenticationRows {
    @Test(arguments: SensitiveOperation.allCases)
    func `a sensitive operation needs a sign-in as recent as policy requires`(operation: SensitiveOperation) {
        let policy = LinkPolicy.policy { $0.recentSignInSeconds = 120 }
        let account = Account.fixture("a", email: ann, password: true)
        #expect(
            reauthentication(policy: policy, operation: operation, account: account, isSessionAnonymous: true)
                == .required(maximumAgeSeconds: 120)
        )
        #expect(
            reauthentication(policy: LinkPolicy(), operation: operation, account: account, isSessionAnonymous: true)
                == .required(maximumAgeSeconds: 300)
        )
    }

    @Test(arguments: SensitiveOperation.allCases)
    func `anonymous accounts are exempt, accounts with custom tokens or without methods are not`(
        operation: SensitiveOperation
    ) {
        func requirement(_ account: Account, isSessionAnonymous: Bool) -> ReauthenticationRequirement {
            reauthentication(
                policy: LinkPolicy(),
                operation: operation,
                account: account,
                isSessionAnonymous: isSessionAnonymous
            )
        }
        let recent = ReauthenticationRequirement.required(maximumAgeSeconds: 300)
        #expect(requirement(.fixture("a"), isSessionAnonymous: true) == .notRequired)
        #expect(requirement(.fixture("a", customTokens: true), isSessionAnonymous: true) == recent)
        #expect(requirement(.fixture("a"), isSessionAnonymous: false) == recent)
        var account = Account.fixture("a")
        account.hasInitialEmail = true
        #expect(requirement(account, isSessionAnonymous: true) == recent)
    }

    @Test func `a sign-in is recent up to the exact second`() {
        let requirement = ReauthenticationRequirement.required(maximumAgeSeconds: 300)
        let late = Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + 300_999_999)
        #expect(requirement.isMet(authTime: noon, now: late))
        #expect(!requirement.isMet(authTime: noon, now: noon.adding(seconds: 301)))
        #expect(requirement.isMet(authTime: noon.adding(seconds: 2), now: noon))
        #expect(ReauthenticationRequirement.notRequired.isMet(authTime: noon, now: noon.adding(seconds: 1_000_000)))
    }

    @Test func `with a limit of 0 only a sign-in in the same second is recent`() {
        let always = ReauthenticationRequirement.required(maximumAgeSeconds: 0)
        #expect(always.isMet(authTime: noon, now: noon))
        #expect(!always.isMet(authTime: noon, now: noon.adding(seconds: 1)))
    }
}

struct PendingCredentialRows {
    private func facts(
        state: ConflictFacts.State = .open,
        expires: Timestamp = noon.adding(seconds: 60),
        tenant: TenantID = .project
    ) -> ConflictFacts {
        ConflictFacts(state: state, expiresAt: expires, tenant: tenant, account: user("a"))
    }

    private func decide(
        _ facts: ConflictFacts?,
        target: UserID? = nil,
        issuer: String? = "https://id.example"
    ) -> Verdict<PendingCredentialDecision> {
        let credential = incoming(provider("oidc.work"), "subject", ann, issuer: "https://id.example")
        return decidePendingCredential(
            conflict: facts,
            handleTenant: .project,
            target: target,
            isOfRegisteredIssuer: credential.isOf(issuer: issuer),
            now: noon
        )
    }

    @Test func `Y1: an unknown handle is invalid`() {
        #expect(decide(nil) == Verdict(.pendingUnknown, .invalid))
    }

    @Test func `Y2: a used or voided credential is invalid`() {
        for state in [ConflictFacts.State.resolved, .declined, .superseded] {
            #expect(decide(facts(state: state)) == Verdict(.pendingUsed, .invalid))
        }
    }

    @Test func `Y3: a credential expires exactly at its time`() {
        #expect(decide(facts(expires: noon)) == Verdict(.pendingExpired, .invalid))
        #expect(decide(facts(expires: noon.adding(seconds: -1))) == Verdict(.pendingExpired, .invalid))
        let soon = Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + 1)
        #expect(decide(facts(expires: soon)).rule == .pendingUsable)
    }

    @Test func `Y4: a credential of another tenant is invalid`() {
        #expect(decide(facts(tenant: TenantID("other"))) == Verdict(.pendingOfOtherTenant, .invalid))
    }

    @Test func `Y5: a session of another account than the conflict's cannot use its credential`() {
        #expect(decide(facts(), target: user("b")) == Verdict(.pendingOfOtherAccount, .invalid))
    }

    @Test func `Y7: a credential of a former issuer is invalid`() {
        for issuer in ["https://id.example/", "https://other.example", nil] {
            #expect(decide(facts(), issuer: issuer) == Verdict(.pendingIssuerChanged, .invalid))
            #expect(decide(facts(), target: user("a"), issuer: issuer) == Verdict(.pendingIssuerChanged, .invalid))
        }
        // A provider without a registered issuer cannot change it.
        #expect(IncomingCredential.trusted.isOf(issuer: nil))
    }

    @Test func `Y3, Y4, Y6: the handle of a first sign-in is usable until it expires, in its tenant`() {
        let other = TenantID("other")
        for (end, isExpired) in [(-1, true), (0, true), (1, false)] as [(Int64, Bool)] {
            for (tenant, handleTenant) in [(TenantID.project, TenantID.project), (.project, other), (other, .project)] {
                let verdict = decideFirstSignIn(
                    of: tenant,
                    handleTenant: handleTenant,
                    expiresAt: Timestamp(microsecondsSinceEpoch: noon.microsecondsSinceEpoch + end),
                    now: noon
                )
                let expected: Verdict<PendingCredentialDecision> =
                    if isExpired {
                        Verdict(.pendingExpired, .invalid)
                    } else if tenant != handleTenant {
                        Verdict(.pendingOfOtherTenant, .invalid)
                    } else {
                        Verdict(.pendingUsable, .usable)
                    }
                #expect(verdict == expected, "\(end) \(tenant) \(handleTenant)")
            }
        }
    }

    @Test func `Y6: a live credential is usable by a session of its account, and without a session`() {
        for state in [ConflictFacts.State.open, .proven] {
            #expect(decide(facts(state: state)) == Verdict(.pendingUsable, .usable))
            #expect(decide(facts(state: state), target: user("a")) == Verdict(.pendingUsable, .usable))
        }
    }
}
