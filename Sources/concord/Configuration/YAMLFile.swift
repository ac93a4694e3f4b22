import JSON
import Yams

/// Parses a YAML file. Returns its root; `nil` if it is empty.
///
/// `readFile`: reads a file; `nil` if it cannot be read.
/// - Throws: the error if the file is not YAML.
func composeYAMLFile(
    path: String,
    readFile: (_ path: String) -> [UInt8]?
) throws(ConfigurationMistakes) -> Node? {
    func mistaken(_ problem: String) -> ConfigurationMistakes {
        ConfigurationMistakes(
            all: [ConfigurationMistake(origin: .file(path, line: nil), key: nil, problem: problem)]
        )
    }
    guard let bytes = readFile(path) else {
        throw mistaken("the file cannot be read; check its path and permissions")
    }
    guard bytes.count <= YAMLValues.fileBytesMax else { throw mistaken("longer than 1 MiB") }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw mistaken("not UTF-8 text") }
    do {
        return try compose(yaml: text)
    } catch {
        throw ConfigurationMistakes(all: [ConfigurationMistake(inYAML: error, path: path)])
    }
}

/// Converts such a file to JSON, with scalars as texts and without YAML's types, because the field decides the type.
struct YAMLValues {
    static let fileBytesMax = 1 << 20

    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    /// Number of nodes that may still be read: aliases can expand a short file.
    private var nodesLeft = 10_000
    /// Maps a field that names a file to the field whose value the file contains.
    private let fileFields: [String: String]
    private let contents: (_ node: Node, _ field: String) throws(Unreadable) -> String

    /// - `contents`: reads the file that a field names.
    init(
        fileFields: [String: String] = [:],
        contents: @escaping (_ node: Node, _ field: String) throws(Unreadable) -> String = { _, _ in "" }
    ) {
        self.fileFields = fileFields
        self.contents = contents
    }

    mutating func json(_ node: Node) throws(Unreadable) -> JSONValue {
        nodesLeft -= 1
        guard nodesLeft > 0 else { throw Unreadable(description: "the file has too many values") }
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
                let field = fileFields[name] ?? name
                guard members[field] == nil, mapping.count(where: { names($0.key, field) }) == 1 else {
                    throw Unreadable(description: "\(field) is given twice; keep one")
                }
                members[field] = field == name ? try json(value) : .string(try contents(value, name))
            }
            return .object(members)
        case .alias:
            throw Unreadable(description: "an alias refers to nothing")
        }
    }

    private func names(_ key: Node, _ field: String) -> Bool {
        let name = key.scalar?.string ?? ""
        return (fileFields[name] ?? name) == field
    }
}
