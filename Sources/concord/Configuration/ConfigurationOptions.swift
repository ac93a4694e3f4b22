import ArgumentParser
import FoundationEssentials

/// The flag that names the configuration file, for every command with a configuration.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "Configuration file. Default: the file that CONCORD_CONFIG names, or else concord.yaml in the working "
                + "directory, if it exists.",
            valueName: "file"
        )
    )
    var path: String?

    /// The raw settings of file and environment.
    /// - Throws: `ConfigurationMistakes` if a named file cannot be read.
    func sources() throws(ConfigurationMistakes) -> ConfigurationSources {
        try Self.sources(
            path: path,
            environment: ProcessInfo.processInfo.environment,
            readFile: { path in FileManager.default.contents(atPath: path).map(Array.init) },
            listFolder: { path in try? FileManager.default.contentsOfDirectory(atPath: path) }
        )
    }

    static func sources(
        path: String?,
        environment: [String: String],
        readFile: @escaping @Sendable (_ path: String) -> [UInt8]?,
        listFolder: @escaping @Sendable (_ path: String) -> [String]? = { _ in nil }
    ) throws(ConfigurationMistakes) -> ConfigurationSources {
        let named = path ?? environment[ConfigurationSources.fileVariable]
        let file = named ?? "concord.yaml"
        guard let bytes = readFile(file) else {
            guard named != nil else {
                return ConfigurationSources(
                    file: nil,
                    environment: environment,
                    readFile: readFile,
                    listFolder: listFolder
                )
            }
            throw mistake(in: file, "the file cannot be read; check its path and permissions")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw mistake(in: file, "not UTF-8 text") }
        return ConfigurationSources(
            file: (file, text),
            environment: environment,
            readFile: readFile,
            listFolder: listFolder
        )
    }

    private static func mistake(in file: String, _ problem: String) -> ConfigurationMistakes {
        ConfigurationMistakes(
            all: [ConfigurationMistake(origin: .file(file, line: nil), key: nil, problem: problem)]
        )
    }
}
