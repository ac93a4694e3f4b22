import AccountLinking
import JSON

/// The texts of audit rules.
enum AuditRuleText {
    static var listing: Listing<AuditRule> {
        Listing(
            [
                .init("severity", "SEVERITY") { .string($0.severity.rawValue) },
                .init("id", "RULE") { .string($0.id) },
                .init("summary", "WHAT IT FINDS") { .string($0.summary) },
                .init("reason", nil) { .string($0.reason) },
                .init("repair", nil) { .string($0.repair) },
                .init("aboutSeveral", nil) { .bool($0.isAboutSeveral) },
                .init("aboutProject", nil) { .bool($0.isAboutProject) },
            ],
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
