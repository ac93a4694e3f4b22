extension AuditRule {
    static let recordWithoutUser = AuditRule(
        id: "record-without-user",
        severity: .error,
        summary: "Rows of providers, methods, sessions, codes or conflicts name an account that does not exist.",
        reason:
            "A manual change left these rows behind. A new account with the id would inherit them.",
        repair: "Delete the rows.",
        remedy: .account { _, evidence, _ in
            guard let table = evidence.text("table").flatMap(Repair.OrphanTable.init(rawValue:)) else {
                return .person("the table is unknown")
            }
            return .repair(.deleteRecords(table))
        },
        check: .account { snapshot, _ in
            guard snapshot.account == nil else { return [] }
            let counts: [(String, Int64)] = [
                ("linked_providers", Int64(snapshot.linkedProviders.count)),
                ("sign_in_methods", Int64(snapshot.methodProofs.count)),
                ("second_factors", Int64(snapshot.secondFactorNumbers.count)),
                ("password_credentials", snapshot.passwordUpdatedAt == nil ? 0 : 1),
                ("sessions", snapshot.sessions.reduce(0) { $0 + $1.count }),
                ("one_time_codes", snapshot.codes.reduce(0) { $0 + $1.count }),
                ("conflicts", snapshot.conflicts.reduce(0) { $0 + $1.count }),
            ]
            return counts.filter { $0.1 > 0 }.map { Evidence(["table": .text($0.0), "rows": .count($0.1)]) }
        }
    )
}
