import Yams

/// Reads the text of a `concord.yaml`: nested or dotted keys down to scalars and lists of scalars.
///
/// Values are texts, without YAML's types: the key decides the type.
/// - Returns: the readable values, and every mistake. A text that is not YAML is one mistake.
func readConfigurationFile(
    path: String,
    text: String
) -> (settings: [ConfigurationSources.Setting], mistakes: [ConfigurationMistake]) {
    var reading = ConfigurationFileReading(path: path)
    do {
        guard let root = try compose(yaml: text) else { return ([], []) }
        reading.read(root, under: "")
    } catch {
        reading.mistakes.append(ConfigurationMistake(inYAML: error, path: path))
    }
    return (reading.settings, reading.mistakes)
}

extension ConfigurationMistake {
    /// The syntax error of a YAML text, without the excerpt that Yams adds, which may show a secret.
    init(inYAML error: any Error, path: String) {
        let (mark, problem): (Mark?, String) =
            switch error as? YamlError {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                (mark, "not YAML: \(problem)")
            case .duplicatedKeysInMapping(let duplicates, let context):
                (
                    context.mark,
                    "given twice in one group: "
                        + duplicates.map(\.description).sorted().joined(separator: ", ")
                )
            case .no, .memory, .reader, .writer, .emitter, .representer, .dataCouldNotBeDecoded:
                (nil, "not YAML in UTF-8")
            case nil:
                (nil, "not YAML")
            }
        self.init(origin: .file(path, line: mark?.line), key: nil, problem: problem)
    }
}

private struct ConfigurationFileReading {
    let path: String
    var settings: [ConfigurationSources.Setting] = []
    var mistakes: [ConfigurationMistake] = []
    private let entries = Dictionary(uniqueKeysWithValues: ConfigurationTable.entries.map { ($0.name, $0) })

    init(path: String) {
        self.path = path
    }

    mutating func refuse(_ key: String?, at mark: Mark?, _ problem: String) {
        mistakes.append(
            ConfigurationMistake(origin: .file(path, line: mark?.line), key: key, problem: problem)
        )
    }

    mutating func read(_ node: Node, under name: String) {
        guard case .mapping(let mapping) = node else {
            if name.isEmpty, isNothing(node) { return }
            let problem = name.isEmpty ? "not a group of keys" : "a group of keys; give its keys, indented, below it"
            refuse(name.isEmpty ? nil : name, at: node.mark, problem)
            return
        }
        for (keyNode, value) in mapping {
            guard case .scalar(let key) = keyNode else {
                refuse(name.isEmpty ? nil : name, at: keyNode.mark, "a key has to be a plain word")
                continue
            }
            let path = name.isEmpty ? key.string : "\(name).\(key.string)"
            if let entry = entries[path] {
                readValue(value, of: entry, at: keyNode.mark)
            } else if ConfigurationTable.entries.contains(where: { $0.name.hasPrefix(path + ".") }) {
                read(value, under: path)
            } else {
                let hint = Suggestion.nearest(to: path, among: entries.keys)
                refuse(path, at: keyNode.mark, "unknown key" + (hint.map { "; did you mean \($0)?" } ?? "; remove it"))
            }
        }
    }

    private mutating func readValue(_ node: Node, of entry: ConfigurationEntry, at mark: Mark?) {
        let texts: [String]
        switch node {
        case .scalar(let scalar) where !isNothing(node):
            texts = [scalar.string]
        case .sequence(let sequence) where entry.takesList:
            let items = sequence.compactMap { item -> String? in
                guard case .scalar(let scalar) = item, !isNothing(item) else { return nil }
                return scalar.string
            }
            guard items.count == sequence.count else {
                refuse(entry.name, at: mark, "give \(entry.allowed)")
                return
            }
            texts = items
        case .scalar:
            refuse(entry.name, at: mark, "has no value; remove it or give \(entry.allowed)")
            return
        case .sequence, .mapping, .alias:
            refuse(entry.name, at: mark, "give \(entry.allowed)")
            return
        }
        guard !settings.contains(where: { $0.name == entry.name }) else {
            refuse(entry.name, at: mark, "given twice; keep one")
            return
        }
        settings.append(
            ConfigurationSources.Setting(name: entry.name, texts: texts, origin: .file(path, line: mark?.line))
        )
    }

    private func isNothing(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node else { return false }
        return scalar.isNothing
    }
}

extension Node.Scalar {
    /// True if the scalar is a null (YAML 1.2 §10.2.1.1).
    var isNothing: Bool {
        (style == .plain || style == .any) && ["", "~", "null", "Null", "NULL"].contains(string)
    }
}
