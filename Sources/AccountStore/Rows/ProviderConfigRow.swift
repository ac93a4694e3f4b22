package import AccountLinking
import JSON
package import Postgres

/// A registered identity provider. Its secrets are sealed.
package struct ProviderConfigRecord: Sendable, Hashable {
    package var provider: ProviderID
    package var isEnabled: Bool
    package var displayName: String?
    package var clientID: String?
    package var sealedClientSecret: [UInt8]?
    /// `oidc.*` only.
    package var issuer: String?
    package var acceptsIDTokens: Bool
    package var acceptsAuthorizationCodes: Bool
    package var appleBundleIDs: [String]
    package var appleTeamID: String?
    package var appleKeyID: String?
    package var sealedAppleKey: [UInt8]?
    /// The provider's addresses, by their names, if they differ from the public ones.
    package var addresses: [String: String] = [:]
    /// `oidc.*` only: the domains whose mailboxes the provider assigns, in canonical form.
    package var emailDomains: [String] = []

    package init(provider: ProviderID, isEnabled: Bool) {
        self.provider = provider
        self.isEnabled = isEnabled
        self.acceptsIDTokens = true
        self.acceptsAuthorizationCodes = false
        self.appleBundleIDs = []
    }
}

extension ProviderConfigRecord {
    fileprivate var storedAddresses: JSONValue? { .object(addresses.mapValues(JSONValue.string)) }
}

struct ProviderConfigRow: RowDecodable {
    let record: ProviderConfigRecord

    private static let id = Column<ProviderConfigRecord>("provider_id", \.provider)
    private static let content: [Column<ProviderConfigRecord>] = [
        Column("enabled", \.isEnabled), Column("display_name", \.displayName), Column("client_id", \.clientID),
        Column("sealed_client_secret", \.sealedClientSecret), Column("issuer", \.issuer),
        Column("accepts_id_token", \.acceptsIDTokens), Column("accepts_code", \.acceptsAuthorizationCodes),
        Column(arrays: "apple_bundle_ids", \.appleBundleIDs), Column("apple_team_id", \.appleTeamID),
        Column("apple_key_id", \.appleKeyID), Column("sealed_apple_key", \.sealedAppleKey),
        Column("addresses", \.storedAddresses), Column(arrays: "email_domains", \.emailDomains),
    ]
    private static let columns = Columns(of: "provider_configs", [id] + content)
    private static let updated = Columns(of: "provider_configs", content)

    init(row: inout RowDecoder) throws(PostgresError) {
        var values = Self.columns.values(&row)
        var record = ProviderConfigRecord(provider: try values(\.provider), isEnabled: try values(\.isEnabled))
        record.displayName = try values(\.displayName)
        record.clientID = try values(\.clientID)
        record.sealedClientSecret = try values(\.sealedClientSecret)
        record.issuer = try values(\.issuer)
        record.acceptsIDTokens = try values(\.acceptsIDTokens)
        record.acceptsAuthorizationCodes = try values(\.acceptsAuthorizationCodes)
        record.appleBundleIDs = try values.array(\.appleBundleIDs)
        record.appleTeamID = try values(\.appleTeamID)
        record.appleKeyID = try values(\.appleKeyID)
        record.sealedAppleKey = try values(\.sealedAppleKey)
        record.addresses = try values(\.storedAddresses)?.object?.compactMapValues(\.string) ?? [:]
        record.emailDomains = try values.array(\.emailDomains)
        self.record = record
    }

    static func all(tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(columns.select) WHERE tenant_id = \(tenant) ORDER BY provider_id
        """
    }

    /// Every registration, locked against changes until the transaction ends. In one order, so that two transactions
    /// cannot deadlock.
    static func allLocked(tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(all(tenant: tenant).sql) FOR UPDATE
        """
    }

    /// The registration of one provider, locked against changes until the transaction ends.
    static func locked(_ provider: ProviderID, tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(columns.select)
        WHERE tenant_id = \(tenant) AND provider_id = \(provider) FOR UPDATE
        """
    }

    /// Raises 23505 if the provider is already registered.
    static func insert(_ record: ProviderConfigRecord, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        INSERT INTO provider_configs (tenant_id, \(columns.writtenNames), created_at, updated_at)
        VALUES (\(tenant), \(columns.bindings(record)), \(now), \(now))
        """
    }

