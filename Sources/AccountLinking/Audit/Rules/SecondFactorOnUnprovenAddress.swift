extension AuditRule {
    static let secondFactorOnUnprovenAddress = AuditRule(
        id: "second-factor-on-unproven-address",
        severity: .warning,
        summary: "A second factor is enrolled on an account whose address nobody has shown to have.",
        reason: "The mail that takes a lost or a stranger's factor off goes to somebody else, or to nobody.",
        repair: "Let the user verify the address, or take the factor off.",
        remedy: .person("let the user verify the address; taking the factor off would make the account weaker"),
        check: .account { snapshot, _ in
            guard snapshot.account?.hasSecondFactor == true, let account = snapshot.account, !account.isEmailVerified
            else { return [] }
            return [Evidence(["address": account.email.map { .address($0.address.canonical) } ?? .text("none")])]
        }
    )
}
