import AccountLinking
import AccountOperations
import AccountStore
import JSON
import Yams

/// A proposed policy (docs/guides/policy.md): fields of the project's configuration, nested or dotted as in `PATCH`,
/// and below `providers` the enabled state of registered providers. Other fields do not change.
struct PolicyFile {
    let proposal: PolicyProposal
    private let path: String
    private let providerLines: [ProviderID: Int]

    /// `readFile`: reads a file; `nil` if it cannot be read.
    /// - Throws: every mistake in it.
    init(path: String, readFile: (_ path: String) -> [UInt8]?) throws(ConfigurationMistakes) {
        var reading = PolicyFileReading(path: path)
        reading.read(try composeYAMLFile(path: path, readFile: readFile))
        let settings = reading.settings()
        guard reading.mistakes.isEmpty else { throw ConfigurationMistakes(all: reading.mistakes) }
        self.path = path
        proposal = PolicyProposal(settings: settings, providers: reading.providers.mapValues(\.state))
        providerLines = reading.providers.compactMapValues(\.line)
    }

    /// Returns a mistake for each named provider that is not registered, with its line.
    func mistakes(about unregistered: [ProviderID]) -> ConfigurationMistakes {
        ConfigurationMistakes(
            all: unregistered.map { provider in
                ConfigurationMistake(
                    origin: .file(path, line: providerLines[provider]),
                    key: "providers.\(provider.rawValue)",
                    problem: "not registered; register it first, not enabled, with: concord providers apply"
                )
            }
        )
    }
}

private struct PolicyFileReading {
    let path: String
    var mistakes: [ConfigurationMistake] = []
    private(set) var providers: [ProviderID: (state: ProviderSwitch, line: Int?)] = [:]
    /// The read fields in the form of the API.
    private var body = JSONValue.object([:])
    private var named: [String] = []
    private var values = YAMLValues()

    init(path: String) {
        self.path = path
    }

    private static let removed = "removed"
    private static let fields = Dictionary(uniqueKeysWithValues: ProjectConfigField.all.map { ($0.name, $0) })
    /// Names of fields and of groups of fields.
    private static let names = ProjectConfigField.all.reduce(into: Set<String>()) { names, field in
        for length in 1...field.path.count { names.insert(field.path.prefix(length).joined(separator: ".")) }
    }

    private mutating func refuse(_ key: String?, at mark: Mark?, _ problem: String) {
        mistakes.append(ConfigurationMistake(origin: .file(path, line: mark?.line), key: key, problem: problem))
    }

    mutating func read(_ root: Node?) {
        guard let mapping = root?.mapping, !mapping.isEmpty else {
            refuse(nil, at: root?.mark, "give what is to change: fields of the project's configuration, providers")
            return
        }
        for (key, value) in mapping {
            if key.scalar?.string == "providers" {
                readProviders(value, at: key.mark)
            } else {
                read(key, value, under: nil)
            }
        }
    }

    private mutating func read(_ key: Node, _ value: Node, under parent: String?) {
        guard let word = key.scalar?.string else {
            refuse(parent, at: key.mark, "a key has to be a plain word")
            return
        }
        let name = parent.map { "\($0).\(word)" } ?? word
        if let field = Self.fields[name] {
            read(field, value, at: key.mark)
        } else if Self.fields.keys.contains(where: { $0.hasPrefix(name + ".") }) {
            guard let mapping = value.mapping else {
                refuse(name, at: key.mark, "a group of fields; give its fields, indented, below it")
                return
            }
            for (key, value) in mapping { read(key, value, under: name) }
        } else {
            let hint = Suggestion.nearest(to: name, among: Self.names)
            refuse(name, at: key.mark, "unknown field" + (hint.map { "; did you mean \($0)?" } ?? "; remove it"))
        }
    }

