extension AuditRule {
    static let secondFactorOnUnprovenAddress = AuditRule(
        id: "second-factor-on-unproven-address",
        severity: .warning,
        summary: "A second factor is enrolled on an account whose address is not verified.",
        reason: "The mail that removes a lost factor or a stranger's factor may not reach the user.",
        repair: "Let the user verify the address, or remove the factor.",
        remedy: .person("let the user verify the address; removing the factor would make the account weaker"),
        check: .account { snapshot, _ in
            guard snapshot.account?.hasSecondFactor == true, let account = snapshot.account, !account.isEmailVerified
            else { return [] }
            return [Evidence(["address": account.email.map { .address($0.address.canonical) } ?? .text("none")])]
        }
    )
}
