import FoundationEssentials

/// The texts of `concord setup`.
enum SetupText {
    /// A line for each step, and a last line if nothing changed.
    static func text(_ steps: [SetupStep]) -> String {
        let table = TextTable.text(steps.map { ($0.subject, $0.outcome) })
        return steps.contains(where: \.isChange) ? table : table + "\nnothing was changed: everything is already there"
    }

    /// The values for the app, and its first lines.
    static func app(_ result: Setup.Result, publicURL: String?, hasKeys: Bool) -> String {
        let url = publicURL ?? "https://YOUR-CONCORD"
        let domain = URL(string: url)?.host ?? "YOUR-CONCORD"
        var lines = [
            "", "API key      \(result.apiKey)", "Auth domain  \(domain)", "Project id   \(result.projectID)", "",
            "In a web app:", "",
            "  import { initializeApp } from 'firebase/app';",
            "  import { connectAuthEmulator, getAuth } from 'firebase/auth';", "",
            "  const app = initializeApp({",
            "    apiKey: '\(result.apiKey)',",
            "    authDomain: '\(domain)',",
            "    projectId: '\(result.projectID)',",
            "  });",
            "  connectAuthEmulator(getAuth(app), '\(url)', { disableWarnings: true });",
        ]
        var next: [String] = []
        if publicURL == nil { next.append("set listen.public_url to the https address that users reach") }
        if !hasKeys { next.append("set CONCORD_KEYS_ENCRYPTION=\"1:$(openssl rand -base64 32)\", and back it up") }
        next += ["check the installation: concord doctor", "start the server: concord serve"]
        lines += ["", "Next:"] + next.enumerated().map { "  \($0.offset + 1). \($0.element)" }
        return lines.joined(separator: "\n")
    }
}
