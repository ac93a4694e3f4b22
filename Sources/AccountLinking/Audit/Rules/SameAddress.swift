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
    /// Of providers that name one address the last is told.
    package static func addresses(of snapshot: AccountSnapshot) -> [Trait] {
        var traits: [Trait] = []
        if let own = snapshot.account?.email {
            traits.append(trait(of: own.address, detail: ownAddress))
        }
        for index in snapshot.linkedProviders.indices.reversed() {
            guard let address = snapshot.linkedProviders[index].email else { continue }
            if traits.contains(where: { $0.key == address.canonical }) { continue }
            traits.append(trait(of: address, detail: snapshot.linkedProviders[index].identity.provider.rawValue))
        }
        return traits
    }

    /// Addresses that are the same look alike.
    private static func trait(of address: EmailAddress, detail: String) -> Trait {
        Trait(key: address.canonical, detail: detail, family: address.lookAlikeKey)
    }
}
