extension AuditRule {
    static let unusedPassword = AuditRule(
        id: "unused-password",
        severity: .note,
        summary: "The password was not used since a provider was linked.",
        reason: "A forgotten password is an unwatched sign-in method: it may be in a list of leaked passwords.",
        repair: "Suggest to the user that they remove it.",
        remedy: .account { _, _, _ in .repair(.suspend(.password, endsSessions: false)) },
        check: .account { snapshot, _ in
            guard snapshot.account?.hasPassword == true, let setAt = snapshot.passwordUpdatedAt,
                let linkedAt = snapshot.linkedProviders.lazy.map(\.linkedAt).filter({ $0 > setAt }).min(),
                // The user has signed in since then, and not with the password.
                let lastLoginAt = snapshot.lastLoginAt, lastLoginAt > linkedAt,
                !snapshot.sessions.contains(where: { $0.signInProvider == "password" && $0.lastAuthTime > linkedAt })
            else { return [] }
            return [Evidence(["passwordSet": .instant(setAt), "providerLinked": .instant(linkedAt)])]
        }
    )
}
