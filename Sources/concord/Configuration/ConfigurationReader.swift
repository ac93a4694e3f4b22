/// Reads typed values and collects mistakes, so that one run reports every mistake.
struct ConfigurationReader {
    private let settings: [String: [ConfigurationSources.Setting]]
    private let readFile: @Sendable (_ path: String) -> [UInt8]?
    private let listFolder: @Sendable (_ path: String) -> [String]?
    /// The mistakes of the sources and those found since.
    private(set) var mistakes: [ConfigurationMistake]
    /// The names of all read entries.
    private(set) var namesRead: Set<String> = []

    init(_ sources: ConfigurationSources) {
        settings = Dictionary(grouping: sources.settings, by: \.name)
        mistakes = sources.mistakes
        readFile = sources.readFile
        listFolder = sources.listFolder
    }

    /// Returns the effective value. If it is not allowed, records a mistake and returns the default.
    ///
    /// Checks overridden values too, because they become effective when the override is removed. The value of a secret
    /// may be in a file.
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
        if let file = key.entry.file, let secret = secret(key, in: file) { value = secret }
        return value
    }

    /// Returns true if a source gives a value.
    func isSet(_ key: some ConfigurationNaming) -> Bool { settings[key.entry.name] != nil }

    /// Returns the value in the file that the setting `file` names; `nil` if there is none, or after a mistake.
    private mutating func secret<Value>(_ key: ConfigurationKey<Value>, in file: ConfigurationEntry) -> Value? {
        namesRead.insert(file.name)
        guard let path = settings[file.name]?.last?.texts.first else { return nil }
        func refuse(_ problem: String) -> Value? {
            mistakes.append(
                ConfigurationMistake(origin: settings[file.name]?.last?.origin, key: file.name, problem: problem)
            )
            return nil
        }
        guard settings[key.entry.name] == nil else { return refuse("excludes \(key.entry.name); keep one of them") }
        guard let bytes = readFile(path) else {
            return refuse("the file cannot be read; check its path and permissions")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return refuse("the file is not UTF-8 text") }
        let lines = Self.values(inLinesOf: text, takesList: key.entry.takesList)
        guard !lines.isEmpty else { return refuse("the file holds no value; give \(key.entry.allowed)") }
        guard let value = key.parse(lines) else {
            let place = key.entry.takesList ? "a line of" : "the first line of"
            return refuse("\(place) the file is not allowed; give \(key.entry.allowed)")
        }
        return value
    }

    /// The first line, or for a list every line without comments and spaces.
    private static func values(inLinesOf text: String, takesList: Bool) -> [String] {
        let lines = text.split(whereSeparator: \.isNewline)
        guard takesList else { return lines.prefix(1).map(String.init) }
        return lines.map { line in String(line.prefix { $0 != "#" }.filter { !$0.isWhitespace }) }
            .filter { !$0.isEmpty }
    }

    /// Reads the file that a setting names. Records a mistake if it cannot be read.
    mutating func contents(of path: String, named key: some ConfigurationNaming) -> [UInt8]? {
        let bytes = readFile(path)
        if bytes == nil { refuse(key, "the file cannot be read; check its path and permissions") }
        return bytes
    }

    /// Returns the sorted names of the files in the folder that a setting names. Records a mistake if it cannot be
    /// read.
    mutating func fileNames(in path: String, named key: some ConfigurationNaming) -> [String]? {
        let names = listFolder(path)
        if names == nil { refuse(key, "the folder cannot be read; check its path and permissions") }
        return names?.sorted()
    }

    /// Records a mistake about a value that is valid alone, but not with other settings. Names the setting that gave
    /// the value.
    mutating func refuse(_ key: some ConfigurationNaming, _ problem: String) {
        var name = key.entry.name
        if settings[name] == nil, let file = key.entry.file?.name, settings[file] != nil { name = file }
        mistakes.append(ConfigurationMistake(origin: settings[name]?.last?.origin, key: name, problem: problem))
    }

    /// Records a mistake about a missing setting.
    mutating func requires(_ key: some ConfigurationNaming) {
        let entry = key.entry
        // A refused value is already reported.
        let names = [entry.name, entry.file?.name].compactMap(\.self)
        guard names.allSatisfy({ settings[$0] == nil }), !mistakes.contains(where: { $0.key == entry.name }) else {
            return
        }
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
