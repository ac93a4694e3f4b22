extension AuditRule {
    static let sameAddress = AuditRule(
        id: "same-address-in-several-accounts",
        severity: .warning,
        summary: "Several accounts name one address, their own or that of a linked provider.",
        reason: "One person with two accounts: data and purchases are missing in one of them, depending on the button.",
        repair: "Merge the accounts after both owners have proven that they are one person.",
        remedy: .person("concord account merge, after both owners have shown to be one person"),
        check: .group(
            traits: { snapshot, _ in addresses(of: snapshot) },
            evidence: { key, members in
                Evidence([
                    "address": .address(key),
                    "namedBy": .text(members.map { "\($0.user.rawValue): \($0.detail)" }.joined(separator: ", ")),
                ])
            }
        )
    )

    /// What an account contributes of the address that it owns, rather than one of its providers.
    static let ownAddress = "account"

    /// What an account contributes: every address it names, its own or that of a linked provider.
    package static func addresses(of snapshot: AccountSnapshot) -> [Trait] {
        var addresses: [String: String] = [:]
        for provider in snapshot.linkedProviders {
            guard let email = provider.email else { continue }
            addresses[email.canonical] = provider.identity.provider.rawValue
        }
        if let email = snapshot.account?.email { addresses[email.address.canonical] = ownAddress }
        return addresses.map { Trait(key: $0.key, detail: $0.value) }
    }
}
