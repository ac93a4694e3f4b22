import AccountLinking
import Postgres

/// The proof of one method of a user.
struct SignInMethodRow {
    fileprivate let tenant: TenantID
    fileprivate let user: UserID
    fileprivate let method: SignInMethod
    fileprivate let proof: UserRecord.MethodProof

    fileprivate static let columns = Columns<SignInMethodRow>(
        of: "sign_in_methods",
        key: [
            Column(written: "tenant_id", \.tenant), Column(written: "user_id", \.user), Column("method", \.method),
        ],
        [Column("proof", \.proof.proof), Column("proven_at", \.proof.provenAt)]
    )

    /// The columns that `readMethodProof` reads.
    static var names: SQL { columns.qualifiedNames }

    static func put(_ method: SignInMethod, _ proof: UserRecord.MethodProof, for id: UserID, tenant: TenantID) -> SQL {
        let row = SignInMethodRow(tenant: tenant, user: id, method: method, proof: proof)
        return columns.insert(row, replaces: true, isShared: true)
    }

    static func delete(_ method: SignInMethod, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM sign_in_methods
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND method = \(method.name)
        """
    }

    /// Inserts the proofs of many users.
    static func insertMany(_ proofs: [(UserID, SignInMethod, UserRecord.MethodProof)], tenant: TenantID) -> SQL {
        columns.insertMany(
            proofs.map { SignInMethodRow(tenant: tenant, user: $0, method: $1, proof: $2) },
            tenant: tenant
        )
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM sign_in_methods
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }
}

extension UserRecord {
    /// Reads the method in the next columns of an outer join, if there is one.
    mutating func readMethodProof(_ row: inout RowDecoder) throws(PostgresError) {
        var values = SignInMethodRow.columns.values(&row)
        guard let method = try values.optional(\.method) else { return }
        methodProofs[method] = MethodProof(proof: try values(\.proof.proof), provenAt: try values(\.proof.provenAt))
    }
}
