/// A setting of the process for people: its row in `docs/reference/configuration.md` and `config print`, and its texts
/// in errors.
struct ConfigurationEntry: Sendable, Hashable {
    /// The part of a value that may be shown.
    enum Secrecy: Sendable, Hashable {
        case shown
        /// A connection string, shown without its password.
        case hidesPassword
        /// Never shown, not even in an error about it.
        case hidden
    }

    /// Dotted path in `concord.yaml`: `listen.port`.
    let name: String
    /// The allowed values. The text follows "give …" in an error.
    let allowed: String
    /// The default value as text, or a word for no value, such as `none`.
    let defaultText: String
    let takesList: Bool
    let secrecy: Secrecy
    /// The meaning of the setting, in one line.
    let summary: String

    /// The environment variable that overrides it: `CONCORD_LISTEN_PORT`.
    var variable: String {
        ConfigurationSources.variablePrefix + name.uppercased().replacing(".", with: "_")
    }

    /// The setting that names a file with the value instead: `mail.password_file`. Every secret has one.
    var file: ConfigurationEntry? {
        guard secrecy != .shown else { return nil }
        return ConfigurationEntry(
            name: name + "_file",
            allowed: ConfigurationForm<String>.path.allowed,
            defaultText: "none",
            takesList: false,
            secrecy: .shown,
            summary: takesList
                ? "File with the values of `\(name)` instead, one per line; `#` begins a comment"
                : "File whose first line is the value, instead of `\(name)`"
        )
    }
}

/// An entry, and the conversion of its value. Configuration structs read it from the reader.
struct ConfigurationKey<Value: Sendable>: Sendable {
    let entry: ConfigurationEntry
    let fallback: Value
    /// Converts the given texts, of which only a list has several; `nil` if they are not allowed.
    let parse: @Sendable (_ texts: [String]) -> Value?

    /// A setting with one value that is always present.
    init(_ name: String, _ form: ConfigurationForm<Value>, default fallback: Value, _ summary: String) {
        self.init(
            name,
            form,
            takesList: false,
            defaultText: form.format(fallback),
            secrecy: .shown,
            summary: summary,
            fallback: fallback
        ) { texts in texts.count == 1 ? form.parse(texts[0]) : nil }
    }

    /// An optional setting. `absent` is a word for its absence.
    init<Wrapped>(
        optional name: String,
        _ form: ConfigurationForm<Wrapped>,
        absent: String = "none",
        secrecy: ConfigurationEntry.Secrecy = .shown,
        _ summary: String
    ) where Value == Wrapped? {
        self.init(
            name,
            form,
            takesList: false,
            defaultText: absent,
            secrecy: secrecy,
            summary: summary,
            fallback: nil
        ) { texts in
            guard texts.count == 1, let value = form.parse(texts[0]) else { return nil }
            return .some(value)
        }
    }

    /// A setting with any number of values; none by default.
    init<Element>(
        list name: String,
        _ form: ConfigurationForm<Element>,
        secrecy: ConfigurationEntry.Secrecy = .shown,
        _ summary: String
    ) where Value == [Element] {
        self.init(
            name,
            form,
            takesList: true,
            defaultText: "none",
            secrecy: secrecy,
            summary: summary,
            fallback: []
        ) { texts in
            let values = texts.compactMap(form.parse)
            return values.count == texts.count ? values : nil
        }
    }

    private init<Element>(
        _ name: String,
        _ form: ConfigurationForm<Element>,
        takesList: Bool,
        defaultText: String,
        secrecy: ConfigurationEntry.Secrecy,
        summary: String,
        fallback: Value,
        parse: @escaping @Sendable ([String]) -> Value?
    ) {
        self.entry = ConfigurationEntry(
            name: name,
            allowed: takesList ? "a list, each \(form.allowed)" : form.allowed,
            defaultText: defaultText,
            takesList: takesList,
            secrecy: secrecy,
            summary: summary
        )
        self.fallback = fallback
        self.parse = parse
    }
}
