extension AuditRule {
    static let staleEmailChange = AuditRule(
        id: "stale-email-change",
        severity: .warning,
        summary: "A change of address waits to be confirmed for longer than it should.",
        reason: "Whoever gets into the new mailbox later turns the account over with an old mail.",
        repair: "Let the user ask for the change again. Check that a server is running that purges.",
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
