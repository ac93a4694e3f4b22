extension AuditRule {
    static let sameAddress = AuditRule(
        id: "same-address-in-several-accounts",
        severity: .warning,
        summary: "Several accounts have the same address, as their own or as that of a linked provider.",
        reason:
            "One person may have two accounts. Depending on the sign-in button, they miss their data and purchases.",
        repair: "Merge the accounts after the owners have proven that they are one person.",
        remedy: .person("concord account merge, after the owners have proven that they are one person"),
        check: .group(
            traits: { snapshot, _ in addressTraits(of: snapshot) },
            evidence: { key, members in
                Evidence([
                    "address": .address(key),
                    "namedBy": .text(members.map { "\($0.user.rawValue): \($0.detail)" }.joined(separator: ", ")),
                ])
            }
        )
    )

    /// The detail of an account's own address. Other details name a provider.
    static let ownAddress = "account"

    /// Each address of the account or its linked providers, once. The detail is the account if it has the address,
    /// otherwise the last provider with the address.
    package static func addressTraits(of snapshot: AccountSnapshot) -> [Trait] {
        var traits: [Trait] = []
        if let own = snapshot.account?.email?.address.canonical { traits.append(Trait(key: own, detail: ownAddress)) }
        for linked in snapshot.linkedProviders.reversed() {
            guard let address = linked.email?.canonical, !traits.contains(where: { $0.key == address }) else {
                continue
            }
            traits.append(Trait(key: address, detail: linked.identity.provider.rawValue))
        }
        return traits
    }
}
