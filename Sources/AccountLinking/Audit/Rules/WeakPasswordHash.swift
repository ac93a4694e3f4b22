extension AuditRule {
    /// The prefix of new hashes. A sign-in replaces any other hash.
    package static let currentPasswordScheme = "$argon2id$v=19$m=19456,t=2,p=1$"

    static let weakPasswordHash = AuditRule(
        id: "weak-password-hash",
        severity: .warning,
        summary: "The password hash was not made with the current algorithm and parameters.",
        reason: "A thief with a copy of the table finds passwords behind weak hashes first.",
        repair:
            "Concord replaces it when the user next signs in with the password. If they never do, delete the password.",
        remedy: .account { snapshot, _, terms in
            // A sign-in replaces the hash.
            guard terms.now.seconds(since: snapshot.lastUsedAt) > terms.dormantSeconds else {
                return .person("Concord replaces it when the user next signs in")
            }
            return .repair(.suspend(.password, endsSessions: false))
        },
        check: .account { snapshot, _ in
            guard let scheme = snapshot.passwordScheme, !scheme.hasPrefix(currentPasswordScheme) else { return [] }
            return [Evidence(["scheme": .text(schemeName(scheme))])]
        }
    )

    /// The text between the first two dollar signs, which holds no part of the hash.
    private static func schemeName(_ hash: String) -> String {
        let parts = hash.split(separator: "$", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, parts[1].utf8.count <= 32 else { return "unknown" }
        return String(parts[1])
    }
}
