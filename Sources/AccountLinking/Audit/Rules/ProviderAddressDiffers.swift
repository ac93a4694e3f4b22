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
