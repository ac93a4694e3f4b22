extension AuditRule {
    private static let leftOverUse = "left over"

    static let sharedNumber = AuditRule(
        id: "shared-number",
        severity: .warning,
        summary: "Several accounts have one telephone number, to sign in, as second factor or left over.",
        reason: "Whoever holds the phone gets the codes of all of them.",
        repair: "Find out whose it is now, and take it off the others.",
        remedy: .group { members in
            // Who signs in with it, or is asked for it, needs it: only data that was left over goes.
            let leftOver = members.filter { $0.detail == leftOverUse }
            guard members.count - leftOver.count <= 1 else {
                return .person("several sign in with it or have it as second factor: find out whose it is")
            }
            return .repairs(leftOver.map { ($0, .forgetNumber) })
        },
        check: .group(
            traits: { snapshot, _, traits in
                guard
                    snapshot.unprovenPhoneNumber != nil || !snapshot.secondFactorNumbers.isEmpty
                        || snapshot.account?.phoneNumber != nil
                else { return }
                var uses: [PhoneNumber: String] = [:]
                if let number = snapshot.unprovenPhoneNumber { uses[number] = leftOverUse }
                for number in snapshot.secondFactorNumbers { uses[number] = "second factor" }
                if let number = snapshot.account?.phoneNumber { uses[number] = "sign-in" }
                for (number, use) in uses { traits.append(key: number.rawValue, detail: use) }
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
