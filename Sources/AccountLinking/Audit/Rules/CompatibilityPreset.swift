extension AuditRule {
    static let compatibilityPreset = AuditRule(
        id: "compatibility-preset",
        severity: .warning,
        summary: "The project follows the preset `firebase`, which is less safe than `strict`.",
        reason: """
            Under `firebase` an old stolen session links a provider of the thief's, and the next owner of an expired \
            domain enters the accounts of the last one.
            """,
        repair: """
            Simulate `linkPolicy: {preset: strict}` with `concord policy simulate`, then apply it. A single value can stay \
            as it is.
            """,
        remedy: .person("an administrator changes `linkPolicy.preset`"),
        check: .project { terms in
            terms.policy.preset == .firebase ? [Evidence(["preset": .text(terms.policy.preset.rawValue)])] : []
        }
    )
}
