package import AccountLinking
package import Postgres

/// A backend that acts as an administrator: the public half of its key.
package struct ServiceAccountRecord: Sendable, Hashable {
    /// The `kid` in the header of tokens that the key signs.
    package var keyID: String
    /// The account's name, in the form of an address.
    package var email: String
    /// SubjectPublicKeyInfo, DER.
    package var publicKey: [UInt8]
    package var createdAt: Timestamp

    package init(keyID: String, email: String, publicKey: [UInt8], createdAt: Timestamp) {
        self.keyID = keyID
        self.email = email
        self.publicKey = publicKey
        self.createdAt = createdAt
    }
}

struct ServiceAccountRow: RowDecodable {
    let record: ServiceAccountRecord

    private static let columns = Columns<ServiceAccountRecord>(
        of: "service_accounts",
        [
            Column("key_id", \.keyID), Column("email", \.email), Column("public_key", \.publicKey),
            Column("created_at", \.createdAt),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = ServiceAccountRecord(
            keyID: try values(\.keyID),
            email: try values(\.email),
            publicKey: try values(\.publicKey),
            createdAt: try values(\.createdAt)
        )
    }

    static func withKeyID(_ keyID: String) -> Query<ServiceAccountRow> {
        "\(columns.select) WHERE key_id = \(keyID)"
    }

    /// The keys of one name, newest first; at most as many as are tried on one token.
    static func newest(email: String) -> Query<ServiceAccountRow> {
        """
        \(columns.select)
        WHERE email = \(email) ORDER BY created_at DESC, key_id LIMIT 10
        """
    }

    static let all: Query<ServiceAccountRow> = "\(columns.select) ORDER BY created_at, key_id"

    /// Raises 23505 if the key exists.
    static func insert(_ account: ServiceAccountRecord) -> SQL { columns.insert(account) }

    static func delete(_ keyID: String) -> SQL {
        "DELETE FROM service_accounts WHERE key_id = \(keyID)"
    }
}

extension AccountStore {
    /// The account whose key is `keyID`; `nil` if there is none. One round trip.
    package func serviceAccount(keyID: String) async throws(PostgresError) -> ServiceAccountRecord? {
        try await client.read(ServiceAccountRow.withKeyID(keyID)).first?.record
    }

    /// The accounts named `email`, each with its key, newest first; at most ten. One round trip.
    package func newestServiceAccounts(email: String) async throws(PostgresError) -> [ServiceAccountRecord] {
        try await client.read(ServiceAccountRow.newest(email: email)).map(\.record)
    }

    /// Every account, the oldest first.
    package func serviceAccounts() async throws(PostgresError) -> [ServiceAccountRecord] {
        try await client.read(ServiceAccountRow.all).map(\.record)
    }

    /// Registers a key. It is valid at once.
    package func addServiceAccount(_ account: ServiceAccountRecord) async throws(PostgresError) {
        try await client.write(WriteBatch("service-account-add", [ServiceAccountRow.insert(account)]))
    }

    /// Removes a key. Its signatures become invalid at once.
    /// - Returns: `true` if there was one.
    package func removeServiceAccount(keyID: String) async throws(PostgresError) -> Bool {
        let batch = WriteBatch("service-account-remove", [ServiceAccountRow.delete(keyID)])
        return try await client.write(batch).affectedRows(0) == 1
    }
}
