extension AuditRule {
    static let lookAlikeAddresses = AuditRule(
        id: "look-alike-addresses",
        severity: .warning,
        summary: "Accounts have addresses that look alike, or that their mail host delivers to one mailbox.",
        reason: """
            Homographs deceive users and support staff. Dots and +tags that a mail host ignores give one mailbox many \
            accounts. Concord never joins such accounts by itself.
            """,
        repair:
            "Compare the accounts. If they belong to one person, merge them. If one imitates the other, disable it.",
        remedy: .person(
            "compare them: if both belong to one person, concord account merge; if one imitates the other, disable it"
        ),
        check: .group(
            traits: { snapshot, _ in
                guard let address = snapshot.account?.email?.address else { return [] }
                return [Trait(key: address.lookAlikeKey, detail: address.canonical)]
            },
            evidence: { _, members in
                let addresses = Set(members.map(\.detail)).sorted()
                guard addresses.count > 1 else { return nil }
                return Evidence(["addresses": .addresses(addresses)])
            }
        )
    )
}
