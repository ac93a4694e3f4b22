import AccountLinking
import Postgres

/// How one method of a user was proven.
enum SignInMethodRow {
    static func put(_ method: SignInMethod, _ proof: UserRecord.MethodProof, for id: UserID, tenant: TenantID) -> SQL {
        let values: SQL = """
            (\(tenant), \(id), \(method.name), \(proof.proof), \(proof.provenAt))
            """
        return """
            INSERT INTO sign_in_methods (tenant_id, user_id, method, proof, proven_at)
            VALUES \(row: values)
            ON CONFLICT (tenant_id, user_id, method) DO UPDATE SET proof = excluded.proof, proven_at = excluded.proven_at
            """
    }

    static func delete(_ method: SignInMethod, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM sign_in_methods
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND method = \(method.name)
        """
    }

    /// Of many users.
    static func insertMany(_ proofs: [(UserID, SignInMethod, UserRecord.MethodProof)], tenant: TenantID) -> SQL {
        """
        INSERT INTO sign_in_methods (tenant_id, user_id, method, proof, proven_at)
        SELECT \(tenant), new.*
        FROM unnest(\(proofs.map(\.0)), \(proofs.map(\.1.name)), \(proofs.map(\.2.proof)),
            \(proofs.map(\.2.provenAt))) AS new
        """
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM sign_in_methods
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }
}
