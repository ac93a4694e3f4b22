import AccountLinking
import AccountTestSupport
import Testing

private let made = Timestamp(secondsSinceEpoch: 1)
private let now = Timestamp(secondsSinceEpoch: 2)
private let later = Timestamp(secondsSinceEpoch: 3)

/// A point in the input space of requests for a code that changes the address of the account `a` to Bob's.
struct EmailChangeRequestCase {
    var policy = LinkPolicy()
    var owner: UserID?
    var reservation: AddressReservation?
    var isSessionRecent: Bool
    var isAdministrator: Bool

    static let all = everyPoint(choose)

    private static func choose(_ choices: inout Choices) -> EmailChangeRequestCase {
        var point = EmailChangeRequestCase(
            owner: choices.choose(from: [nil, user("a"), user("o")]),
            reservation: choices.choose(from: [
                nil, AddressReservation(address: bob, account: user("a"), wasProven: true),
                AddressReservation(address: bob, account: user("r"), wasProven: true),
                AddressReservation(address: bob, account: user("r"), wasProven: false),
            ]),
            isSessionRecent: choices.chooseBool(),
            isAdministrator: choices.chooseBool()
        )
        point.policy.protectsEmailEnumeration = choices.chooseBool()
        return point
    }

    var verdict: Verdict<SendEmailCodeDecision> {
        decideSendEmailChange(
            policy: policy,
            account: user("a"),
            newAddress: bob,
            owner: owner,
            reservation: reservation,
            isSessionRecent: isSessionRecent,
            isAdministrator: isAdministrator
        )
    }

    /// The reservation for an address that was not proven gives way to the code, which proves it.
    var isTaken: Bool {
        owner == user("o") || reservation?.account == user("r") && reservation?.wasProven == true
    }
}

/// A point in the input space of presented codes.
struct PresentedCodeCase {
    /// `nil` for an unknown code.
    var code: EmailCodeRecord?
    var kinds: [EmailCodeRecord.Kind]

    static let all = everyPoint(choose)

    private static func choose(_ choices: inout Choices) -> PresentedCodeCase {
        let kind = choices.choose(from: EmailCodeRecord.Kind.allCases)
        return PresentedCodeCase(
            code: .choose(&choices, kind),
            kinds: choices.choose(from: [[.emailSignIn], [.verifyEmail, .recoverEmail], EmailCodeRecord.Kind.allCases])
        )
    }

    /// `nil` if the code can be used.
    var refusal: Verdict<EmailCodeRefusal>? {
        switch decideUseEmailCode(code, as: kinds, now: now) {
        case .found: nil
        case .refused(let refusal): refusal
        }
    }
}

/// A point in the input space of guesses of a short code.
struct ShortCodeCase {
    var code: ShortCodeRecord
    var isRight: Bool
    var isLimitReached: Bool

    static let all = everyPoint(choose)

    private static func choose(_ choices: inout Choices) -> ShortCodeCase {
        ShortCodeCase(
            code: ShortCodeRecord(
                tenant: .project,
                kind: .passwordReset,
                mailbox: ann,
                linkHash: choices.choose(from: [nil, [1]]),
                attempts: choices.choose(from: [0, ShortCodeRecord.attemptsMax - 1, ShortCodeRecord.attemptsMax]),
                expiresAt: later
            ),
            isRight: choices.chooseBool(),
            isLimitReached: choices.chooseBool()
        )
    }

    var verdict: Verdict<ShortCodeDecision> {
        decideGuessShortCode(code, isRight: isRight, isLimitReached: isLimitReached)
    }
}

extension EmailCodeRecord {
    /// An unknown code (`nil`), or one in each combination of being used, expired and locked.
    fileprivate static func choose(_ choices: inout Choices, _ kind: Kind) -> EmailCodeRecord? {
        guard choices.chooseBool() else { return nil }
        var code = EmailCodeRecord(
            tenant: .project,
            hash: [1],
            kind: kind,
            user: nil,
            email: ann,
            createdAt: made,
            expiresAt: choices.choose(from: [now, later]),
            consumedAt: choices.choose(from: [nil, made])
        )
        code.attempts = choices.choose(from: [0, attemptsMax - 1, attemptsMax])
        return code
    }
}

