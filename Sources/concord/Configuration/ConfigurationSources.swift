/// The raw settings of the file, the environment and the flags.
struct ConfigurationSources: Sendable {
    /// A setting as written.
    struct Setting: Sendable, Hashable {
        let name: String
        let texts: [String]
        let origin: ConfigurationOrigin
    }

    /// The prefix of variables. An unknown variable with this prefix is a mistake.
    static let variablePrefix = "CONCORD_"
    /// The variable that names the file if no flag does.
    static let fileVariable = "CONCORD_CONFIG"
    /// The variable that marks the database of `concord dev` for commands. It is not a setting: servers ignore it.
    static let developmentVariable = "CONCORD_DEVELOPMENT"

    /// The settings in the order of precedence: the last one of a name is effective.
    private(set) var settings: [Setting] = []
    /// The texts that could not be parsed.
    private(set) var mistakes: [ConfigurationMistake] = []
    /// True if the database belongs to a development server.
    let isBesideDevelopment: Bool
    /// Reads a file that a setting names; `nil` if it cannot be read.
    let readFile: @Sendable (_ path: String) -> [UInt8]?
    /// Lists the names in a folder that a setting names; `nil` if it cannot be read.
    let listFolder: @Sendable (_ path: String) -> [String]?

    /// - Parameters:
    ///   - file: the path of a `concord.yaml` and its text, or `nil` for none.
    ///   - environment: all variables of the process.
    ///   - readFile: reads a file that a setting names; `nil` if it cannot be read.
    ///   - listFolder: lists the names in a folder that a setting names; `nil` if it cannot be read.
    init(
        file: (path: String, text: String)?,
        environment: [String: String],
        readFile: @escaping @Sendable (_ path: String) -> [UInt8]?,
        listFolder: @escaping @Sendable (_ path: String) -> [String]? = { _ in nil }
    ) {
        self.readFile = readFile
        self.listFolder = listFolder
        if let file {
            let (settings, mistakes) = readConfigurationFile(path: file.path, text: file.text)
            self.settings = settings
            self.mistakes = mistakes
        }
        isBesideDevelopment = environment[Self.developmentVariable] != nil
        add(environment)
    }

    private mutating func add(_ environment: [String: String]) {
        let entries = Dictionary(uniqueKeysWithValues: ConfigurationTable.entries.map { ($0.variable, $0) })
        for (variable, value) in environment.sorted(by: { $0.key < $1.key })
        where variable.hasPrefix(Self.variablePrefix)
            && ![Self.fileVariable, Self.developmentVariable].contains(variable)
        {
            guard let entry = entries[variable] else {
                if Self.isServiceLink(variable) { continue }
                let hint = Suggestion.nearest(to: variable, among: entries.keys)
                mistakes.append(
                    ConfigurationMistake(
                        origin: .variable(variable),
                        key: nil,
                        problem: "unknown variable" + (hint.map { "; did you mean \($0)?" } ?? "; remove it")
                    )
                )
                continue
            }
            guard !value.isEmpty else {
                mistakes.append(
                    ConfigurationMistake(
                        origin: .variable(variable),
                        key: entry.name,
                        problem: "set but empty; unset it or give \(entry.allowed)"
                    )
                )
                continue
            }
            let texts = entry.takesList ? Self.split(value) : [value]
            settings.append(Setting(name: entry.name, texts: texts, origin: .variable(variable)))
        }
    }

    private static func split(_ list: String) -> [String] {
        list.split(separator: ",", omittingEmptySubsequences: false).map { item in
            var item = item
            while item.first == " " { item.removeFirst() }
            while item.last == " " { item.removeLast() }
            return String(item)
        }
    }

    /// Returns true for a variable that Kubernetes sets in every pod beside a service named `concord`, which is not a
    /// mistake.
    static func isServiceLink(_ variable: String) -> Bool {
        let rest = variable.dropFirst(variablePrefix.count)
        if rest == "PORT" || rest == "SERVICE_HOST" || rest == "SERVICE_PORT" || rest.hasPrefix("SERVICE_PORT_") {
            return true
        }
        let parts = rest.split(separator: "_", omittingEmptySubsequences: false)
        return parts.count >= 3 && parts[0] == "PORT" && decimal(parts[1]) != nil
            && ["TCP", "UDP", "SCTP"].contains(parts[2])
    }
}
