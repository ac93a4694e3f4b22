package import AccountLinking
import JSON
package import Postgres

/// An identity provider as an administrator registered it. Secrets stay sealed in here.
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
    /// Where the provider is reached, by the name of the address, where that is not where everybody reaches it.
    package var addresses: [String: String] = [:]
    /// `oidc.*` only: the domains whose mailboxes the provider gives out, in canonical form.
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
    fileprivate var storedAddresses: JSONText { JSONText(JSONValue.object(addresses.mapValues(JSONValue.string)).text) }
}

struct ProviderConfigRow: RowDecodable {
    let record: ProviderConfigRecord

    init(row: inout RowDecoder) throws(PostgresError) {
        var record = ProviderConfigRecord(provider: try row.next(), isEnabled: try row.next())
        record.displayName = try row.next()
        record.clientID = try row.next()
        record.sealedClientSecret = try row.next()
        record.issuer = try row.next()
        record.acceptsIDTokens = try row.next()
        record.acceptsAuthorizationCodes = try row.next()
        record.appleBundleIDs = try row.next()
        record.appleTeamID = try row.next()
        record.appleKeyID = try row.next()
        record.sealedAppleKey = try row.next()
        record.addresses = (try row.next() as JSONValue?)?.object?.compactMapValues(\.string) ?? [:]
        record.emailDomains = try row.next()
        self.record = record
    }

    private static let select: SQL = """
        SELECT provider_id, enabled, display_name, client_id, sealed_client_secret, issuer, accepts_id_token,
            accepts_code, apple_bundle_ids, apple_team_id, apple_key_id, sealed_apple_key, addresses,
            email_domains
        FROM \(table: "provider_configs")
        """

    static func all(tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(select) WHERE tenant_id = \(tenant) ORDER BY provider_id
        """
    }

    /// Every registration; holds off changes of them until the transaction ends. In one order, so that two of them do not
    /// wait for each other.
    static func allLocked(tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(all(tenant: tenant).sql) FOR UPDATE
        """
    }

    /// The registration of one provider; holds off other changes of it until the transaction ends.
    static func locked(_ provider: ProviderID, tenant: TenantID) -> Query<ProviderConfigRow> {
        """
        \(select)
        WHERE tenant_id = \(tenant) AND provider_id = \(provider) FOR UPDATE
        """
    }

    /// Raises 23505 when the provider is registered already.
    static func insert(_ record: ProviderConfigRecord, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        INSERT INTO provider_configs (tenant_id, provider_id, enabled, display_name, client_id, sealed_client_secret,
            issuer, accepts_id_token, accepts_code, apple_bundle_ids, apple_team_id, apple_key_id, sealed_apple_key,
            addresses, email_domains, created_at, updated_at)
        VALUES (\(tenant), \(record.provider), \(record.isEnabled), \(record.displayName),
            \(record.clientID), \(record.sealedClientSecret), \(record.issuer), \(record.acceptsIDTokens),
            \(record.acceptsAuthorizationCodes), \(record.appleBundleIDs), \(record.appleTeamID),
            \(record.appleKeyID), \(record.sealedAppleKey), \(record.storedAddresses), \(record.emailDomains),
            \(now), \(now))
        """
    }

    static func update(_ record: ProviderConfigRecord, tenant: TenantID, at now: Timestamp) -> SQL {
        """
        UPDATE provider_configs SET enabled = \(record.isEnabled), display_name = \(record.displayName),
            client_id = \(record.clientID), sealed_client_secret = \(record.sealedClientSecret),
            issuer = \(record.issuer), accepts_id_token = \(record.acceptsIDTokens),
            accepts_code = \(record.acceptsAuthorizationCodes), apple_bundle_ids = \(record.appleBundleIDs),
            apple_team_id = \(record.appleTeamID), apple_key_id = \(record.appleKeyID),
            sealed_apple_key = \(record.sealedAppleKey), addresses = \(record.storedAddresses),
            email_domains = \(record.emailDomains), updated_at = \(now)
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

/// A provider as it stands before its registration is changed or made.
package struct StoredProvider: Sendable {
    /// Its registration, locked; `nil` when there is none.
    package let present: ProviderConfigRecord?
    /// The issuers under which accounts are linked to identities of the provider: the registered one, where there are any;
    /// of a provider without a registration, those that linked identities were verified under.
    package let issuersInUse: Set<String?>

    fileprivate init(_ provider: ProviderID, tenant: TenantID, _ tx: inout Transaction) throws(PostgresError) {
        present = try tx.fetch(ProviderConfigRow.locked(provider, tenant: tenant)).first?.record
        if try tx.fetch(IdentifierRow.anyFederated(of: provider, tenant: tenant)).isEmpty {
            issuersInUse = []
        } else if let present {
            issuersInUse = [present.issuer]
        } else {
            issuersInUse = Set(try tx.fetch(LinkedProviderRow.issuers(of: provider, tenant: tenant)))
        }
    }
}

/// What became of a provider that was to be switched off.
package enum ProviderDisabling: Sendable, Hashable {
    case disabled
    case notRegistered
    /// A request of the same key did it before.
    case answeredBefore([UInt8])
}

extension AccountStore {
    /// Every registered provider, by id. One round trip.
    package func providerConfigs(tenant: TenantID) async throws(PostgresError) -> [ProviderConfigRecord] {
        try await client.read(ProviderConfigRow.all(tenant: tenant)).map(\.record)
    }

    /// Changes a registration under a lock, so that of two changes at once the second sees the first.
    ///
    /// `change` gives the new registration. What it throws ends the change without a trace. It may run again. The result
    /// is what it gave or threw; `nil` when the provider is not registered.
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
    /// `change` is told how `providers` stand now; it gives the registrations to write, new ones among them, and an output.
    /// What it throws ends the change without a trace, and is the result. It may run again.
    package func changeProviderConfigs<Output: Sendable>(
        _ providers: Set<ProviderID>,
        tenant: TenantID,
        at now: Timestamp,
        _ change:
            @escaping @Sendable ([ProviderID: StoredProvider]) throws -> (
                written: [ProviderConfigRecord], output: Output
            )
    ) async throws(PostgresError) -> Result<Output, any Error> {
        // In one order, so that two of them do not wait for each other.
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
            // Somebody registered one of them meanwhile; it is there to be locked now.
            return try await once()
        }
    }

    /// Switches a provider off, unless that was done already by a request of the same key.
    ///
    /// Under the lock of the registration, so that of two such requests the second sees what the first kept.
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

    /// - Returns: `false` when it is not registered.
    package func removeProviderConfig(_ provider: ProviderID, tenant: TenantID) async throws(PostgresError) -> Bool {
        let batch = WriteBatch("provider-config-remove", [ProviderConfigRow.delete(provider, tenant: tenant)])
        return try await client.write(batch).affectedRows(0) == 1
    }
}
