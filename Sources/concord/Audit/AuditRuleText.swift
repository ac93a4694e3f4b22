import AccountLinking
import JSON

/// The texts of audit rules.
enum AuditRuleText {
    /// Three columns with a heading.
    static func list(_ rules: [AuditRule]) -> String {
        TextTable.text(
            [["SEVERITY", "RULE", "WHAT IT FINDS"]] + rules.map { [$0.severity.rawValue, $0.id, $0.summary] },
            fitting: Terminal.width,
            whole: [0, 1]
        )
    }

    static func explanation(_ rule: AuditRule) -> String {
        """
        \(rule.id) (\(rule.severity.rawValue)\(subject(of: rule)))

        What    \(wrapped(rule.summary))
        Why     \(wrapped(rule.reason))
        Repair  \(wrapped(rule.repair))
        """
    }

    private static func subject(of rule: AuditRule) -> String {
        if rule.isAboutProject { return ", about the project's configuration" }
        return rule.isAboutSeveral ? ", about several accounts" : ""
    }

    static func json(_ rules: [AuditRule]) -> String {
        JSONValue.array(
            rules.map { rule in
                .object([
                    "id": .string(rule.id), "severity": .string(rule.severity.rawValue),
                    "summary": .string(rule.summary), "reason": .string(rule.reason), "repair": .string(rule.repair),
                    "aboutSeveral": .bool(rule.isAboutSeveral), "aboutProject": .bool(rule.isAboutProject),
                ])
            }
        ).text
    }

    /// Wraps text at 100 characters, and indents further lines.
    private static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + word.count < 92 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n        ")
    }
}
