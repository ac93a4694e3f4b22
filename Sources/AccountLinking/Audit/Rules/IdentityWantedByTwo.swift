extension AuditRule {
    static let identityWantedByTwo = AuditRule(
        id: "identity-wanted-by-two-accounts",
        severity: .warning,
        summary: "Somebody tried to link a provider's identity to this account that belongs to another.",
        reason: "One person uses both, or somebody wants what is not theirs. The conflict is open.",
        repair: "Let it be settled on its page, merge the accounts, or let it expire.",
        remedy: .person(
            "let it be settled on its page, or let it expire; concord account merge where both are one person"
        ),
        check: .account { snapshot, _ in
            snapshot.conflicts.compactMap { conflict in
                guard conflict.kind == .credentialAlreadyInUse, conflict.liveCount > 0,
                    let lastOpenedAt = conflict.lastOpenedAt
                else { return nil }
                return Evidence([
                    "provider": .text(conflict.provider.rawValue), "conflicts": .count(conflict.liveCount),
                    "lastOpened": .instant(lastOpenedAt),
                ])
            }
        }
    )
}
