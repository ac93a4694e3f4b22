/// All settings. Parsing, `config print`, errors and `docs/reference/configuration.md` use this table.
enum ConfigurationTable {
    /// The entries in the order of the documentation. After each secret follows the setting that names its file.
    static let entries = values.flatMap { entry in [entry] + (entry.file.map { [$0] } ?? []) }

    private static let values: [ConfigurationEntry] =
        ListenConfiguration.entries
        + DatabaseConfiguration.entries
        + LimitsConfiguration.entries
        + PurgeConfiguration.entries
        + KeysConfiguration.entries
        + TokensConfiguration.entries
        + ProvidersConfiguration.entries
        + MessagesConfiguration.entries
        + RecaptchaConfiguration.entries
        + AssessmentConfiguration.entries
        + ApplePushConfiguration.entries
        + MailConfiguration.entries
        + LogConfiguration.entries
        + TelemetryConfiguration.entries
    // The next one goes here.

    /// One line of `config print`.
    struct Line: Sendable, Hashable {
        let name: String
        /// The value without secrets.
        let value: String
        let origin: ConfigurationOrigin
    }

    /// The effective value and its origin for every entry.
    static func effective(_ sources: ConfigurationSources) -> [Line] {
        entries.map { entry in
            guard let setting = sources.settings.last(where: { $0.name == entry.name }) else {
                return Line(name: entry.name, value: entry.defaultText, origin: .default)
            }
            let value =
                switch entry.secrecy {
                case .shown: setting.texts.joined(separator: ", ")
                case .hidesPassword: setting.texts.map(DatabaseConfiguration.withoutPassword).joined(separator: ", ")
                case .hidden: "(secret)"
                }
            return Line(name: entry.name, value: value, origin: setting.origin)
        }
    }

    /// The table in `docs/reference/configuration.md`.
    static var markdown: String {
        let rows = entries.map { entry in
            let notes = entry.secrecy == .shown ? "" : " Secret."
            return "| `\(entry.name)` | \(entry.allowed) | `\(entry.defaultText)` | \(entry.summary).\(notes) |"
        }
        return (["| Key | Value | Default | Meaning |", "|---|---|---|---|"] + rows)
            .joined(separator: "\n")
    }
}