    static func update(_ record: ProviderConfigRecord, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE provider_configs SET \(updated, from: record), updated_at = \(now)
        WHERE tenant_id = \(tenant) AND provider_id = \(record.provider)
        """
    }

    static func delete(_ provider: ProviderID, tenant: TenantID) -> SQL {
        """
        DELETE FROM provider_configs
        WHERE tenant_id = \(tenant) AND provider_id = \(provider)
        """
    }
}

/// A provider before its registration is changed or made.
package struct StoredProvider: Sendable {
    /// The registration, locked; `nil` if there is none.
    package let present: ProviderConfigRecord?
    /// The issuers of linked identities: the registered issuer if any identity is linked. Without a registration, the
    /// first and the last of the issuers under which linked identities were verified.
    package let issuersInUse: Set<String?>

    fileprivate init(_ provider: ProviderID, tenant: TenantID, _ tx: inout Transaction) throws(PostgresError) {
        present = try tx.fetch(ProviderConfigRow.locked(provider, tenant: tenant)).first?.record
        if try tx.fetch(IdentifierRow.anyFederated(of: provider, tenant: tenant)).isEmpty {
            issuersInUse = []
        } else if let present {
            issuersInUse = [present.issuer]
        } else {
            issuersInUse = try tx.fetch(LinkedProviderRow.issuers(of: provider, tenant: tenant)).first?.issuers ?? []
        }
    }
}

/// The result of disabling a provider.
package enum ProviderDisabling: Sendable, Hashable {
    case disabled
    case notRegistered
    /// An earlier request with the same key did it.
    case answeredBefore([UInt8])
}

extension AccountStore {
    /// Every registered provider, by id. One round trip.
    package func providerConfigs(tenant: TenantID) async throws(PostgresError) -> [ProviderConfigRecord] {
        try await client.read(ProviderConfigRow.all(tenant: tenant)).map(\.record)
    }

    /// Changes a registration under a lock, so that of two changes at once the second sees the first.
    ///
    /// `change` returns the new registration. If it throws, nothing changes. It may run again. The result is its value
    /// or error; `nil` if the provider is not registered.
    package func changeProviderConfig(
        _ provider: ProviderID,
        tenant: TenantID,
        at now: Timestamp,
        _ change:
            @escaping @Sendable (ProviderConfigRecord, _ issuersInUse: Set<String?>) throws -> ProviderConfigRecord
    ) async throws(PostgresError) -> Result<ProviderConfigRecord, any Error>? {
        try await client.transaction("provider-config-change") { tx throws(PostgresError) in
            let stored = try StoredProvider(provider, tenant: tenant, &tx)
            guard let present = stored.present else { return nil }
            let result = Result { try change(present, stored.issuersInUse) }
            if case .success(let record) = result {
                try tx.execute(ProviderConfigRow.update(record, tenant: tenant, at: now))
            }
            return result
        }
    }

    /// Changes several registrations at once, or none of them, under locks: of two such changes at once the second sees
    /// the first.
    ///
    /// `change` gets the present registrations; it returns those to write, also new ones, and an output. If it throws,
    /// nothing changes, and the error is the result. It may run again.
    package func changeProviderConfigs<Output: Sendable>(
        _ providers: Set<ProviderID>,
        tenant: TenantID,
        at now: Timestamp,
        _ change:
            @escaping @Sendable ([ProviderID: StoredProvider]) throws -> (
                written: [ProviderConfigRecord], output: Output
            )
    ) async throws(PostgresError) -> Result<Output, any Error> {
        // In one order, so that two transactions cannot deadlock.
        let ordered = providers.sorted { $0.rawValue < $1.rawValue }
        func once() async throws(PostgresError) -> Result<Output, any Error> {
            try await client.transaction("provider-configs-change") { tx throws(PostgresError) in
                var stored: [ProviderID: StoredProvider] = [:]
                for provider in ordered { stored[provider] = try StoredProvider(provider, tenant: tenant, &tx) }
                let result = Result { [stored] in try change(stored) }
                guard case .success(let changes) = result else { return result.map(\.output) }
                for record in changes.written.sorted(by: { $0.provider.rawValue < $1.provider.rawValue }) {
                    let isNew = stored[record.provider]?.present == nil
                    try tx.execute(
                        isNew
                            ? ProviderConfigRow.insert(record, tenant: tenant, at: now)
                            : ProviderConfigRow.update(record, tenant: tenant, at: now)
                    )
                }
                return .success(changes.output)
            }
        }
        do {
            return try await once()
        } catch  where error.sqlState == .uniqueViolation {
            // Another request registered one of them meanwhile: now it can be locked.
            return try await once()
        }
    }

    /// Disables a provider, unless an earlier request with the same key did.
    ///
    /// Locks the registration, so that the second of two such requests sees what the first stored.
    package func disableProvider(
        _ provider: ProviderID,
        tenant: TenantID,
        at now: Timestamp,
        answerTo key: StoredResponseKey?,
        sideWrites: [AccountWrite.SideWrite]
    ) async throws(PostgresError) -> ProviderDisabling {
        try await client.transaction("provider-disable") { tx throws(PostgresError) in
            guard var record = try tx.fetch(ProviderConfigRow.locked(provider, tenant: tenant)).first?.record else {
                return .notRegistered
            }
            if let key, let kept = try tx.fetch(StoredResponseRow.withKey(key, at: now)).first {
                return .answeredBefore(kept)
            }
            record.isEnabled = false
            try tx.execute(ProviderConfigRow.update(record, tenant: tenant, at: now))
            for statement in sideWrites.flatMap(\.statements) { try tx.execute(statement) }
            return .disabled
        }
    }

    /// - Returns: `false` if it is not registered.
    package func removeProviderConfig(_ provider: ProviderID, tenant: TenantID) async throws(PostgresError) -> Bool {
        let batch = WriteBatch("provider-config-remove", [ProviderConfigRow.delete(provider, tenant: tenant)])
        return try await client.write(batch).affectedRows(0) == 1
    }
}
