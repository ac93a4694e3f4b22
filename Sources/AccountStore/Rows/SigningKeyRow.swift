package import AccountLinking
package import Postgres

/// A stored signing key; the private half is sealed.
package struct SigningKeyRecord: Sendable, Hashable {
    package enum Purpose: String, Sendable, CaseIterable {
        case idToken = "id-token"
        case sessionCookie = "session-cookie"
    }

    package var id: String
    package var purpose: Purpose
    /// Counts from 1 within a purpose. Unique: if two servers make the same generation, one wins.
    package var generation: Int64
    /// `ES256` or `RS256`.
    package var algorithm: String
    package var sealedPrivateKey: [UInt8]
    /// DER.
    package var certificate: [UInt8]
    package var createdAt: Timestamp
    /// The key signs from then on. It is published earlier.
    package var signsFrom: Timestamp
    /// The end of publication; `nil` while the key may still sign.
    package var publishedUntil: Timestamp?

    package init(
        id: String,
        purpose: Purpose,
        generation: Int64,
        algorithm: String,
        sealedPrivateKey: [UInt8],
        certificate: [UInt8],
        createdAt: Timestamp,
        signsFrom: Timestamp,
        publishedUntil: Timestamp? = nil
    ) {
        self.id = id
        self.purpose = purpose
        self.generation = generation
        self.algorithm = algorithm
        self.sealedPrivateKey = sealedPrivateKey
        self.certificate = certificate
        self.createdAt = createdAt
        self.signsFrom = signsFrom
        self.publishedUntil = publishedUntil
    }
}

struct SigningKeyRow: RowDecodable {
    let record: SigningKeyRecord

    private static let columns = Columns<SigningKeyRecord>(
        of: "signing_keys",
        [
            Column("key_id", \.id), Column("purpose", \.purpose), Column("generation", \.generation),
            Column("algorithm", \.algorithm), Column("sealed_private_key", \.sealedPrivateKey),
            Column("certificate", \.certificate), Column("created_at", \.createdAt),
            Column("signs_from", \.signsFrom), Column("published_until", \.publishedUntil),
        ]
    )

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        record = SigningKeyRecord(
            id: try values(\.id),
            purpose: try values(\.purpose),
            generation: try values(\.generation),
            algorithm: try values(\.algorithm),
            sealedPrivateKey: try values(\.sealedPrivateKey),
            certificate: try values(\.certificate),
            createdAt: try values(\.createdAt),
            signsFrom: try values(\.signsFrom),
            publishedUntil: try values(\.publishedUntil)
        )
    }

    static let all: Query<SigningKeyRow> = "\(columns.select) ORDER BY purpose, generation"

    static func insertIfAbsent(_ key: SigningKeyRecord) -> SQL {
        "\(columns.insert(key))\nON CONFLICT (purpose, generation) DO NOTHING"
    }

    /// Sets the time when a key leaves the published set. The first server decides.
    static func retire(_ purpose: SigningKeyRecord.Purpose, generation: Int64, publishedUntil: Timestamp) -> SQL {
        """
        UPDATE signing_keys SET published_until = \(publishedUntil)
        WHERE purpose = \(purpose) AND generation = \(generation) AND published_until IS NULL
        """
    }
}

extension AccountStore {
    /// Every stored signing key, by purpose and generation.
    package func signingKeys() async throws(PostgresError) -> [SigningKeyRecord] {
        try await client.read(SigningKeyRow.all).map(\.record)
    }

    /// Stores a key unless its generation already exists. The first server decides, the others read its key.
    ///
    /// `previousPublishedUntil`: the end of publication of the previous generation.
    package func addSigningKey(
        _ key: SigningKeyRecord,
        previousPublishedUntil: Timestamp?
    ) async throws(PostgresError) {
        var batch = WriteBatch("signing-key-add")
        batch.append(SigningKeyRow.insertIfAbsent(key))
        if let previousPublishedUntil {
            batch.append(
                SigningKeyRow.retire(
                    key.purpose,
                    generation: key.generation - 1,
                    publishedUntil: previousPublishedUntil
                )
            )
        }
        try await client.write(batch)
    }
}