    private mutating func read(_ field: ProjectConfigField, _ node: Node, at mark: Mark?) {
        guard !named.contains(field.name) else {
            refuse(field.name, at: mark, "given twice; keep one")
            return
        }
        named.append(field.name)
        let value: JSONValue
        do {
            value = try values.json(node)
        } catch {
            refuse(field.name, at: mark, error.description)
            return
        }
        guard value != .null else {
            refuse(field.name, at: mark, "has no value; remove it or give one")
            return
        }
        let alone = JSONValue.object([:]).setting(value, at: field.path[...])
        do {
            let change = try ProjectConfigChange(body: alone, mask: field.name)
            if let read = change.applied(to: .object([:]))[field.path],
                let unknown = Self.member(of: value, missingFrom: read, within: field.type)
            {
                refuse("\(field.name).\(unknown)", at: mark, "unknown member; remove it")
            }
            body = body.setting(value, at: field.path[...])
        } catch {
            for mistake in error.all { refuse(nil, at: Self.mark(of: mistake.text, field, node) ?? mark, mistake.text) }
        }
    }

    /// The position of the list element that a mistake concerns, `concord.emailTrust[3].trust …`.
    private static func mark(of mistake: String, _ field: ProjectConfigField, _ node: Node) -> Mark? {
        let place = field.name + "["
        guard mistake.hasPrefix(place), let sequence = node.sequence,
            let index = Int(mistake.dropFirst(place.count).prefix { $0 != "]" }), sequence.indices.contains(index)
        else { return nil }
        return sequence[index].mark
    }

    /// Returns a member that was ignored because `type` does not have it.
    private static func member(
        of given: JSONValue,
        missingFrom read: JSONValue,
        within type: ProjectConfigType
    ) -> String? {
        switch type {
        case .message:
            let known = read.object ?? [:]
            return given.object?.keys.sorted().first { known[$0] == nil }
        case .list(let element, _):
            return zip(given.array ?? [], read.array ?? []).lazy
                .compactMap { member(of: $0, missingFrom: $1, within: element) }.first
        case .bool, .integer, .limit, .longInteger, .decimal, .text, .line, .plainText, .accentColor, .link,
            .imageDigest, .choice, .domain, .authorizedDomain, .region, .testPhoneNumbers, .emailTrust, .conflictProofs,
            .unavailable:
            return nil
        }
    }

    private mutating func readProviders(_ node: Node, at mark: Mark?) {
        guard let mapping = node.mapping else {
            refuse("providers", at: mark, "give each provider by its id")
            return
        }
        for (key, value) in mapping {
            let name = key.scalar?.string ?? ""
            let origin = "providers.\(name)"
            guard let provider = ProviderID(name) else {
                refuse(origin, at: key.mark, "not the id of a provider")
                continue
            }
            guard let state = Self.state(value) else {
                refuse(
                    origin,
                    at: key.mark,
                    """
                    give `{enabled: true}`, `{enabled: false}` or `\(Self.removed)`; anything else of a registration is \
                    changed with: concord providers apply
                    """
                )
                continue
            }
            guard providers[provider] == nil else {
                refuse(origin, at: key.mark, "given twice; keep one")
                continue
            }
            providers[provider] = (state, key.mark?.line)
        }
    }

    private static func state(_ node: Node) -> ProviderSwitch? {
        if node.scalar?.string == removed { return .removed }
        guard let mapping = node.mapping, mapping.count == 1 else { return nil }
        switch mapping["enabled"]?.scalar?.string {
        case "true": return .on
        case "false": return .off
        default: return nil
        }
    }

    /// Returns all fields; `nil` if none is named or a mistake is already reported.
    mutating func settings() -> ProjectConfigChange? {
        guard mistakes.isEmpty, !named.isEmpty else { return nil }
        do {
            return try ProjectConfigChange(body: body, mask: named.joined(separator: ","))
        } catch {
            for mistake in error.all { refuse(nil, at: nil, mistake.text) }
            return nil
        }
    }
}
