extension AuditRule {
    static let unreadableValue = AuditRule(
        id: "unreadable-value",
        severity: .error,
        summary: "A column holds a value that Concord never writes.",
        reason: "Somebody changed the database by hand. Requests about the account fail.",
        repair: "Put back what was there, or delete the row. Change accounts over the API.",
        check: .account { snapshot, _ in snapshot.unreadable.map { Evidence(["column": .text($0)]) } }
    )
}
