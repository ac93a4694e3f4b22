extension AuditRule {
    static let unreadableValue = AuditRule(
        id: "unreadable-value",
        severity: .error,
        summary: "A column holds a value that Concord never writes.",
        reason: "Somebody changed the database by hand. Requests about the account fail.",
        repair: "Put back what was there, or delete the row. Change accounts over the API.",
        remedy: .person("what was there before is not known: put it back by hand"),
        check: .account { snapshot, _ in snapshot.unreadable.map { Evidence(["column": .text($0)]) } }
    )
}
