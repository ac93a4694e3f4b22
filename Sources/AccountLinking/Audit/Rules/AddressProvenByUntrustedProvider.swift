extension AuditRule {
    static let addressProvenByUntrustedProvider = AuditRule(
        id: "address-proven-by-untrusted-provider",
        severity: .warning,
        summary: "The address was verified by a provider that is no longer trusted for it.",
        reason:
            "A provider that lets its users enter any address can verify a stranger's address: account takeover by its sign-in.",
        repair: "Clear emailVerified and let the user verify the address.",
        remedy: .account { _, _, _ in .repair(.unproveAddress) },
        check: .account { snapshot, terms in
            guard case .provider(let provider)? = snapshot.account?.email?.proof, let email = snapshot.account?.email,
                let trust = terms.policy.trust(inProofOf: snapshot), trust < .verifyingNew
            else { return [] }
            return [
                Evidence([
                    "address": .address(email.address.canonical), "provider": .text(provider.rawValue),
                    "trust": .text(trust.rawValue),
                ])
            ]
        }
    )
}

extension LinkPolicy {
    /// The current trust in the provider that proved an account's address; `nil` if no provider did.
    func trust(inProofOf snapshot: AccountSnapshot) -> EmailTrustClass? {
        guard let email = snapshot.account?.email, case .provider(let provider) = email.proof else { return nil }
        let linked = snapshot.linkedProviders.first { $0.identity.provider == provider }
        return emailTrust.trust(
            of: provider,
            issuer: linked?.issuer ?? registeredIssuers[provider],
            for: email.address,
            // The hosted domain of a Google account is not stored. Assume that the address belonged to one.
            hostedDomain: String(email.address.domain)
        )
    }
}
