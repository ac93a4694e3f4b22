extension AuditRule {
    static let lookAlikeAddresses = AuditRule(
        id: "look-alike-addresses",
        severity: .warning,
        summary: "Accounts have addresses that look alike, or that their mail host takes for one.",
        reason: """
            Homographs fool people and support staff; dots and +tags that a host ignores give one mailbox many accounts. \
            Concord joins neither by itself.
            """,
        repair: "Look at both. Where they are one person's, merge them; where one imitates the other, disable it.",
        remedy: .person("look at both: concord account merge where both are one person, disable the one that imitates"),
        check: .group(
            traits: { snapshot, _, traits in
                guard let address = snapshot.account?.email?.address else { return }
                traits.append(key: traits.lookAlikeKey(of: address), detail: address.canonical)
            },
            evidence: { _, members in
                let addresses = Set(members.map(\.detail)).sorted()
                guard addresses.count > 1 else { return nil }
                return Evidence(["addresses": .addresses(addresses)])
            }
        )
    )
}
