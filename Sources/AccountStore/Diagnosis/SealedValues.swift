package import AccountLinking
package import Postgres

/// The number of sealed values of one table under one key-encryption key.
package struct SealedValues: Sendable, Hashable, RowDecodable {
    package let keyID: String
    package let table: String
    package let count: Int64

    package init(row: inout RowDecoder) throws(PostgresError) {
        keyID = try row.next()
        table = try row.next()
        count = try row.next()
    }

    /// A sealed value begins with its format, the length of the key's id and the id. A test compares the columns with
    /// those of the schema.
    static let all: Query<SealedValues> = """
        SELECT encode(substring(sealed.value FROM 3 FOR get_byte(sealed.value, 1)), 'escape'), sealed.place, count(*)
        FROM (
            SELECT 'conflicts' AS place, sealed_credential AS value FROM \(table: "conflicts")
            UNION ALL SELECT 'conflicts', proof_sealed_code FROM conflicts
            UNION ALL SELECT 'factor_challenges', sealed_content FROM factor_challenges
            UNION ALL SELECT 'hash_keys', sealed_key FROM hash_keys
            UNION ALL SELECT 'kept_answers', sealed_answer FROM kept_answers
            UNION ALL SELECT 'outbox', sealed_payload FROM outbox
            UNION ALL SELECT 'phone_verifications', sealed_code FROM phone_verifications
            UNION ALL SELECT 'provider_configs', sealed_client_secret FROM provider_configs
            UNION ALL SELECT 'provider_configs', sealed_apple_key FROM provider_configs
            UNION ALL SELECT 'provider_flows', sealed_flow FROM provider_flows
            UNION ALL SELECT 'second_factors', sealed_secret FROM second_factors
            UNION ALL SELECT 'short_codes', sealed_code FROM short_codes
            UNION ALL SELECT 'signing_keys', sealed_private_key FROM signing_keys
            UNION ALL SELECT 'webhook_endpoints', sealed_secret FROM webhook_endpoints
            UNION ALL SELECT 'webhook_endpoints', sealed_older_secret FROM webhook_endpoints
        ) AS sealed
        WHERE length(sealed.value) >= 2
        GROUP BY 1, 2 ORDER BY 1, 2
        """

    /// Expired rows of the largest tables, at most `countMax` of each.
    static func expired(before cutoff: Timestamp, countMax: Int64) -> Query<Int64> {
        """
        SELECT count(*) FROM (
            (SELECT 1 FROM \(table: "conflicts") WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM one_time_codes WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM kept_answers WHERE expires_at < \(cutoff) LIMIT \(countMax))
            UNION ALL (SELECT 1 FROM outbox WHERE expires_at < \(cutoff) LIMIT \(countMax))
        ) AS expired
        """
    }
}

extension AccountStore {
    /// Counts the sealed values of each table by their key. Reads every one of them.
    package func sealedValues() async throws(PostgresError) -> [SealedValues] {
        try await client.read(SealedValues.all)
    }

    /// The number of rows that expired before `cutoff` and still exist, up to a few times `countMax`.
    package func expiredRowCount(before cutoff: Timestamp, countMax: Int64) async throws(PostgresError) -> Int64 {
        try await client.read(SealedValues.expired(before: cutoff, countMax: countMax)).first ?? 0
    }
}
