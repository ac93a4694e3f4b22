/// The sign-ins whose facts Concord stores.
///
/// Every sign-in is an event with kind, rule and version of the policy. The facts of an ordinary one would be most of its
/// bytes, and explain little more than its rule.
package struct FactSampling: Sendable, Hashable {
    /// Facts are stored for one ordinary sign-in in this many. 1: for each; 0: for none.
    package let ordinaryOneIn: Int64

    package init(ordinaryOneIn: Int64) {
        self.ordinaryOneIn = ordinaryOneIn
    }

    /// Returns true if the facts are stored.
    /// - `number`: the random part of the event's id, so that every attempt of one request gets the same answer.
    package func storesFacts(
        of question: some Question<SignInDecision>,
        _ verdict: Verdict<SignInDecision>,
        number: UInt64
    ) -> Bool {
        guard question.isOrdinary(verdict) else { return true }
        return ordinaryOneIn > 0 && number % UInt64(ordinaryOneIn) == 0
    }
}

extension Question<SignInDecision> {
    /// Returns true if the verdict is ordinary and no credential waits for the account.
    fileprivate func isOrdinary(_ verdict: Verdict<SignInDecision>) -> Bool {
        waitingCredential == nil && verdict.isOrdinary
    }
}

extension Verdict<SignInDecision> {
    /// Returns true if a known method signs its account in, and the account stays as it is.
    package var isOrdinary: Bool {
        guard rule.isOrdinarySignIn, case .signIn(_, let change, emailWasRecycled: false) = decision else {
            return false
        }
        return change == AccountChange()
    }
}

extension Rule {
    /// Rules by which the owner of a method signs in. Rules of sign-up, link, takeover, conflict and refusal are not
    /// among them: their facts are always stored.
    package static let ordinarySignIns: [Rule] = [
        .signInByIdentity, .signInByEmailLink, .signInByPhoneCode, .signInByPassword, .signInByCustomToken,
    ]

    /// Returns true if the facts of a sign-in by this rule may be left out.
    package var isOrdinarySignIn: Bool { Self.ordinarySignIns.contains(self) }
}
