import AccountLinking
import AccountTestSupport
import Testing

private let now = Timestamp(secondsSinceEpoch: 2)
private let later = Timestamp(secondsSinceEpoch: 3)

/// A point in the input space of codes that hand a session over.
private struct SessionCodeCase {
    /// `nil` for an unknown code.
    var code: SessionCodeFacts?
    var isVerifierRight: Bool
    var isPageAuthorized: Bool
    var session: AccessDecision

    static let all = everyPoint(choose)

    private static func choose(_ choices: inout Choices) -> SessionCodeCase {
        let expiry = choices.choose(from: [nil, now, later])
        let attempts = choices.choose(from: [0, SessionCodeFacts.attemptsMax - 1, SessionCodeFacts.attemptsMax])
        let isUsed = choices.chooseBool()
        return SessionCodeCase(
            code: expiry.map { SessionCodeFacts(expiresAt: $0, attempts: attempts, isUsed: isUsed) },
            isVerifierRight: choices.chooseBool(),
            isPageAuthorized: choices.chooseBool(),
            session: choices.choose(from: [
                .allow(user("a")), .refuse(.userDisabled), .refuse(.userNotFound), .refuse(.tokenExpired),
            ])
        )
    }

    var verdict: Verdict<SessionCodeDecision> {
        decideExchangeSessionCode(
            code,
            isVerifierRight: isVerifierRight,
            isPageAuthorized: isPageAuthorized,
            session: session,
            now: now
        )
    }
}

/// The codes that hand a session over to an app, after a conflict or a sign-in.
struct SessionCodeRows {
    /// The rules of all points of both input spaces.
    static let rules: [Rule] =
        SessionCodeCase.all.map(\.verdict.rule) + issues.map(\.verdict.rule) + signIns.map(\.verdict.rule)

    private static let signIns = everyPoint { choices in
        let session: Verdict<AccessDecision> = choices.choose(from: [
            Verdict(.refreshAccepted, .allow(user("a"))), Verdict(.refreshSessionGone, .refuse(.tokenExpired)),
            Verdict(.refreshAccountDisabled, .refuse(.userDisabled)),
            Verdict(.refreshAccountGone, .refuse(.userNotFound)),
        ])
        let (hasChallenge, isPageAuthorized, isUsed) = (
            choices.chooseBool(), choices.chooseBool(), choices.chooseBool()
        )
        let verdict = decideIssueSignInCode(
            session: session,
            hasChallenge: hasChallenge,
            isPageAuthorized: isPageAuthorized,
            isUsed: isUsed
        )
        return (
            session: session, hasChallenge: hasChallenge, isPageAuthorized: isPageAuthorized, isUsed: isUsed,
            verdict: verdict
        )
    }

    private static let issues = everyPoint { choices in
        let (isOffered, isUsed, isPageAuthorized) = (
            choices.chooseBool(), choices.chooseBool(), choices.chooseBool()
        )
        let verdict = decideIssueSessionCode(
            isOffered: isOffered,
            isUsed: isUsed,
            isPageAuthorized: isPageAuthorized
        )
        return (isOffered: isOffered, isUsed: isUsed, isPageAuthorized: isPageAuthorized, verdict: verdict)
    }

    /// A code that nothing speaks against.
    private let good = SessionCodeFacts(expiresAt: later, attempts: 0, isUsed: false)

    private func decide(
        _ code: SessionCodeFacts?,
        isVerifierRight: Bool = true,
        isPageAuthorized: Bool = true,
        session: AccessDecision = .allow(user("a"))
    ) -> Verdict<SessionCodeDecision> {
        decideExchangeSessionCode(
            code,
            isVerifierRight: isVerifierRight,
            isPageAuthorized: isPageAuthorized,
            session: session,
            now: now
        )
    }

    @Test
    func `T11 to T14: a code is issued only to the resolver's session, once used no more, for an authorized page`() {
        for issue in Self.issues {
            let expected: Verdict<SessionCodeRefusal?> =
                !issue.isOffered
                ? Verdict(.sessionCodeNotOffered, .unusable)
                : issue.isUsed
                    ? Verdict(.sessionCodeGiven, .unusable)
                    : issue.isPageAuthorized
                        ? Verdict(.sessionCodeIssued, nil) : Verdict(.sessionCodePageNotAuthorized, .unusable)
            #expect(issue.verdict == expected)
        }
    }

