extension AuditRule {
    static let identityWantedByTwo = AuditRule(
        id: "identity-wanted-by-two-accounts",
        severity: .warning,
        summary: "A user tried to link a provider's identity to this account, but it belongs to another account.",
        reason:
            "Either one person uses both accounts, or the user tried to take another person's identity. The conflict is open.",
        repair: "Let the user resolve the conflict on its page, merge the accounts, or let the conflict expire.",
        remedy: .person(
            "let the user resolve it on its page, or let it expire; if both are one person: concord account merge"
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
