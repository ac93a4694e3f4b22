extension AuditRule {
    static let staleEmailChange = AuditRule(
        id: "stale-email-change",
        severity: .warning,
        summary: "A change of address has waited too long for its confirmation.",
        reason: "A later holder of the new mailbox can take over the account with the old mail.",
        repair: "Let the user request the change again. Check that a running server deletes expired rows.",
        remedy: .account { _, _, terms in
            let cutoff = terms.now.adding(seconds: -terms.emailChangeSeconds)
            return .repair(.voidCodes(.verifyAndChangeEmail, madeBefore: cutoff))
        },
        check: .account { snapshot, terms in
            snapshot.codes.compactMap { codes in
                guard codes.kind == .verifyAndChangeEmail, let since = codes.waitingSince,
                    terms.now.seconds(since: since) > terms.emailChangeSeconds
                else { return nil }
                return Evidence(["since": .instant(since)])
            }
        }
    )
}
