import AccountLinking
import AccountTestSupport
import Testing

/// The decision tables that follow from the code, for review.
struct GoldenTables {
    private let golden = GoldenFiles()

    private func account(_ candidates: [Account?], writtenBy decision: SignInDecision) -> Account? {
        guard case .signIn(let id, let change, _) = decision, !change.isEmpty else { return nil }
        return candidates.compactMap { $0 }.first { $0.id == id }
    }

    @Test func `sign-in with a provider`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(SignInWithIdpCase.all, SignInWithIdpCase.verdicts) {
            let candidates = [point.accounts.identityOwner, point.accounts.emailOwner]
            table.add(
                verdict.rule,
                verdict.decision.described,
                writesTo: account(candidates, writtenBy: verdict.decision)
            )
        }
        try golden.expect(table.text(combinations: SignInWithIdpCase.all.count), matches: "sign-in-with-idp.txt")
    }

    @Test func `linking a provider`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(LinkWithIdpCase.all, LinkWithIdpCase.verdicts) {
            table.add(
                verdict.rule,
                verdict.decision.described,
                writesTo: account([point.target], writtenBy: verdict.decision)
            )
        }
        try golden.expect(table.text(combinations: LinkWithIdpCase.all.count), matches: "link-with-idp.txt")
    }

    @Test func `e-mail links`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(EmailLinkCase.all, EmailLinkCase.verdicts) {
            table.add(
                verdict.rule,
                verdict.decision.described,
                writesTo: account([point.target, point.owner], writtenBy: verdict.decision)
            )
        }
        try golden.expect(table.text(combinations: EmailLinkCase.all.count), matches: "email-link.txt")
    }

    @Test func `telephone numbers`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(PhoneCase.all, PhoneCase.verdicts) {
            table.add(
                verdict.rule,
                verdict.decision.described,
                writesTo: account([point.target, point.owner], writtenBy: verdict.decision)
            )
        }
        try golden.expect(table.text(combinations: PhoneCase.all.count), matches: "phone.txt")
    }

    @Test func `sign-up`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(SignUpCase.all, SignUpCase.verdicts) {
            var target: Account?
            if case .linkPassword(_, let account, _) = point.request { target = account }
            table.add(
                verdict.rule,
                verdict.decision.described,
                writesTo: account([target], writtenBy: verdict.decision)
            )
        }
        try golden.expect(table.text(combinations: SignUpCase.all.count), matches: "sign-up.txt")
    }

    @Test func `sign-in with a password`() throws {
        var table = DecisionTable()
        for (point, verdict) in zip(PasswordCase.all, PasswordCase.verdicts) {
            // Signing in by password changes nothing, but is a sign-in: listed in full too.
            var account: Account?
            if case .signIn = verdict.decision { account = point.owner }
            table.add(verdict.rule, verdict.decision.described, writesTo: account)
        }
        try golden.expect(table.text(combinations: PasswordCase.all.count), matches: "password.txt")
    }

    @Test func `second factors`() throws {
        var table = DecisionTable()
        for point in SecondFactorCase.all {
            table.add(point.verdict.rule, point.verdict.decision.described, writesTo: point.account)
        }
        try golden.expect(table.text(combinations: SecondFactorCase.all.count), matches: "second-factors.txt")
    }

    @Test func `codes that restore sign-in methods`() throws {
        var table = DecisionTable()
        for point in RevertCase.all {
            table.add(point.verdict.rule, point.verdict.decision.described, writesTo: point.account)
        }
        try golden.expect(table.text(combinations: RevertCase.all.count), matches: "reverts.txt")
    }

    @Test func `changes of one account`() throws {
        var table = DecisionTable()
        for point in UpdateCase.all {
            table.add(point.verdict.rule, point.verdict.decision.described, writesTo: nil)
        }
        try golden.expect(table.text(combinations: UpdateCase.all.count), matches: "updates.txt")
    }
}
