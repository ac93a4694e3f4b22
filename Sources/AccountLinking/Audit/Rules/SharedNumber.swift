extension AuditRule {
    private static let leftOverUse = "left over"

    static let sharedNumber = AuditRule(
        id: "shared-number",
        severity: .warning,
        summary: "Several accounts have the same phone number, for sign-in, as a second factor or left over.",
        reason: "The holder of the phone receives the codes of all these accounts.",
        repair: "Find the current holder, and remove the number from the other accounts.",
        remedy: .group { members in
            // Delete only leftover data: a number for sign-in or a second factor is in use.
            let leftOver = members.filter { $0.detail == leftOverUse }
            guard members.count - leftOver.count <= 1 else {
                return .person("several accounts use it for sign-in or as a second factor: find the holder")
            }
            return .repairs(leftOver.map { ($0, .forgetNumber) })
        },
        check: .group(
            traits: { snapshot, _ in
                var uses: [PhoneNumber: String] = [:]
                if let number = snapshot.unprovenPhoneNumber { uses[number] = leftOverUse }
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
