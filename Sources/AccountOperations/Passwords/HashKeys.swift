package import AccountStore
import JSON

/// The secrets that imported hashes share: a signer key with its salt separator. Stored once, sealed; hashes name them.
package struct HashKeys: Sendable {
    /// `HashKeyRecord.countMax` secrets are stored already.
    package struct TooMany: Error, Sendable {}

    let store: AccountStore
    let sealer: Sealer
    let effects: Effects

    /// Bytes of the key, and of the separator.
    package static let lengthMax = 1024

    package init(store: AccountStore, sealer: Sealer, effects: Effects) {
        self.store = store
        self.sealer = sealer
        self.effects = effects
    }

    /// One round trip.
    func key(_ id: HashKeyID) async throws -> HashKey? {
        try await store.hashKey(id).map(opened)
    }

    func ids() async throws -> Set<HashKeyID> {
        Set(try await store.hashKeys().map(\.id))
    }

    /// Returns the id of these secrets, and stores new ones. Concurrent callers with the same secrets get the same id.
    ///
    /// - `key` and `saltSeparator`: at most `lengthMax` bytes each.
    func id(of key: [UInt8], saltSeparator: [UInt8]) async throws -> HashKeyID {
        while true {
            let records = try await store.hashKeys()
            for record in records {
                let known: HashKey
                do {
                    known = try opened(record)
                } catch is Sealer.OpeningFailure {
                    // A secret under another key must not block later imports.
                    continue
                }
                if known.key.equalsInConstantTime(key), known.saltSeparator.equalsInConstantTime(saltSeparator) {
                    return record.id
                }
            }
            let slot = (records.last?.slot ?? 0) + 1
            guard slot <= HashKeyRecord.countMax, let id = HashKeyID(Hexadecimal.encode(effects.randomBytes(8))) else {
                throw TooMany()
            }
            let content = JSONValue.object([
                "key": .string(Base64URL.encode(key)), "saltSeparator": .string(Base64URL.encode(saltSeparator)),
            ])
            let record = HashKeyRecord(
                slot: slot,
                id: id,
                sealedKey: try sealer.seal(Array(content.text.utf8), context: Self.context(id)),
                createdAt: effects.now()
            )
            if try await store.addHashKey(record) { return id }
        }
    }

    private func opened(_ record: HashKeyRecord) throws -> HashKey {
        let content = try JSONValue(parsing: try sealer.open(record.sealedKey, context: Self.context(record.id)))
        guard let key = content["key"]?.string.flatMap({ Base64URL.decode($0) }),
            let separator = content["saltSeparator"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw Sealer.OpeningFailure.malformed }
        return HashKey(id: record.id, key: key, saltSeparator: separator)
    }

    private static func context(_ id: HashKeyID) -> String { SealingContext.hashKey(id.rawValue) }
}
