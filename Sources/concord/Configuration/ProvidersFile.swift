import AccountAPI
import AccountOperations
import JSON
import Yams

/// The registrations of providers that an operator keeps in a file (docs/providers.md): below `providers`, each under its
/// id, the fields of the admin API's items. A secret may stand in a file of its own, named by `clientSecretFile` or
/// `privateKeyFile`.
struct ProvidersFile {
    /// In the order of the file; one for each provider.
    let configs: [ProviderConfig]

    static let bytesMax = 1 << 20

    /// `readFile`: what a path holds; `nil` for what cannot be read.
    /// - Throws: every mistake in it, none of which quotes a secret.
    init(path: String, readFile: @escaping (_ path: String) -> [UInt8]?) throws(ConfigurationMistakes) {
        func mistaken(_ problem: String) -> ConfigurationMistakes {
            ConfigurationMistakes(
                all: [ConfigurationMistake(origin: .file(path, line: nil), key: nil, problem: problem)]
            )
        }
        guard let bytes = readFile(path) else {
            throw mistaken("the file cannot be read; check its path and permissions")
        }
        guard bytes.count <= Self.bytesMax else { throw mistaken("longer than a mebibyte") }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw mistaken("not UTF-8 text") }
        let root: Node?
        do {
            root = try compose(yaml: text)
        } catch {
            throw ConfigurationMistakes(all: [ConfigurationMistake(inYAML: error, path: path)])
        }
        guard let mapping = root?.mapping, mapping.count == 1, let providers = mapping["providers"]?.mapping else {
            throw mistaken("give `providers`, and below it each provider by its id")
        }
        var reading = ProvidersFileReading(path: path, readFile: readFile)
        configs = providers.compactMap { reading.config($0, $1) }
        guard reading.mistakes.isEmpty else { throw ConfigurationMistakes(all: reading.mistakes) }
    }
}

private struct ProvidersFileReading {
    let path: String
    let readFile: (_ path: String) -> [UInt8]?
    var mistakes: [ConfigurationMistake] = []
    /// How many nodes may still be read: aliases make much of a short file.
    private var nodesLeft = 10_000

    init(path: String, readFile: @escaping (_ path: String) -> [UInt8]?) {
        self.path = path
        self.readFile = readFile
    }

    mutating func config(_ id: Node, _ item: Node) -> ProviderConfig? {
        let name = id.scalar?.string ?? ""
        do {
            return try ProviderConfig(of: name, reading: try json(item))
        } catch {
            mistakes.append(
                ConfigurationMistake(origin: .file(path, line: id.mark?.line), key: name, problem: "\(error)")
            )
            return nil
        }
    }

    private struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// Scalars as texts, whatever YAML would make of them: the field they stand under says what they are.
    private mutating func json(_ node: Node) throws(Unreadable) -> JSONValue {
        nodesLeft -= 1
        guard nodesLeft > 0 else { throw Unreadable(description: "the file says too much") }
        switch node {
        case .scalar(let scalar):
            return scalar.isNothing ? .null : .string(scalar.string)
        case .sequence(let sequence):
            var items: [JSONValue] = []
            for item in sequence { items.append(try json(item)) }
            return .array(items)
        case .mapping(let mapping):
            var members: [String: JSONValue] = [:]
            for (key, value) in mapping {
                guard let name = key.scalar?.string else {
                    throw Unreadable(description: "a field has to be a plain word")
                }
                let field = Self.secretFields[name] ?? name
                guard members[field] == nil, mapping.count(where: { Self.names($0.key, field) }) == 1 else {
                    throw Unreadable(description: "\(field) is given twice; keep one")
                }
                members[field] = field == name ? try json(value) : .string(try secret(value, name))
            }
            return .object(members)
        case .alias:
            throw Unreadable(description: "an alias stands for nothing")
        }
    }

    /// By the field that names a file, the field whose value is in it.
    private static let secretFields = ["clientSecretFile": "clientSecret", "privateKeyFile": "privateKey"]
    private static let secretBytesMax = 1 << 16

    private static func names(_ key: Node, _ field: String) -> Bool {
        let name = key.scalar?.string ?? ""
        return (secretFields[name] ?? name) == field
    }

    /// What the named file holds, without the line break at its end. A relative path begins beside this file.
    private func secret(_ node: Node, _ field: String) throws(Unreadable) -> String {
        guard let name = node.scalar?.string, !name.isEmpty else {
            throw Unreadable(description: "\(field): give a path")
        }
        let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        guard let bytes = readFile(name.hasPrefix("/") ? name : directory + name) else {
            throw Unreadable(description: "\(field): \(name) cannot be read; check its path and permissions")
        }
        guard bytes.count <= Self.secretBytesMax, let text = String(validating: bytes, as: UTF8.self),
            let last = text.lastIndex(where: { !$0.isNewline })
        else { throw Unreadable(description: "\(field): \(name) holds no text") }
        return String(text[...last])
    }
}
