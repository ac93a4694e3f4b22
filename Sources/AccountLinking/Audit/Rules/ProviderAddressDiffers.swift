extension AuditRule {
    static let providerAddressDiffers = AuditRule(
        id: "provider-address-differs",
        severity: .note,
        summary: "A linked provider reports an address that differs from the account's.",
        reason:
            "A person who compares addresses may take its next sign-in for another user's, and support may search for the wrong account.",
        repair:
            "None needed: Concord identifies users by the provider's subject. Inform the user if it surprises them.",
        remedy: .person("nothing is broken: inform the user if it surprises them"),
        check: .account { snapshot, _ in
            guard !snapshot.linkedProviders.isEmpty, let address = snapshot.account?.email?.address.canonical else {
                return []
            }
            return snapshot.linkedProviders.indices.compactMap { index in
                guard let other = snapshot.linkedProviders[index].email?.canonical, other != address else { return nil }
                return Evidence([
                    "provider": .text(snapshot.linkedProviders[index].identity.provider.rawValue),
                    "providerAddress": .address(other),
                    "address": .address(address),
                ])
            }
        }
    )
}
