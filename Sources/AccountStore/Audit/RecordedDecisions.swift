package import AccountLinking
package import Postgres

/// Reads the recorded decisions about all accounts since an instant, in pages from one snapshot. Memory holds one page.
package struct RecordedDecisions: Sendable {
    /// Number of events in a page.
    package static let pageSize = 500

    private let configuration: PostgresConfiguration
    private let pageSize: Int

    /// - `applicationName`: the name of the connection in the database.
    package init(_ configuration: PostgresConfiguration, applicationName: String, pageSize: Int = Self.pageSize) {
        var configuration = configuration
        configuration.applicationName = applicationName
        self.configuration = configuration
        self.pageSize = pageSize
    }

    /// Calls `take` with every event that stores a question, oldest first.
    ///
    /// - Parameters:
    ///   - since: skips events before this instant.
    ///   - tenant: one tenant; `nil` for all tenants.
    ///   - take: called for one page at a time, on a thread that may block.
    /// - Returns: number of ordinary sign-ins whose facts were left out (`FactSampling`).
    /// - Throws: `PostgresError`; the error of `take`.
    package func read(
        since: Timestamp,
        tenant: TenantID?,
        take: @escaping @Sendable ([StoredEvent]) throws -> Void
    ) async throws -> Int64 {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(script: SnapshotTransaction.withoutTimeouts)
            try connection.execute(SnapshotTransaction.goByIndexes)
            var last = AccountEvent.ID(firstAt: since)
            let withoutFacts = try connection.query(
                StoredEventRow.countWithoutFacts(after: last, since: since, tenant: tenant?.rawValue)
            ).first
            while true {
                let events = try connection.query(
                    StoredEventRow.withQuestions(after: last, tenant: tenant?.rawValue, limit: Int64(pageSize))
                ).map(\.event)
                guard let newest = events.last else { break }
                last = newest.id
                // An id holds the time when it was made, which is shortly before the event.
                try take(events.filter { $0.occurredAt >= since })
                if events.count < pageSize { break }
            }
            _ = try connection.execute(SnapshotTransaction.end)
            return withoutFacts ?? 0
        }
    }
}
