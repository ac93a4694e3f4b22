extension AuditRule {
    static let recycledAddress = AuditRule(
        id: "recycled-address",
        severity: .warning,
        summary: "A provider that is linked named the account's address for somebody else.",
        reason: """
            The provider knows two people by one address: it was given to somebody new, who must not inherit the account \
            of who had it before.
            """,
        repair: "Ask the account's owner for another address; do not link the new identity on the address alone.",
        remedy: .person("ask the owner for another address; only they know which mailbox is still theirs"),
        check: .account { snapshot, _ in
            guard !snapshot.conflicts.isEmpty, snapshot.account?.hasEmail == true else { return [] }
            let linked = Set(snapshot.linkedProviders.map(\.identity.provider))
            return snapshot.conflicts.compactMap { conflict in
                // One that was settled was about the identity that is linked.
                guard conflict.kind == .accountExistsWithDifferentCredential, linked.contains(conflict.provider),
                    let lastOpenedAt = conflict.lastOpenedAt
                else { return nil }
                // An address that was proven since is another one, or its owner has shown since to have it: one that is
                // proven is not proven again.
                if let provenAt = snapshot.emailProvenAt, provenAt > lastOpenedAt { return nil }
                return Evidence([
                    "provider": .text(conflict.provider.rawValue), "conflicts": .count(conflict.unresolvedCount),
                    "lastOpened": .instant(lastOpenedAt),
                ])
            }
        }
    )
}
