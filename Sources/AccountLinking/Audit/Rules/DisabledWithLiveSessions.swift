extension AuditRule {
    static let disabledWithLiveSessions = AuditRule(
        id: "disabled-with-live-sessions",
        severity: .warning,
        summary: "An account is disabled, but some of its sessions were not ended.",
        reason: "When the account is enabled, the sessions are valid again, even if a thief holds them.",
        repair: "Revoke the account's refresh tokens.",
        remedy: .account { _, _, _ in .repair(.endSessions) },
        check: .account { snapshot, _ in
            guard snapshot.account?.isDisabled == true, let account = snapshot.account else { return [] }
            let live = snapshot.sessions.filter { $0.epoch == account.sessionEpoch }.reduce(0) { $0 + $1.count }
            return live > 0 ? [Evidence(["sessions": .count(live)])] : []
        }
    )
}