struct MailedCodeRows {
    /// Every rule about mailed codes that decides something.
    static let rules: [Rule] =
        [nil, record(nil)].compactMap { refusal(of: decideFindMailedAccount($0))?.rule }
        + [LinkPolicy(), .enumerable].map { decideSendPasswordReset(policy: $0, owner: nil).rule }
        + EmailChangeRequestCase.all.map(\.verdict.rule) + PresentedCodeCase.all.compactMap { $0.refusal?.rule }
        + [
            refusalOfSignInLink(mailedTo: ann, named: nil),
            refusalOfSignInLink(mailedTo: address("Ann@gmail.com"), owner: .fixture("o", email: ann)),
            refusalOfShortCode(linkedTo: nil, now: now),
        ].compactMap { $0?.rule } + ShortCodeCase.all.map(\.verdict.rule)

    private static func record(_ email: EmailAddress?) -> UserRecord {
        var record = UserRecord(tenant: .project, id: user("a"), sessionEpoch: 7, createdAt: made)
        record.email = email.map { AccountEmail(address: $0, proof: nil) }
        return record
    }

    private static func refusal<Fact>(of lookup: Lookup<Fact, EmailCodeRefusal>) -> Verdict<EmailCodeRefusal>? {
        switch lookup {
        case .found: nil
        case .refused(let refusal): refusal
        }
    }

    // Requests.

    @Test func `M13 and M14: only an account with an address is mailed`() {
        let unknown = decideFindMailedAccount(nil)
        #expect(Self.refusal(of: unknown) == Verdict(.mailedCodeUnknownAccount, .refused(.userNotFound)))
        let bare = decideFindMailedAccount(Self.record(nil))
        #expect(Self.refusal(of: bare) == Verdict(.mailedCodeWithoutEmail, .noAddress))
        guard case .found(let mailed) = decideFindMailedAccount(Self.record(ann)) else {
            Issue.record("no account")
            return
        }
        #expect(mailed.user == Self.record(ann) && mailed.address == ann)
    }

    @Test func `M15, M18 and M19: with enumeration protection a reset is answered as if an account had the address`() {
        let unknown = Verdict<SendEmailCodeDecision>(.resetOfUnknownEmail, .refuse(.emailNotFound))
        #expect(decideSendPasswordReset(policy: .enumerable, owner: nil) == unknown)
        let withheld = Verdict<SendEmailCodeDecision>(.mailedCodeWithheld, .withhold(warnsOwner: false))
        #expect(decideSendPasswordReset(policy: LinkPolicy(), owner: nil) == withheld)
        for policy in [LinkPolicy(), .enumerable] {
            #expect(decideSendPasswordReset(policy: policy, owner: user("o")) == Verdict(.mailedCodeSent, .mail))
        }
    }

    @Test func `M16: a code that changes the address needs a recent sign-in, also if the new address is taken`() {
        checkLaw(EmailChangeRequestCase.all) { point in
            guard !point.isSessionRecent else { return nil }
            return point.verdict == Verdict(.mailedChangeNeedsRecentSignIn, .refuse(.credentialTooOld))
        }
    }

    @Test func `M17: without enumeration protection, or for administrators, a taken new address is refused`() {
        checkLaw(EmailChangeRequestCase.all) { point in
            guard point.isSessionRecent, point.isTaken,
                !point.policy.protectsEmailEnumeration || point.isAdministrator
            else { return nil }
            return point.verdict == Verdict(.mailedChangeEmailExists, .refuse(.emailExists))
        }
    }

    @Test func `M18: with enumeration protection the owner of a taken new address is warned, and no code is mailed`() {
        checkLaw(EmailChangeRequestCase.all) { point in
            guard point.isSessionRecent, point.isTaken, point.policy.protectsEmailEnumeration, !point.isAdministrator
            else { return nil }
            // An address that is only reserved has no owner to warn.
            return point.verdict == Verdict(.mailedCodeWithheld, .withhold(warnsOwner: point.owner == user("o")))
        }
    }

    @Test func `M19: a code is mailed to a free new address, and to the account's own`() {
        checkLaw(EmailChangeRequestCase.all) { point in
            guard point.isSessionRecent, !point.isTaken else { return nil }
            return point.verdict == Verdict(.mailedCodeSent, .mail)
        }
    }

    // Use.

