package import AccountLinking
package import Postgres

/// A sign-in that was begun on a provider's page. The values to verify its answer are sealed.
package struct ProviderFlowRecord: Sendable, Hashable {
    package var tenant: TenantID
    package var stateDigest: [UInt8]
    package var sessionDigest: [UInt8]
    package var provider: ProviderID
    package var sealedFlow: [UInt8]
    package var expiresAt: Timestamp

    package init(
        tenant: TenantID,
        stateDigest: [UInt8],
        sessionDigest: [UInt8],
        provider: ProviderID,
        sealedFlow: [UInt8],
        expiresAt: Timestamp
    ) {
        self.tenant = tenant
        self.stateDigest = stateDigest
        self.sessionDigest = sessionDigest
        self.provider = provider
        self.sealedFlow = sealedFlow
        self.expiresAt = expiresAt
    }
}

/// The flow of a received answer.
package struct ConsumedProviderFlow: RowDecodable {
    package let provider: ProviderID
    package let sealedFlow: [UInt8]

    package init(row: inout RowDecoder) throws(PostgresError) {
        provider = try row.next()
        sealedFlow = try row.next()
    }
}

enum ProviderFlowRow {
    static func insert(_ flow: ProviderFlowRecord) -> SQL {
        """
        INSERT INTO provider_flows (tenant_id, state_digest, session_digest, provider_id, sealed_flow, expires_at)
        VALUES (\(flow.tenant), \(flow.stateDigest), \(flow.sessionDigest), \(flow.provider),
            \(flow.sealedFlow), \(flow.expiresAt))
        """
    }

    /// Removes the flow, so that of two answers the second finds none.
    static func take(_ stateDigest: [UInt8], session: [UInt8], tenant: TenantID, at now: Timestamp) -> SQL {
        """
        DELETE FROM provider_flows
        WHERE tenant_id = \(tenant) AND state_digest = \(stateDigest) AND session_digest = \(session)
            AND expires_at > \(now)
        RETURNING provider_id, sealed_flow
        """
    }
}

extension AccountStore {
    /// Stores a flow until its answer is received or it expires, and counts it, in one transaction.
    /// - Returns: `.factsMoved` if a limit is reached.
    package func begin(
        _ flow: ProviderFlowRecord,
        counting limits: [CountedLimit] = [],
        at now: Timestamp
    ) async throws(PostgresError) -> Applied {
        var batch = WriteBatch("provider-flow")
        batch.append(ProviderFlowRow.insert(flow))
        batch.append(limits.map { MessageCountRow.count($0, tenant: flow.tenant, at: now) })
        return try await applying(batch)
    }

    /// Takes the flow of a `state`. If many requests present the same state, one gets the flow.
    ///
    /// If the database's answer is lost, the flow may be lost. The user must then begin again.
    /// - Returns: `nil` if there is none, it has expired, or it belongs to another session, which leaves it there.
    package func takeFlow(
        state stateDigest: [UInt8],
        session sessionDigest: [UInt8],
        tenant: TenantID,
        at now: Timestamp
    ) async throws(PostgresError) -> ConsumedProviderFlow? {
        let statement = ProviderFlowRow.take(stateDigest, session: sessionDigest, tenant: tenant, at: now)
        return try await client.write(WriteBatch("provider-flow", [statement])).rows(0, as: ConsumedProviderFlow.self)
            .first
    }
}
