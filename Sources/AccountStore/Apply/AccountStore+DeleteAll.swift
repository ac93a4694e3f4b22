package import AccountLinking
package import Postgres

extension AccountStore {
    /// Deletes every account of the tenant with its codes, and frees every identifier. For development only.
    package func deleteAllUsers(tenant: TenantID, at now: Timestamp) async throws(PostgresError) {
        var batch = WriteBatch("delete-all-users")
        batch.append(UserRow.deleteAll(tenant: tenant, at: now))
        // An account created during the first statement keeps its codes and claims.
        batch.append(EmailCodeRow.deleteOrphans(tenant: tenant))
        batch.append(IdentifierRow.releaseOrphans(tenant: tenant))
        batch.append(StoredResponseRow.deleteAll(tenant: tenant))
        batch.append(PasswordAttemptRow.deleteAllSources(tenant: tenant))
        // Their uids become free.
        batch.append(MergeRow.deleteAll(tenant: tenant))
        try await client.write(batch)
    }
}