    @Test func `M20: an unknown code is refused, as is one for another purpose`() {
        checkLaw(PresentedCodeCase.all) { point in
            if let code = point.code, point.kinds.contains(code.kind) { return nil }
            return point.refusal == Verdict(.emailCodeUnknown, .refused(.invalidEmailCode))
        }
    }

    @Test func `M21: a used code gets the answer of an unknown one, even if it is expired or locked`() {
        checkLaw(PresentedCodeCase.all) { point in
            guard let code = point.code, point.kinds.contains(code.kind), code.consumedAt != nil else { return nil }
            return point.refusal == Verdict(.emailCodeUsed, .refused(.invalidEmailCode))
        }
    }

    @Test func `M22 and M23: an expired code is refused as expired, even if it is locked; a locked one as locked`() {
        checkLaw(PresentedCodeCase.all) { point in
            guard let code = point.code, point.kinds.contains(code.kind), code.consumedAt == nil else { return nil }
            if code.expiresAt == now { return point.refusal == Verdict(.emailCodeExpired, .expired) }
            guard code.attempts == EmailCodeRecord.attemptsMax else { return point.refusal == nil }
            return point.refusal == Verdict(.emailCodeLocked, .tooManyAttempts)
        }
    }

    @Test func `a code that can be used is returned as it is`() {
        checkLaw(PresentedCodeCase.all) { point in
            guard case .found(let code) = decideUseEmailCode(point.code, as: point.kinds, now: now) else { return nil }
            return code == point.code
        }
    }

    @Test func `M24: a sign-in link works for the address that it was mailed to, in any spelling`() {
        for named in [nil, bob] {
            let refusal = refusalOfSignInLink(mailedTo: ann, named: named)
            #expect(refusal == Verdict(.signInLinkWrongAddress, .wrongAddress))
        }
        for named in [ann, address("Ann@Gmail.com")] {
            #expect(refusalOfSignInLink(mailedTo: ann, named: named) == nil)
        }
    }

    @Test func `M25: a sign-in link to another spelling of the owner's address may have reached a stranger`() {
        let owner = Account.fixture("o", email: ann)
        let stranger = refusalOfSignInLink(mailedTo: address("Ann@gmail.com"), owner: owner)
        #expect(stranger == Verdict(.signInLinkOfOtherMailbox, .refused(.invalidEmailCode)))
        // No mail host distinguishes spellings of the domain.
        for recipient in [ann, address("ann@Gmail.com")] {
            for owner in [nil, owner, .fixture("o")] {
                #expect(refusalOfSignInLink(mailedTo: recipient, owner: owner) == nil)
            }
        }
        #expect(refusalOfSignInLink(mailedTo: address("Ann@gmail.com"), owner: nil) == nil)
    }

    // Short codes.

    @Test func `M26: beyond the limits no guess is answered`() {
        checkLaw(ShortCodeCase.all) { point in
            guard point.isLimitReached else { return nil }
            return point.verdict == Verdict(.tooManyShortCodeGuesses, .refuse(.tooManyAttempts))
        }
    }

    @Test func `M27: after five wrong guesses the right code is refused too`() {
        checkLaw(ShortCodeCase.all) { point in
            guard !point.isLimitReached, point.code.attempts == ShortCodeRecord.attemptsMax else { return nil }
            return point.verdict == Verdict(.shortCodeLocked, .refuse(.tooManyAttempts))
        }
    }

    @Test func `M28 and M30: the code of the newest mail is exchanged; every other guess counts, also without a mail`()
    {
        checkLaw(ShortCodeCase.all) { point in
            guard !point.isLimitReached, point.code.attempts < ShortCodeRecord.attemptsMax else { return nil }
            guard point.isRight, let hash = point.code.linkHash else {
                return point.verdict == Verdict(.shortCodeWrong, .wrong)
            }
            return point.verdict == Verdict(.shortCodeExchanged, .exchange(linkHash: hash))
        }
    }

    @Test
    func `M29: a right short code whose link is used, expired, locked or deleted gets the answer of an unknown one`() {
        let refused = Verdict<EmailCodeRefusal>(.shortCodeLinkUnusable, .refused(.invalidEmailCode))
        checkLaw(everyPoint { EmailCodeRecord.choose(&$0, .passwordReset) }) { link in
            refusalOfShortCode(linkedTo: link, now: now) == (link?.state(at: now) == .usable ? nil : refused)
        }
    }
}
