extension AuditRule {
    static let staleNumber = AuditRule(
        id: "stale-number",
        severity: .note,
        summary: "A phone number can sign in to an account that was not used for a long time.",
        reason: "Carriers reassign numbers within months. The new holder of the number can sign in.",
        repair: "Suspend the number, or verify it again when the user signs in with another method.",
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
