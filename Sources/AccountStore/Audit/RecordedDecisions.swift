package import AccountLinking
package import Postgres

/// Reads what was decided about all accounts since some instant, page by page, as of one instant, without writing
/// anything. Memory is that of a page.
package struct RecordedDecisions: Sendable {
    /// Events in one page.
    package static let pageSize = 500

    private let configuration: PostgresConfiguration
    private let pageSize: Int

    /// - `applicationName`: what the database calls the connection.
    package init(_ configuration: PostgresConfiguration, applicationName: String, pageSize: Int = Self.pageSize) {
        var configuration = configuration
        configuration.applicationName = applicationName
        self.configuration = configuration
        self.pageSize = pageSize
    }

    /// Hands every event that keeps a question to `take`, the oldest first.
    ///
    /// - Parameters:
    ///   - since: when the first happened at the earliest.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - take: never called twice at once; on a thread that may block.
    /// - Throws: what `take` throws, at once; `PostgresError`.
    package func read(
        since: Timestamp,
        tenant: TenantID?,
        take: @escaping @Sendable ([StoredEvent]) throws -> Void
    ) async throws {
        try await PostgresConnection.withConnection(configuration) { connection in
            try connection.execute(SnapshotTransaction.begin)
            try connection.execute(SnapshotTransaction.goByIndexes)
            var last = AccountEvent.ID(firstAt: since)
            while true {
                let events = try connection.query(
                    StoredEventRow.withQuestions(after: last, tenant: tenant?.rawValue, limit: Int64(pageSize))
                ).map(\.event)
                guard let newest = events.last else { break }
                last = newest.id
                // An id has the time when it was made, which is a little before the event's.
                try take(events.filter { $0.occurredAt >= since })
                if events.count < pageSize { break }
            }
            _ = try connection.execute(SnapshotTransaction.end)
        }
    }
}
