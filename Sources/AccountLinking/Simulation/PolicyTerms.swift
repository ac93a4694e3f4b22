/// A policy and the enabled providers: the input of decisions in addition to accounts and credentials.
package struct PolicyTerms: Sendable, Hashable {
    package var policy: LinkPolicy
    /// Providers that can sign users in.
    package var enabledProviders: Set<ProviderID>

    package init(policy: LinkPolicy, enabledProviders: Set<ProviderID>) {
        self.policy = policy
        self.enabledProviders = enabledProviders
    }
}

extension PolicyTerms {
    /// The terms under another version number. A proof of a conflict holds for one version.
    package func numbered(_ version: Int64) -> PolicyTerms {
        var terms = self
        terms.policy.version = version
        return terms
    }
}

extension Question {
    /// The rule that answers the question under `terms`, and the outcome.
    package func answer(under terms: PolicyTerms) -> (rule: Rule, outcome: SimulatedOutcome) {
        var question = self
        question.enable(terms.enabledProviders)
        let verdict = question.decide(terms.policy)
        return (verdict.rule, verdict.decision.outcome)
    }
}
