package import AccountLinking
package import Postgres

/// A used place among the limited mails about one account.
struct ProofMailRow: RowDecodable {
    let place: Int
    let freeAt: Timestamp

    init(row: inout RowDecoder) throws(PostgresError) {
        place = Int(try row.next(Int32.self))
        freeAt = try row.next()
    }

    static func all(of user: UserID, tenant: TenantID) -> Query<ProofMailRow> {
        """
        SELECT place, free_at FROM \(table: "proof_mails")
        WHERE tenant_id = \(tenant) AND user_id = \(user)
        """
    }

    /// Frees a place that has expired. Changes nothing at any other place.
    static func deleteOver(_ place: Int32, of user: UserID, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        DELETE FROM proof_mails
        WHERE tenant_id = \(tenant) AND user_id = \(user) AND place = \(place)
            AND free_at <= \(now)
        """
    }

    /// Raises 23505 if the place is taken.
    static func insert(_ place: Int32, of user: UserID, tenant: TenantID, until freeAt: Timestamp) -> SQL {
        """
        INSERT INTO proof_mails (tenant_id, user_id, place, free_at)
        VALUES (\(tenant), \(user), \(place), \(freeAt))
        """
    }
}

extension AccountWrite.SideWrite {
    /// Counts a mail about an account's conflict at a place of `ProofMails`. If another request has taken the place
    /// meanwhile, the write is stopped.
    package static func countProofMail(to user: UserID, tenant: TenantID, place: Int, at now: Timestamp) -> Self {
        let place = Int32(place)
        let freeAt = now.adding(seconds: ProofMails.windowSeconds)
        return Self([
            ProofMailRow.deleteOver(place, of: user, tenant: tenant, at: now),
            ProofMailRow.insert(place, of: user, tenant: tenant, until: freeAt),
        ])
    }
}

extension AccountStore {
    /// The mails about conflicts of an account that still count. One round trip.
    package func proofMails(of user: UserID, tenant: TenantID) async throws(PostgresError) -> ProofMails {
        let rows = try await client.read(ProofMailRow.all(of: user, tenant: tenant))
        return ProofMails(freeAt: Dictionary(rows.map { ($0.place, $0.freeAt) }) { first, _ in first })
    }
}
