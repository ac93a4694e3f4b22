extension AuditRule {
    static let sharedNumber = AuditRule(
        id: "shared-number",
        severity: .warning,
        summary: "Several accounts have one telephone number, to sign in, as second factor or left over.",
        reason: "Whoever holds the phone gets the codes of all of them.",
        repair: "Find out whose it is now, and take it off the others.",
        check: .group(
            traits: { snapshot, _ in
                var uses: [PhoneNumber: String] = [:]
                if let number = snapshot.unprovenPhoneNumber { uses[number] = "left over" }
                for number in snapshot.secondFactorNumbers { uses[number] = "second factor" }
                if let number = snapshot.account?.phoneNumber { uses[number] = "sign-in" }
                return uses.map { Trait(key: $0.key.rawValue, detail: $0.value) }
            },
            evidence: { key, members in
                Evidence([
                    "number": .number(key),
                    "usedBy": .text(members.map { "\($0.user.rawValue): \($0.detail)" }.joined(separator: ", ")),
                ])
            }
        )
    )
}
