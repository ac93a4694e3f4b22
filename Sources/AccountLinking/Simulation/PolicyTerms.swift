/// A policy and the providers beside it: what decisions know besides accounts and credentials.
package struct PolicyTerms: Sendable, Hashable {
    package var policy: LinkPolicy
    /// Those by which somebody can be signed in.
    package var enabledProviders: Set<ProviderID>

    package init(policy: LinkPolicy, enabledProviders: Set<ProviderID>) {
        self.policy = policy
        self.enabledProviders = enabledProviders
    }
}

extension Question {
    /// The rule that answers the question under `terms`, and how it ends.
    package func answer(under terms: PolicyTerms) -> (rule: Rule, outcome: SimulatedOutcome) {
        var question = self
        question.enable(terms.enabledProviders)
        let verdict = question.decide(terms.policy)
        return (verdict.rule, verdict.decision.outcome)
    }
}
