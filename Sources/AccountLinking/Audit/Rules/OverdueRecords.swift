extension AuditRule {
    static let overdueRecords = AuditRule(
        id: "overdue-records",
        severity: .warning,
        summary: "Codes, conflicts or sessions are still stored long after they ended.",
        reason:
            "No server deletes them, or deletion fails. Tables grow, and personal data is stored without a reason.",
        repair: "Run `concord serve`, and check its log for errors about expired rows.",
        remedy: .account { _, evidence, terms in
            let cutoff = terms.now.adding(seconds: -terms.overdueSeconds)
            switch evidence.text("record") {
            case "conflict"?: return .repair(.deleteOverdue(.conflicts, endedBefore: cutoff))
            case "session"?: return .repair(.deleteOverdue(.sessions, endedBefore: cutoff))
            case let kind?:
                guard let kind = EmailCodeRecord.Kind(rawValue: kind) else { return .person("the kind is unknown") }
                return .repair(.deleteOverdue(.codes(kind), endedBefore: cutoff))
            case nil: return .person("the kind is unknown")
            }
        },
        check: .account { snapshot, terms in
            let cutoff = terms.now.adding(seconds: -terms.overdueSeconds)
            var found: [Evidence] = []
            for codes in snapshot.codes where codes.firstExpiry < cutoff {
                found.append(Evidence(["record": .text(codes.kind.rawValue), "expired": .instant(codes.firstExpiry)]))
            }
            for conflict in snapshot.conflicts where conflict.firstExpiry < cutoff {
                found.append(Evidence(["record": .text("conflict"), "expired": .instant(conflict.firstExpiry)]))
            }
            // Every write that ends sessions also sets `validSince`.
            if let epoch = snapshot.account?.sessionEpoch, snapshot.validSince < cutoff {
                let ended = snapshot.sessions.reduce(0) { $1.epoch == epoch ? $0 : $0 + $1.count }
                if ended > 0 {
                    found.append(
                        Evidence([
                            "record": .text("session"), "expired": .instant(snapshot.validSince),
                            "count": .count(ended),
                        ])
                    )
                }
            }
            return found
        }
    )
}
