import AccountTestSupport
import Testing

@testable import AccountLinking

/// Which sign-ins store their facts.
struct FactSamplingTests {
    private static let verdicts = [
        SignInWithIdpCase.verdicts, LinkWithIdpCase.verdicts, EmailLinkCase.verdicts, PhoneCase.verdicts,
        SignUpCase.verdicts, PasswordCase.verdicts,
    ].joined()

    @Test func `a change of the codes in this list is a change of what is stored`() {
        // docs/reference/decisions.md names them.
        #expect(Rule.ordinarySignIns.map(\.rawValue) == ["I2", "M2", "N3", "S6", "C3"])
    }

    @Test func `an ordinary sign-in changes nothing, and everything else stores its facts`() {
        var ordinary: Set<Rule> = []
        for verdict in Self.verdicts {
            switch verdict.decision {
            case .signIn(_, let change, let emailWasRecycled):
                let isOrdinary =
                    Rule.ordinarySignIns.contains(verdict.rule) && change == AccountChange() && !emailWasRecycled
                #expect(verdict.isOrdinary == isOrdinary, "\(verdict)")
                if isOrdinary { ordinary.insert(verdict.rule) }
            case .createUser, .secondFactorRequired, .conflict, .refuse: #expect(!verdict.isOrdinary, "\(verdict)")
            }
        }
        #expect(ordinary.union([.signInByCustomToken]) == Set(Rule.ordinarySignIns))
    }

    @Test func `a proof of the account's address stores its facts`() {
        // The same rule, with a change.
        #expect(Self.verdicts.contains { $0.rule == .signInByIdentity && !$0.isOrdinary })
        #expect(Self.verdicts.contains { $0.rule == .signInByEmailLink && !$0.isOrdinary })
    }

    @Test func `of ordinary sign-ins, none, one in so many, or each stores its facts`() {
        var question = SignInWithPasswordQuestion(
            owner: .fixture("T", email: ann, password: true),
            isLocked: false,
            passwordMatches: true,
            secondFactorProvenBy: nil
        )
        let verdict = question.decide(LinkPolicy())
        #expect(verdict.isOrdinary)
        func stored(_ oneIn: Int64) -> Int {
            (0..<1000 as Range<UInt64>).count {
                FactSampling(ordinaryOneIn: oneIn).storesFacts(of: question, verdict, number: $0)
            }
        }
        #expect([0, 1, 10, 1_000_000].map(stored) == [0, 1000, 100, 1])
        // A wrong password, and a credential that waits.
        question.passwordMatches = false
        #expect(
            FactSampling(ordinaryOneIn: 0)
                .storesFacts(of: question, question.decide(LinkPolicy()), number: 1)
        )
        question.passwordMatches = true
        question.waiting = WaitingCredentialCase.all.first?.waiting
        #expect(question.waiting != nil && stored(0) == 1000)
    }
}
