extension AuditRule {
    static let compatibilityPreset = AuditRule(
        id: "compatibility-preset",
        severity: .warning,
        summary: "The project follows the preset `firebase`, which is less safe than `strict`.",
        reason: """
            Under `firebase`, a thief with an old stolen session can link their own provider, and the next owner of an \
            expired domain gets into the accounts of the previous owner.
            """,
        repair: """
            Simulate `linkPolicy: {preset: strict}` with `concord policy simulate`, then apply it. You can still set single \
            values.
            """,
        remedy: .person("an administrator changes `linkPolicy.preset`"),
        check: .project { terms in
            terms.policy.preset == .firebase ? [Evidence(["preset": .text(terms.policy.preset.rawValue)])] : []
        }
    )
}
