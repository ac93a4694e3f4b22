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
            traits: { snapshot, _, traits in traits.appendAddresses(of: snapshot) },
            evidence: { key, members in
                Evidence([
                    "address": .address(key),
                    "namedBy": .text(members.map { "\($0.user.rawValue): \($0.detail)" }.joined(separator: ", ")),
                ])
            }
        )
    )

    /// The detail of an account's own address, as opposed to a provider's.
    static let ownAddress = "account"
}

extension TraitList {
    /// Appends every address that an account names, its own or that of a linked provider.
    /// If several providers name one address, only the last one is appended.
    package mutating func appendAddresses(of snapshot: AccountSnapshot) {
        if let own = snapshot.account?.email { append(own.address, detail: AuditRule.ownAddress) }
        for index in snapshot.linkedProviders.indices.reversed() {
            guard let address = snapshot.linkedProviders[index].email, !contains(key: address.canonical) else {
                continue
            }
            append(address, detail: snapshot.linkedProviders[index].identity.provider.rawValue)
        }
    }

    /// Addresses that are the same look alike.
    private mutating func append(_ address: EmailAddress, detail: String) {
        append(key: address.canonical, detail: detail, family: lookAlikeKey(of: address))
    }
}
