extension AuditRule {
    static let providerAddressDiffers = AuditRule(
        id: "provider-address-differs",
        severity: .note,
        summary: "A linked provider names another address than the account has.",
        reason:
            "Its next sign-in may be taken for somebody else's by whoever compares addresses; support looks in the wrong place.",
        repair: "None needed: Concord knows people by the provider's subject. Tell the user if it surprises them.",
        remedy: .person("nothing is broken: tell the user if it surprises them"),
        check: .account { snapshot, _ in
            guard !snapshot.linkedProviders.isEmpty, let email = snapshot.account?.email else { return [] }
            return snapshot.linkedProviders.compactMap { provider in
                guard let other = provider.email, other != email.address else { return nil }
                return Evidence([
                    "provider": .text(provider.identity.provider.rawValue),
                    "providerAddress": .address(other.canonical),
                    "address": .address(email.address.canonical),
                ])
            }
        }
    )
}
