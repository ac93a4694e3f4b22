package import AccountLinking
package import Postgres

/// The id of a secret that imported password hashes share: 16 random hexadecimal digits.
package struct HashKeyID: CheckedText, Sendable, Hashable {
    package let rawValue: String

    /// `nil` for anything else.
    package init?(_ rawValue: String) {
        guard rawValue.utf8.count == 16,
            rawValue.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        self.rawValue = rawValue
    }
}

/// A secret that imported password hashes share, sealed.
package struct HashKeyRecord: Sendable, Hashable {
    /// Maximum number of stored secrets: the places of the table.
    package static let countMax = 100

    /// From 1.
    package var slot: Int32
    package var id: HashKeyID
    package var sealedKey: [UInt8]
    package var createdAt: Timestamp

    package init(slot: Int32, id: HashKeyID, sealedKey: [UInt8], createdAt: Timestamp) {
        self.slot = slot
        self.id = id
        self.sealedKey = sealedKey
        self.createdAt = createdAt
    }
}

struct HashKeyRow: RowDecodable {
    let record: HashKeyRecord

    private static let columns = Columns<HashKeyRecord>(
        of: "hash_keys",
        [
            Column("slot", \.slot), Column("key_id", \.id), Column("sealed_key", \.sealedKey),
            Column("created_at", \.createdAt),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = HashKeyRecord(
            slot: try values(\.slot),
            id: try values(\.id),
            sealedKey: try values(\.sealedKey),
            createdAt: try values(\.createdAt)
        )
    }

    static let all: Query<HashKeyRow> = "\(columns.select) ORDER BY slot"

    static func withID(_ id: HashKeyID) -> Query<HashKeyRow> {
        "\(columns.select) WHERE key_id = \(id)"
    }

    /// Raises 23505 if the slot is taken.
    static func insert(_ key: HashKeyRecord) -> SQL { columns.insert(key) }
}

extension AccountStore {
    /// Every secret, by slot.
    package func hashKeys() async throws(PostgresError) -> [HashKeyRecord] {
        try await client.read(HashKeyRow.all).map(\.record)
    }

    /// A secret; `nil` if there is none. One round trip.
    package func hashKey(_ id: HashKeyID) async throws(PostgresError) -> HashKeyRecord? {
        try await client.read(HashKeyRow.withID(id)).first?.record
    }

    /// Stores a secret in its slot.
    /// - Returns: `true` if the slot was free.
    package func addHashKey(_ key: HashKeyRecord) async throws(PostgresError) -> Bool {
        var batch = WriteBatch("hash-key-add")
        batch.append(HashKeyRow.insert(key))
        do {
            try await client.write(batch)
            return true
        } catch {
            if error.code == .server(.uniqueViolation) { return false }
            throw error
        }
    }
}
