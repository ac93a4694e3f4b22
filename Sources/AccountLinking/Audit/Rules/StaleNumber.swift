extension AuditRule {
    static let staleNumber = AuditRule(
        id: "stale-number",
        severity: .note,
        summary: "A telephone number signs in to an account that was left alone for long.",
        reason: "Carriers give numbers to somebody new, within months; whoever has it now is let in.",
        repair: "Take the number off, or ask for it again when the user comes back by another method.",
        remedy: .account { _, _, _ in .repair(.suspend(.phone, endsSessions: false)) },
        check: .account { snapshot, terms in
            guard let number = snapshot.account?.phoneNumber, snapshot.account?.isDisabled == false,
                let provenAt = snapshot.methodProofs[.phone]?.provenAt
            else { return [] }
            let seenAt = max(provenAt, snapshot.lastUsedAt)
            guard terms.now.seconds(since: seenAt) > terms.dormantSeconds else { return [] }
            return [Evidence(["number": .number(number.rawValue), "lastUsed": .instant(seenAt)])]
        }
    )
}
