import AccountAPI
import AccountOperations
import Yams

/// The file with the registrations of providers (docs/guides/providers.md): below `providers`, by id, the fields of the
/// admin API's items. `clientSecretFile` and `privateKeyFile` name separate files for secrets.
struct ProvidersFile {
    /// One registration for each provider, in the order of the file.
    let configs: [ProviderConfig]

    static let bytesMax = YAMLValues.fileBytesMax

    /// `readFile`: reads a file; `nil` if it cannot be read.
    /// - Throws: every mistake in it, none of which quotes a secret.
    init(path: String, readFile: @escaping (_ path: String) -> [UInt8]?) throws(ConfigurationMistakes) {
        let root = try composeYAMLFile(path: path, readFile: readFile)
        guard let mapping = root?.mapping, mapping.count == 1, let providers = mapping["providers"]?.mapping else {
            throw ConfigurationMistakes(
                all: [
                    ConfigurationMistake(
                        origin: .file(path, line: nil),
                        key: nil,
                        problem: "give `providers`, and below it each provider by its id"
                    )
                ]
            )
        }
        var reading = ProvidersFileReading(path: path, readFile: readFile)
        configs = providers.compactMap { reading.config($0, $1) }
        guard reading.mistakes.isEmpty else { throw ConfigurationMistakes(all: reading.mistakes) }
    }
}

private struct ProvidersFileReading {
    let path: String
    var mistakes: [ConfigurationMistake] = []
    private var values: YAMLValues

    init(path: String, readFile: @escaping (_ path: String) -> [UInt8]?) {
        self.path = path
        values = YAMLValues(
            fileFields: ["clientSecretFile": "clientSecret", "privateKeyFile": "privateKey"],
            contents: { node, field throws(YAMLValues.Unreadable) in
                try Self.secret(node, field, beside: path, readFile)
            }
        )
    }

    mutating func config(_ id: Node, _ item: Node) -> ProviderConfig? {
        let name = id.scalar?.string ?? ""
        do {
            return try ProviderConfig(of: name, reading: try values.json(item))
        } catch {
            mistakes.append(
                ConfigurationMistake(origin: .file(path, line: id.mark?.line), key: name, problem: "\(error)")
            )
            return nil
        }
    }

    private static let secretBytesMax = 1 << 16

    /// Reads the named file, without the final line break. A relative path is relative to the folder of this file.
    private static func secret(
        _ node: Node,
        _ field: String,
        beside path: String,
        _ readFile: (_ path: String) -> [UInt8]?
    ) throws(YAMLValues.Unreadable) -> String {
        guard let name = node.scalar?.string, !name.isEmpty else {
            throw YAMLValues.Unreadable(description: "\(field): give a path")
        }
        let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        guard let bytes = readFile(name.hasPrefix("/") ? name : directory + name) else {
            throw YAMLValues.Unreadable(description: "\(field): \(name) cannot be read; check its path and permissions")
        }
        guard bytes.count <= secretBytesMax, let text = String(validating: bytes, as: UTF8.self),
            let last = text.lastIndex(where: { !$0.isNewline })
        else { throw YAMLValues.Unreadable(description: "\(field): \(name) holds no text") }
        return String(text[...last])
    }
}
