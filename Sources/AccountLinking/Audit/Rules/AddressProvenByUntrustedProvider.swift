extension AuditRule {
    static let addressProvenByUntrustedProvider = AuditRule(
        id: "address-proven-by-untrusted-provider",
        severity: .warning,
        summary: "The address was verified by a provider whose word is no proof for it any more.",
        reason:
            "A provider that lets its users write any address verifies a stranger's: account takeover by its sign-in.",
        repair: "Clear emailVerified and let the user verify the address.",
        check: .account { snapshot, terms in
            guard let email = snapshot.account?.email, case .provider(let provider) = email.proof else { return [] }
            let linked = snapshot.linkedProviders.first { $0.identity.provider == provider }
            let trust = terms.policy.emailTrust.trust(
                of: provider,
                issuer: linked?.issuer,
                for: email.address,
                // What Google hosts for a domain is not kept: whoever has an address of it may have been its user.
                hostedDomain: String(email.address.domain)
            )
            guard trust < .verifying else { return [] }
            return [
                Evidence([
                    "address": .address(email.address.canonical), "provider": .text(provider.rawValue),
                    "trust": .text(trust.rawValue),
                ])
            ]
        }
    )
}
