import AccountLinking
import Postgres

/// The profile row of one linked identity.
enum LinkedProviderRow {
    static func put(_ provider: UserRecord.LinkedProvider, for id: UserID, tenant: TenantID) -> SQL {
        let values: SQL = """
            (\(tenant), \(id), \(provider.identity.provider),
            \(provider.identity.subject), \(provider.issuer), \(provider.email), \(provider.email?.canonical),
            \(provider.displayName), \(provider.photoURL), \(provider.screenName),
            \(provider.linkedAt), \(provider.updatedAt))
            """
        return """
            INSERT INTO linked_providers (tenant_id, user_id, provider_id, subject, issuer, email, email_key,
                display_name, photo_url, screen_name, linked_at, updated_at)
            VALUES \(row: values)
            ON CONFLICT (tenant_id, user_id, provider_id) DO UPDATE SET subject = excluded.subject,
                issuer = excluded.issuer, email = excluded.email, email_key = excluded.email_key,
                display_name = excluded.display_name, photo_url = excluded.photo_url, screen_name = excluded.screen_name,
                linked_at = excluded.linked_at, updated_at = excluded.updated_at
            """
    }

    /// The issuers under which linked identities of a provider were verified. Of imported ones none is known.
    static func issuers(of provider: ProviderID, tenant: TenantID) -> Query<String?> {
        """
        SELECT DISTINCT issuer FROM \(table: "linked_providers")
        WHERE tenant_id = \(tenant) AND provider_id = \(provider) AND issuer IS NOT NULL
        """
    }

    static func delete(_ provider: ProviderID, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM linked_providers
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND provider_id = \(provider)
        """
    }

    /// Of many users.
    static func insertMany(_ providers: [(UserID, UserRecord.LinkedProvider)], tenant: TenantID) -> SQL {
        """
        INSERT INTO linked_providers (tenant_id, user_id, provider_id, subject, issuer, email, email_key,
            display_name, photo_url, screen_name, linked_at, updated_at)
        SELECT \(tenant), new.*
        FROM unnest(\(providers.map(\.0)), \(providers.map(\.1.identity.provider)),
            \(providers.map(\.1.identity.subject)), \(providers.map(\.1.issuer)),
            \(providers.map { $0.1.email }), \(providers.map { $0.1.email?.canonical }),
            \(providers.map(\.1.displayName)), \(providers.map(\.1.photoURL)), \(providers.map(\.1.screenName)),
            \(providers.map(\.1.linkedAt)), \(providers.map(\.1.updatedAt))) AS new
        """
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM linked_providers
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }
}
