package import AccountLinking
package import Postgres

/// The key of a stored answer to a repeatable request.
package struct StoredResponseKey: Sendable, Hashable {
    package var tenant: TenantID
    /// The account that the request concerns; `nil` if none.
    package var user: UserID?
    /// SHA-256 over the caller's credential, the route and the key.
    package var digest: [UInt8]

    package init(tenant: TenantID, user: UserID?, digest: [UInt8]) {
        self.tenant = tenant
        self.user = user
        self.digest = digest
    }

    fileprivate var storedUser: String { user?.rawValue ?? "" }
}

enum StoredResponseRow {
    /// The sealed request and answer for `key`, unless they have expired at `now`.
    static func withKey(_ key: StoredResponseKey, at now: Timestamp) -> Query<Bytes> {
        """
        SELECT sealed_answer FROM \(table: "kept_answers")
        WHERE tenant_id = \(key.tenant) AND user_id = \(key.storedUser) AND key_digest = \(key.digest)
            AND expires_at > \(now)
        """
    }

    /// Raises 23505 if an answer is stored for `key`.
    static func insert(_ sealed: [UInt8], for key: StoredResponseKey, until expiry: Timestamp) -> SQL {
        """
        INSERT INTO kept_answers (tenant_id, user_id, key_digest, sealed_answer, expires_at)
        VALUES (\(key.tenant), \(key.storedUser), \(key.digest), \(sealed), \(expiry))
        """
    }

    /// Deletes the stored answer if it has expired.
    static func deleteOver(_ key: StoredResponseKey, at now: Timestamp) -> SQL {
        """
        DELETE FROM kept_answers
        WHERE tenant_id = \(key.tenant) AND user_id = \(key.storedUser) AND key_digest = \(key.digest)
            AND expires_at <= \(now)
        """
    }

    static func deleteAnswers(to user: UserID, tenant: TenantID) -> SQL {
        "DELETE FROM kept_answers WHERE tenant_id = \(tenant) AND user_id = \(user)"
    }

    static func deleteAll(tenant: TenantID) -> SQL {
        "DELETE FROM kept_answers WHERE tenant_id = \(tenant)"
    }
}

extension AccountWrite.SideWrite {
    /// Stores the sealed answer, at most 64 KiB, to the request that this write applies. If another request stored one
    /// for the same key, the write is stopped: the request was already applied.
    package static func keep(
        _ sealed: [UInt8],
        for key: StoredResponseKey,
        at now: Timestamp,
        until expiry: Timestamp
    ) -> Self {
        Self([StoredResponseRow.deleteOver(key, at: now), StoredResponseRow.insert(sealed, for: key, until: expiry)])
    }
}

extension AccountStore {
    /// The sealed answer for `key`; `nil` if there is none. One round trip.
    package func storedResponse(_ key: StoredResponseKey, at now: Timestamp) async throws(PostgresError) -> [UInt8]? {
        try await client.read(StoredResponseRow.withKey(key, at: now)).first
    }
}
