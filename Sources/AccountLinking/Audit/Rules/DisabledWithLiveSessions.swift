extension AuditRule {
    static let disabledWithLiveSessions = AuditRule(
        id: "disabled-with-live-sessions",
        severity: .warning,
        summary: "An account is disabled, and sessions of it have not been ended.",
        reason: "They live again the moment the account is enabled, whoever holds them.",
        repair: "Revoke the account's refresh tokens.",
        remedy: .account { _, _, _ in .repair(.endSessions) },
        check: .account { snapshot, _ in
            guard snapshot.account?.isDisabled == true, let account = snapshot.account else { return [] }
            let live = snapshot.sessions.filter { $0.epoch == account.sessionEpoch }.reduce(0) { $0 + $1.count }
            return live > 0 ? [Evidence(["sessions": .count(live)])] : []
        }
    )
}
