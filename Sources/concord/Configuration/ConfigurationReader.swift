/// Hands out typed values and collects what is wrong with them, so that one run reports every mistake.
struct ConfigurationReader {
    private let settings: [String: [ConfigurationSources.Setting]]
    private let readFile: @Sendable (_ path: String) -> [UInt8]?
    private let listFolder: @Sendable (_ path: String) -> [String]?
    /// The mistakes of the sources and those found since.
    private(set) var mistakes: [ConfigurationMistake]
    /// The names of all entries asked for.
    private(set) var namesRead: Set<String> = []

    init(_ sources: ConfigurationSources) {
        settings = Dictionary(grouping: sources.settings, by: \.name)
        mistakes = sources.mistakes
        readFile = sources.readFile
        listFolder = sources.listFolder
    }

    /// The value in force. When what was written is not allowed, the mistake is kept and the default is answered.
    ///
    /// A value that is overridden is checked too: it would be a surprise on the day the override goes.
    mutating func value<Value>(_ key: ConfigurationKey<Value>) -> Value {
        namesRead.insert(key.entry.name)
        var value = key.fallback
        for setting in settings[key.entry.name] ?? [] {
            if let parsed = key.parse(setting.texts) {
                value = parsed
            } else {
                mistakes.append(
                    ConfigurationMistake(
                        origin: setting.origin,
                        key: key.entry.name,
                        problem: Self.problem(with: setting.texts, of: key.entry)
                    )
                )
            }
        }
        return value
    }

    /// The file that a setting names; keeps a mistake when it cannot be read.
    mutating func contents(of path: String, named key: some ConfigurationNaming) -> [UInt8]? {
        let bytes = readFile(path)
        if bytes == nil { refuse(key, "the file cannot be read; check its path and permissions") }
        return bytes
    }

    /// The sorted names of the files in the folder that a setting names; records a mistake if it cannot be read.
    mutating func fileNames(in path: String, named key: some ConfigurationNaming) -> [String]? {
        let names = listFolder(path)
        if names == nil { refuse(key, "the folder cannot be read; check its path and permissions") }
        return names?.sorted()
    }

    /// Keeps a mistake about a value that is allowed by itself but not in this company.
    mutating func refuse(_ key: some ConfigurationNaming, _ problem: String) {
        let name = key.entry.name
        mistakes.append(ConfigurationMistake(origin: settings[name]?.last?.origin, key: name, problem: problem))
    }

    /// Keeps a mistake about a setting that has to be there.
    mutating func requires(_ key: some ConfigurationNaming) {
        let entry = key.entry
        // A refused value is reported already.
        guard settings[entry.name] == nil, !mistakes.contains(where: { $0.key == entry.name }) else { return }
        mistakes.append(
            ConfigurationMistake(
                origin: nil,
                key: entry.name,
                problem: "required; set \(entry.variable) or \(entry.name) in concord.yaml to \(entry.allowed)"
            )
        )
    }

    private static func problem(with texts: [String], of entry: ConfigurationEntry) -> String {
        guard entry.secrecy == .shown else { return "not allowed; give \(entry.allowed)" }
        let shown = texts.map { text in
            let cut = text.unicodeScalars.count > 60 ? String(text.unicodeScalars.prefix(60)) + "…" : text
            return cut.debugDescription
        }
        return "\(shown.joined(separator: ", ")) is not allowed; give \(entry.allowed)"
    }
}

/// A key with a value of any type.
protocol ConfigurationNaming {
    var entry: ConfigurationEntry { get }
}

extension ConfigurationKey: ConfigurationNaming {}
