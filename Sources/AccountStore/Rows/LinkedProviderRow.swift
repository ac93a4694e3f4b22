import AccountLinking
import Postgres

/// The profile of one linked identity.
struct LinkedProviderRow {
    fileprivate let tenant: TenantID
    fileprivate let user: UserID
    fileprivate let provider: UserRecord.LinkedProvider

    fileprivate static let columns = Columns<LinkedProviderRow>(
        of: "linked_providers",
        key: [
            Column(written: "tenant_id", \.tenant), Column(written: "user_id", \.user),
            Column("provider_id", \.provider.identity.provider),
        ],
        [
            Column("subject", \.provider.identity.subject), Column("issuer", \.provider.issuer),
            Column("email", \.provider.email?.raw), Column(written: "email_key") { $0.provider.email?.canonical },
            Column("display_name", \.provider.displayName), Column("photo_url", \.provider.photoURL),
            Column("screen_name", \.provider.screenName), Column("linked_at", \.provider.linkedAt),
            Column("updated_at", \.provider.updatedAt),
        ]
    )

    /// The columns that `readLinkedProvider` reads.
    static var names: SQL { columns.qualifiedNames }

    static func put(_ provider: UserRecord.LinkedProvider, for id: UserID, tenant: TenantID) -> SQL {
        let row = LinkedProviderRow(tenant: tenant, user: id, provider: provider)
        return columns.insert(row, replaces: true, isShared: true)
    }

    /// The first and the last of the issuers under which linked identities of a provider were verified. Imported
    /// identities have none. Two lookups in an index, however many identities there are.
    static func issuers(of provider: ProviderID, tenant: TenantID) -> Query<IssuerRangeRow> {
        """
        SELECT min(issuer), max(issuer) FROM \(table: "linked_providers")
        WHERE tenant_id = \(tenant) AND provider_id = \(provider) AND issuer IS NOT NULL
        """
    }

    static func delete(_ provider: ProviderID, of id: UserID, tenant: TenantID) -> SQL {
        """
        DELETE FROM linked_providers
        WHERE tenant_id = \(tenant) AND user_id = \(id) AND provider_id = \(provider)
        """
    }

    /// Inserts the providers of many users.
    static func insertMany(_ providers: [(UserID, UserRecord.LinkedProvider)], tenant: TenantID) -> SQL {
        columns.insertMany(
            providers.map { LinkedProviderRow(tenant: tenant, user: $0, provider: $1) },
            tenant: tenant
        )
    }

    static func deleteAll(of ids: [UserID], tenant: TenantID) -> SQL {
        """
        DELETE FROM linked_providers
        WHERE tenant_id = \(tenant) AND user_id = ANY(\(ids))
        """
    }
}

/// The ends of a range of issuers, `nil` if it is empty. They are equal if all issuers are.
struct IssuerRangeRow: RowDecodable {
    private let first: String?
    private let last: String?

    var issuers: Set<String?> { Set([first, last].filter { $0 != nil }) }

    init(row: inout RowDecoder) throws(PostgresError) {
        first = try row.next()
        last = try row.next()
    }
}

extension UserRecord {
    /// Reads the linked provider in the next columns of an outer join, if there is one.
    mutating func readLinkedProvider(_ row: inout RowDecoder) throws(PostgresError) {
        var values = LinkedProviderRow.columns.values(&row)
        guard let id = try values.optional(\.provider.identity.provider) else { return }
        guard let identity = ProviderIdentity(provider: id, subject: try values(\.provider.identity.subject))
        else { throw .unreadable("linked_providers.subject") }
        linkedProviders[id] = LinkedProvider(
            identity: identity,
            issuer: try values(\.provider.issuer),
            // A provider may report any text.
            email: try values(\.provider.email?.raw).flatMap(EmailAddress.init),
            displayName: try values(\.provider.displayName),
            photoURL: try values(\.provider.photoURL),
            screenName: try values(\.provider.screenName),
            linkedAt: try values(\.provider.linkedAt),
            updatedAt: try values(\.provider.updatedAt)
        )
    }
}
