package import AccountLinking

/// A warning to the administrator who registers a provider. The registration is accepted.
package enum ProviderConfigWarning: Sendable, Hashable {
    /// An `oidc.*` provider has the issuer of a provider with its own id.
    case knownIssuer(ProviderID)
    /// No domain and no trust rule makes addresses of the provider proof.
    case provesNoAddress

    /// One or more sentences: the fact, its consequence, the next step.
    package var text: String {
        switch self {
        case .knownIssuer(let known):
            """
            The issuer is that of \(known.rawValue), and the addresses of its users count as those of \(known.rawValue) do. \
            Register \(known.rawValue) instead of an oidc.* provider.
            """
        case .provesNoAddress:
            """
            No address of this provider is proof: a sign-in with an address that an account has becomes a conflict. Name the \
            domains whose mailboxes the provider gives out in emailDomains, or add a rule to concord.emailTrust \
            (docs/guides/policy.md).
            """
        }
    }
}

extension ProviderConfig {
    /// The warnings about the registration under `policy`, which already includes it.
    package func warnings(_ policy: LinkPolicy) -> [ProviderConfigWarning] {
        guard provider.isOpenIDConnect, let issuer else { return [] }
        var warnings: [ProviderConfigWarning] = []
        let known = ProviderID.known(forIssuer: issuer)
        if let known { warnings.append(.knownIssuer(known)) }
        // A known provider that is open to everyone has its own rules, and may name no domain.
        let mayNameDomains = !ProviderID.isOpenToEveryone(knownIssuer: issuer)
        if mayNameDomains, emailDomains.isEmpty, !policy.trusts(provider, issuer: issuer) {
            warnings.append(.provesNoAddress)
        }
        return warnings
    }
}

extension LinkPolicy {
    /// Returns true if the provider's word proves some address: by a rule that names the provider, or for any domain.
    fileprivate func trusts(_ provider: ProviderID, issuer: String) -> Bool {
        let isNamed = emailTrust.rules.contains { $0.scope.providers == .only(provider) && $0.trust > .asserting }
        guard !isNamed, let anyone = EmailAddress("anyone@domain.invalid") else { return isNamed }
        return emailTrust.trust(of: provider, issuer: issuer, for: anyone, hostedDomain: nil) > .asserting
    }
}

extension AccountOperations {
    package func warnings(about config: ProviderConfig) -> [ProviderConfigWarning] { config.warnings(policy) }
}
