extension AuditRule {
    static let recycledAddress = AuditRule(
        id: "recycled-address",
        severity: .warning,
        summary: "A linked provider reported the account's address for another person.",
        reason: """
            The provider assigned the address to a new person, who must not inherit the account of the previous \
            holder.
            """,
        repair:
            "Ask the account's owner for another address. Do not link the new identity because of the address alone.",
        remedy: .person("ask the owner for another address: only they know which mailbox they still have"),
        check: .account { snapshot, _ in
            guard !snapshot.conflicts.isEmpty, snapshot.account?.hasEmail == true else { return [] }
            let linked = Set(snapshot.linkedProviders.map(\.identity.provider))
            return snapshot.conflicts.compactMap { conflict in
                // A resolved conflict linked its identity, so it has no `lastOpenedAt`.
                guard conflict.kind == .accountExistsWithDifferentCredential, linked.contains(conflict.provider),
                    let lastOpenedAt = conflict.lastOpenedAt
                else { return nil }
                // A proof after the conflict shows that the address is another one, or that its owner still has it.
                if let provenAt = snapshot.emailProvenAt, provenAt > lastOpenedAt { return nil }
                return Evidence([
                    "provider": .text(conflict.provider.rawValue), "conflicts": .count(conflict.unresolvedCount),
                    "lastOpened": .instant(lastOpenedAt),
                ])
            }
        }
    )
}
