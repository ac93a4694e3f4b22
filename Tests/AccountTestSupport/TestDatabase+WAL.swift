import Foundation
import Postgres
import PostgresCluster

extension TestDatabase {
    /// Runs `body` on a migrated database of a private server.
    package static func withServerOfItsOwn(_ body: (TestDatabase) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-quiet-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cluster = PostgresCluster(dataDirectory: folder, settings: .disposable)
        let connection = try await cluster.start()
        do {
            _ = try await cluster.createDatabase("quiet")
            try await migrated(connection.url(database: "quiet"), body)
        } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }

    /// Measures the bytes of WAL that the server writes during the second run of `body`.
    package func walWritten(_ body: () async throws -> Void) async throws -> Int64 {
        // The first reader of a page prunes dead tuples and sets hint bits.
        try await execute("VACUUM (FREEZE, ANALYZE)")
        try await execute("CHECKPOINT")
        try await body()
        let before = try await place()
        try await body()
        return try await count("SELECT (pg_current_wal_insert_lsn() - \(before)::text::pg_lsn)::bigint")
    }

    private func place() async throws -> String {
        try await rows("SELECT pg_current_wal_insert_lsn()::text" as Query<String?>).first.flatMap(\.self) ?? ""
    }
}
