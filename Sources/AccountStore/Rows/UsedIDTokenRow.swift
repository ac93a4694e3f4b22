package import AccountLinking
package import Postgres

/// A use of a provider's ID token to open a session.
package struct IDTokenUse: Sendable, Hashable {
    /// SHA-256 of the signed content.
    package var digest: [UInt8]
    /// The time from which no server accepts the token.
    package var expiresAt: Timestamp
    /// True if the token must not have opened a session of the account before.
    package var isFirst: Bool

    package init(digest: [UInt8], expiresAt: Timestamp, isFirst: Bool) {
        self.digest = digest
        self.expiresAt = expiresAt
        self.isFirst = isFirst
    }
}

enum UsedIDTokenRow {
    /// Raises 23505 if the token was used before and this must be the first use; 23503 if the user was deleted.
    static func insert(_ use: IDTokenUse, of user: UserID, tenant: TenantID) -> SQL {
        let values: SQL = "(\(tenant), \(user), \(use.digest), \(use.expiresAt))"
        let ending: SQL = use.isFirst ? "" : "\nON CONFLICT DO NOTHING"
        return """
            INSERT INTO used_id_tokens (tenant_id, user_id, token_digest, expires_at) VALUES \(row: values)\(ending)
            """
    }

    static func isUsed(_ digest: [UInt8], of user: UserID, tenant: TenantID) -> Query<Bool> {
        """
        SELECT EXISTS (
            SELECT 1 FROM \(table: "used_id_tokens")
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND token_digest = \(digest)
        )
        """
    }
}

extension AccountStore {
    /// Returns true if the token opened a session of `user` before. One round trip.
    package func isUsed(
        idToken digest: [UInt8],
        of user: UserID,
        tenant: TenantID
    ) async throws(PostgresError) -> Bool {
        try await client.read(UsedIDTokenRow.isUsed(digest, of: user, tenant: tenant)).first ?? false
    }
}

extension AccountWrite.SideWrite {
    /// Records that an ID token opens a session of `user`. If this must be the first use and is not, the whole write is
    /// undone.
    package static func use(_ use: IDTokenUse, of user: UserID, tenant: TenantID) -> Self {
        Self([UsedIDTokenRow.insert(use, of: user, tenant: tenant)], standsAlone: true)
    }
}
