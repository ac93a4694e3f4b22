import AccountLinking
import AccountTestSupport
import Testing

/// A wrong door of an account, or of an address without one.
struct WrongDoorCase {
    var door: WrongDoor
    var ways: WaysIn?

    static let all = ([nil] + WaysInCase.all.map { Optional($0.ways) }).flatMap { ways in
        WrongDoor.allCases.map { WrongDoorCase(door: $0, ways: ways) }
    }

    var verdict: Verdict<RightDoorMail> { decideMailRightDoor(after: door, ways: ways) }
}

/// A request for a reset of an account's password.
struct ResetWaysCase {
    var point: WaysInCase
    var unlinksProviders: Bool

    static let all = WaysInCase.all.filter(\.account.hasEmail).flatMap { point in
        [true, false].map { ResetWaysCase(point: point, unlinksProviders: $0) }
    }

    var policy: LinkPolicy {
        var policy = point.policy
        policy.passwordResetUnlinksProviders = unlinksProviders
        return policy
    }

    var ways: ResetWays { waysBeforeReset(of: point.account, at: ann, ways: point.ways, policy: policy) }

    var reset: Verdict<UpdateDecision> { ResetPasswordQuestion(account: point.account, address: ann).decide(policy) }
}

struct RightDoorRows {
    static let rules = WrongDoorCase.all.map(\.verdict.rule)

    @Test func `M35 to M37: an owner is mailed the right door, unless there is no account or the door opens`() {
        checkLaw(WrongDoorCase.all) { point in
            guard let ways = point.ways else {
                return point.verdict == Verdict(.wrongDoorOfUnknownAddress, .nothing)
            }
            let opens =
                switch point.door {
                case .password: ways.working.contains(.password)
                case .link: ways.working.contains(.emailLink)
                case .signUp: false
                }
            return point.verdict
                == (opens ? Verdict(.wrongDoorOpens, .nothing) : Verdict(.rightDoorMailed, .mail))
        }
    }

    /// A proven account with a Google identity.
    private static func account(
        password: Bool = false,
        proof: EmailProof? = .emailCode,
        disabled: Bool = false
    ) -> Account {
        .fixture("a", email: ann, proof: proof, password: password, providers: [.google: "g"], disabled: disabled)
    }

    private static func ways(to account: Account, passwords: Bool = true, links: Bool = true) -> WaysIn {
        let policy = LinkPolicy.policy {
            $0.allowsPasswordSignIn = passwords
            $0.allowsEmailLinkSignIn = links
        }
        return waysIn(to: account, policy: policy, enabledProviders: [.google], suspended: [])
    }

    @Test(arguments: [
        (WrongDoor.password, ways(to: account()), true),
        (.password, ways(to: account(password: true)), false),
        (.password, ways(to: account(password: true), passwords: false), true),
        (.password, ways(to: account(password: true, disabled: true)), true),
        (.link, ways(to: account()), false),
        (.link, ways(to: account(), links: false), true),
        (.signUp, ways(to: account(password: true)), true),
    ])
    func `examples of right doors`(door: WrongDoor, ways: WaysIn, isMailed: Bool) {
        #expect((decideMailRightDoor(after: door, ways: ways).decision == .mail) == isMailed)
        #expect(decideMailRightDoor(after: door, ways: nil).decision == .nothing)
    }

    @Test(arguments: [
        (account(), [SignInMethod.provider(.google)], false),
        (account(proof: nil), [.provider(.google)], true),
        (account(password: true), [], false),
        (account(disabled: true), [], false),
    ])
    func `examples of the methods in a mail about a reset`(
        account: Account,
        methods: [SignInMethod],
        areSuspended: Bool
    ) {
        let policy = LinkPolicy.policy { $0.passwordResetUnlinksProviders = false }
        let first = waysBeforeReset(of: account, at: ann, ways: Self.ways(to: account), policy: policy)
        #expect(first == ResetWays(methods: methods, areSuspended: areSuspended))
    }

    @Test func `the mail about a reset names the working methods of an account without a password, and no other`() {
        checkLaw(ResetWaysCase.all) { point in
            if point.point.account.hasPassword { return point.ways.methods.isEmpty }
            let working = point.point.ways.working
            return point.ways.methods == working.filter { $0 != .emailLink && $0 != .password }
        }
    }

    @Test func `the mail about a reset says that methods are suspended exactly if the reset does it`() {
        checkLaw(ResetWaysCase.all) { point in
            var suspended: Set<SignInMethod> = []
            if case .apply(_, let change, issuesTokens: _) = point.reset.decision {
                suspended = Set(change.unlinkedProviders.map(SignInMethod.provider))
                if change.phone == .release { suspended.insert(.phone) }
            }
            return point.ways.areSuspended == !suspended.isDisjoint(with: point.ways.methods)
        }
    }

    @Test func `a reset of a proven address suspends nothing, unless the project unlinks providers`() {
        checkLaw(ResetWaysCase.all) { point in
            guard point.policy.isProven(point.point.account), !point.unlinksProviders else { return nil }
            return !point.ways.areSuspended
        }
    }
}
