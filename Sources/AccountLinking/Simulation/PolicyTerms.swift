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
