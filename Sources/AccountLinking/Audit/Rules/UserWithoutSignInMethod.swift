extension AuditRule {
    static let userWithoutSignInMethod = AuditRule(
        id: "user-without-sign-in-method",
        severity: .warning,
        summary: "The user cannot sign in with any method of the account now.",
        reason: "The user is locked out: a provider was disabled, or the last method was removed.",
        repair: "Enable one of the account's methods, or set an address and send a link to reset the password.",
        remedy: .person("enable one of the account's methods, or set an address and send a link to reset the password"),
        check: .account { snapshot, terms in
            guard snapshot.account?.isLockedOut(under: terms) == true, let account = snapshot.account else { return [] }
            let enabled = Set(account.linkedProviders.keys.filter(terms.isEnabled))
            let statuses = methodStatuses(of: account, policy: terms.policy, enabledProviders: enabled)
            let obstacles = statuses.map { "\($0.method.name): \($0.obstacle?.rawValue ?? "")" }
            return [Evidence(["methods": .text(obstacles.isEmpty ? "none" : obstacles.joined(separator: ", "))])]
        }
    )
}

extension Account {
    /// Returns `true` if the user has no working sign-in method by accident. Anonymous users and users of custom tokens
    /// have none by design, and disabled users are locked out on purpose.
    fileprivate func isLockedOut(under terms: AuditTerms) -> Bool {
        !isDisabled && !isAnonymous && !usesCustomTokens
            && !hasWorkingMethod(self, policy: terms.policy, isEnabled: terms.isEnabled)
    }
}
