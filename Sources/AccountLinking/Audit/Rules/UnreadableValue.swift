extension AuditRule {
    static let unreadableValue = AuditRule(
        id: "unreadable-value",
        severity: .error,
        summary: "A column holds a value that Concord never writes.",
        reason: "The database was changed by hand. Requests about the account fail.",
        repair: "Restore the previous value, or delete the row. Change accounts over the API only.",
        remedy: .person("the previous value is not known: restore it by hand"),
        check: .account { snapshot, _ in snapshot.unreadable.map { Evidence(["column": .text($0)]) } }
    )
}
