/// A policy and the providers beside it: what decisions know besides accounts and credentials.
package struct PolicyTerms: Sendable, Hashable {
    package var policy: LinkPolicy
    /// Those by which somebody can be signed in.
    package var enabledProviders: Set<ProviderID>
    /// The issuer of each registered `oidc.*`.
    package var issuers: [ProviderID: String]

    package init(policy: LinkPolicy, enabledProviders: Set<ProviderID>, issuers: [ProviderID: String] = [:]) {
        self.policy = policy
        self.enabledProviders = enabledProviders
        self.issuers = issuers
    }
}