    @Test func `T11 to T14: the sign-in page gets a code for a live session, a challenge and an authorized page`() {
        for point in Self.signIns {
            let expected: Verdict<SignInCodeRefusal?>
            if case .refuse(let refusal) = point.session.decision {
                expected = Verdict(point.session.rule, .session(refusal))
            } else if !point.hasChallenge {
                expected = Verdict(.sessionCodeNotOffered, .unusable)
            } else if !point.isPageAuthorized {
                expected = Verdict(.sessionCodePageNotAuthorized, .pageNotAuthorized)
            } else {
                expected =
                    point.isUsed ? Verdict(.sessionCodeGiven, .unusable) : Verdict(.sessionCodeIssued, nil)
            }
            #expect(point.verdict == expected, "\(point)")
        }
    }

    @Test func `T15: an unknown code is refused`() {
        #expect(decide(nil) == Verdict(.sessionCodeUnknown, .refuse(.unusable)))
    }

    @Test func `T16 and T17: a second use ends the session that the code gave, only with the right verifier`() {
        var used = good
        used.isUsed = true
        #expect(decide(used) == Verdict(.sessionCodeReplayed, .endGivenSession))
        #expect(decide(used, isVerifierRight: false) == Verdict(.sessionCodeUsed, .refuse(.unusable)))
        used.expiresAt = now
        #expect(decide(used) == Verdict(.sessionCodeReplayed, .endGivenSession), "a late second use counts as well")
    }

    @Test func `T18: a code expires exactly at its time`() {
        var code = good
        code.expiresAt = now
        #expect(decide(code) == Verdict(.sessionCodeExpired, .refuse(.unusable)))
        code.expiresAt = Timestamp(microsecondsSinceEpoch: now.microsecondsSinceEpoch + 1)
        #expect(decide(code).rule == .sessionCodeExchanged)
    }

    @Test func `T19 and T20: five wrong verifiers lock a code, and then even the right one is refused`() {
        var code = good
        code.attempts = SessionCodeFacts.attemptsMax - 1
        #expect(decide(code, isVerifierRight: false) == Verdict(.sessionCodeWrongVerifier, .wrong))
        #expect(decide(code).rule == .sessionCodeExchanged)
        code.attempts += 1
        for isRight in [true, false] {
            #expect(
                decide(code, isVerifierRight: isRight) == Verdict(.sessionCodeLocked, .refuse(.tooManyAttempts))
            )
        }
    }

    @Test func `T13: a page that the project no longer authorizes gets no session`() {
        #expect(
            decide(good, isPageAuthorized: false) == Verdict(.sessionCodePageNotAuthorized, .refuse(.unusable))
        )
    }

    @Test func `T21 to T23: a code gives a session only while the resolver's session is live`() {
        #expect(
            decide(good, session: .refuse(.userDisabled))
                == Verdict(.sessionCodeAccountDisabled, .refuse(.userDisabled))
        )
        for refusal in [Refusal.userNotFound, .tokenExpired] {
            #expect(decide(good, session: .refuse(refusal)) == Verdict(.sessionCodeSessionEnded, .refuse(.unusable)))
        }
        #expect(decide(good) == Verdict(.sessionCodeExchanged, .exchange))
    }

    @Test func `no point but one kind gives a session, and only wrong verifiers are counted`() {
        for point in SessionCodeCase.all {
            let verdict = point.verdict
            let isUsable = point.code.map { !$0.isUsed && now < $0.expiresAt && $0.attempts < 5 } ?? false
            let isLive = if case .allow = point.session { true } else { false }
            #expect(
                (verdict.decision == .exchange)
                    == (isUsable && point.isVerifierRight && point.isPageAuthorized && isLive),
                "\(point)"
            )
            #expect((verdict.decision == .wrong) == (isUsable && !point.isVerifierRight), "\(point)")
            #expect(
                (verdict.decision == .endGivenSession) == (point.code?.isUsed == true && point.isVerifierRight),
                "\(point)"
            )
            // The account shows only to a caller who has both the code and the verifier.
            if verdict.decision == .refuse(.userDisabled) { #expect(isUsable && point.isVerifierRight, "\(point)") }
        }
    }

    @Test func `a live conflict takes a page to return to, another one does not`() {
        let open = ConflictFacts(state: .open, expiresAt: later, tenant: .project, account: user("a"))
        #expect(refusalOfConflict(open, handleTenant: .project, now: now) == nil)
        #expect(refusalOfConflict(nil, handleTenant: .project, now: now)?.rule == .conflictUnknown)
        #expect(refusalOfConflict(open, handleTenant: TenantID("other"), now: now)?.rule == .conflictUnknown)
        #expect(refusalOfConflict(open, handleTenant: .project, now: later)?.rule == .conflictExpired)
        var closed = open
        closed.state = .resolved
        #expect(refusalOfConflict(closed, handleTenant: .project, now: now)?.rule == .conflictClosed)
    }
}
