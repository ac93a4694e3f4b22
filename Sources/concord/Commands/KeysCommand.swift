import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord keys`: the key-encryption keys and the signing keys.
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "List keys, rotate them, and reseal the values of old ones.",
        subcommands: [List.self, Reseal.self, Rotate.self]
    )
}

extension KeysCommand {
    /// `concord keys list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the key-encryption keys with the values that each seals, and the signing keys.",
            discussion: """
                Prints no key, only ids. Counts every sealed value in the database; the count reads whole tables. A \
                key with the state unused can be removed from the configuration, unless it is the next key.

                EXAMPLES
                  concord keys list
                  concord keys list --format json
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let serving = try ServeConfiguration(try configuration.sources())
            let now = Effects.system.now()
            let listing = try await withClient(serving.database.postgres) { client in
                let store = AccountStore(client: client)
                let uses = try await SealedValues(store: store, sealer: try Sealer(serving.keys)).uses()
                return KeyListing(
                    configured: serving.keys.all.map { String($0.id) },
                    uses: uses,
                    signingKeys: try await ListedSigningKey.all(store, at: now)
                )
            }
            try say(format == .json ? listing.json.text : listing.text(at: now))
        }
    }
}

/// The keys of a project and their uses, in the output formats.
struct KeyListing {
    /// The ids of the configured keys, the current one first.
    let configured: [String]
    let uses: [SealedValues.Use]
    let signingKeys: [ListedSigningKey]

    /// The state of a key-encryption key.
    enum State: String {
        /// Seals new values.
        case current
        /// Opens values that it sealed before.
        case used
        /// Seals no value: can be removed, unless it is the next key.
        case unused
        /// Seals values, and is not configured.
        case missing
    }

    /// Every id with its state and its number of values: the current key first, then by id.
    var keys: [(id: String, state: State, count: Int64)] {
        let counts = Dictionary(uses.compactMap { use in use.keyID.map { ($0, use.count) } }, uniquingKeysWith: +)
        let others = Set(counts.keys).union(configured).subtracting(configured.prefix(1))
        return (configured.prefix(1) + others.sorted { KeyOrder.precedes($0, $1) }).map { id in
            let count = counts[id] ?? 0
            let state: State =
                if id == configured.first {
                    .current
                } else if !configured.contains(id) {
                    .missing
                } else {
                    count == 0 ? .unused : .used
                }
            return (id, state, count)
        }
    }

    /// Number of values that name no key.
    var malformedCount: Int64 { uses.filter { $0.keyID == nil }.reduce(0) { $0 + $1.count } }

    func text(at now: Timestamp) -> String {
        let ofKeys = [["KEY", "STATE", "VALUES"]] + keys.map { [$0.id, $0.state.rawValue, grouped($0.count)] }
        let ofColumns =
            [["SEALED COLUMN", "KEY", "VALUES"]]
            + uses.map { [$0.column.rawValue, $0.keyID ?? "-", grouped($0.count)] }
        let ofSigningKeys =
            [["SIGNING KEY", "OF", "ALGORITHM", "AGE", "STATE"]]
            + signingKeys.map { key in
                [
                    String(key.id.prefix(12)), key.purpose.rawValue, key.algorithm,
                    OutboxCommand.age(now.secondsSinceEpoch - key.createdAt.secondsSinceEpoch), key.stateText,
                ]
            }
        var parts = [TextTable.text(ofKeys)]
        if !uses.isEmpty { parts.append(TextTable.text(ofColumns)) }
        if !signingKeys.isEmpty { parts.append(TextTable.text(ofSigningKeys)) }
        let advice = advice
        if !advice.isEmpty { parts.append(advice.joined(separator: "\n")) }
        return parts.joined(separator: "\n\n")
    }

    /// The next step for each state that needs one.
    private var advice: [String] {
        keys.compactMap { key in
            switch key.state {
            case .current: nil
            case .used: "key \(key.id) is still needed: run concord keys reseal"
            case .unused: "key \(key.id) seals no value: it can be removed, unless it is the next key"
            case .missing: "key \(key.id) is not configured: add it, or its values cannot be read"
            }
        }
            + (malformedCount > 0 ? ["\(values(malformedCount)) name no key: nothing can read them"] : [])
    }

    var json: JSONValue {
        .object([
            "encryptionKeys": .array(
                keys.map { key in
                    .object([
                        "id": .string(key.id), "state": .string(key.state.rawValue), "values": .integer(key.count),
                    ])
                }
            ),
            "sealedValues": .array(
                uses.map { use in
                    .object([
                        "column": .string(use.column.rawValue), "key": use.keyID.map { .string($0) } ?? .null,
                        "values": .integer(use.count),
                    ])
                }
            ),
            "signingKeys": .array(
                signingKeys.map { key in
                    var fields: [String: JSONValue] = [
                        "id": .string(key.id), "purpose": .string(key.purpose.rawValue),
                        "generation": .integer(key.generation), "algorithm": .string(key.algorithm),
                        "state": .string(key.state.rawValue), "createdAt": .string(RFC3339.text(key.createdAt)),
                        "signsFrom": .string(RFC3339.text(key.signsFrom)),
                    ]
                    fields["publishedUntil"] = key.publishedUntil.map { .string(RFC3339.text($0)) }
                    return .object(fields)
                }
            ),
        ])
    }
}

extension ListedSigningKey {
    /// The state with the time at which it ends.
    fileprivate var stateText: String {
        switch state {
        case .next: "next (signs from \(RFC3339.text(signsFrom)))"
        case .retired: publishedUntil.map { "retired (verifies until \(RFC3339.text($0)))" } ?? "retired"
        case .signing, .expired: state.rawValue
        }
    }
}

/// `1 value`, `2 values`.
func values(_ count: Int64) -> String { "\(grouped(count)) \(count == 1 ? "value" : "values")" }
