package import Postgres
import Synchronization

/// A standby that answers reads whose answer may be old: lists for administrators.
///
/// Decisions and lookups always read from the primary. If the replica is away, promoted, or older than the bound, the
/// primary answers.
package final class Replica: Sendable {
    /// The server that answered a read.
    package enum Server: String, Sendable, Hashable, CaseIterable {
        case replica
        case primary
    }

    let client: PostgresClient
    private let progress: Mutex<ReplicaProgress>
    private let answered: @Sendable (Server) -> Void

    /// - Parameters:
    ///   - client: a client of the standby. The caller runs it.
    ///   - ageMax: the bound on the age of its data.
    ///   - answered: called after each read.
    package init(
        client: PostgresClient,
        ageMax: Duration,
        answered: @escaping @Sendable (Server) -> Void = { _ in }
    ) {
        self.client = client
        self.answered = answered
        progress = Mutex(ReplicaProgress(ageMax: ageMax))
    }

    /// The reason not to use the replica now; `nil` if it is used.
    package var problem: ReplicaProblem? { progress.withLock { $0.problem(at: .now) } }

    /// The age of its data; `nil` if it is unknown.
    package var age: Duration? {
        progress.withLock(\.currentUntil).map { $0.duration(to: .now) }
    }

    /// Compares the replica with the primary. Call it every second.
    package func compare(with primary: PostgresClient) async {
        do throws(PostgresError) {
            let own = try await Self.position(client)
            let time = ContinuousClock.now
            // Without the primary's position the age grows, until the bound is reached.
            guard let other = try? await Self.position(primary) else { return }
            progress.withLock { $0.compare(replica: own, primary: other, at: time) }
        } catch {
            fail(error)
        }
    }

    /// Runs a read that changes nothing on the replica, or on `primary` if the replica cannot be used.
    func read<Output: Sendable>(
        orElse primary: PostgresClient,
        _ body: (PostgresClient) async throws(PostgresError) -> Output
    ) async throws(PostgresError) -> Output {
        if problem == nil {
            do throws(PostgresError) {
                let output = try await body(client)
                answered(.replica)
                return output
            } catch {
                // The primary would take as long.
                if error.isTimeout || error.code == .cancelled { throw error }
                if error.sqlState == nil { fail(error) }
            }
        }
        let output = try await body(primary)
        answered(.primary)
        return output
    }

    private func fail(_ error: PostgresError) {
        progress.withLock { $0.fail(.failed(error.message)) }
    }

    private static func position(_ client: PostgresClient) async throws(PostgresError) -> ServerPosition {
        guard let position = try await client.read(ServerPosition.current).first else {
            throw PostgresError(.decoding, "the server has no position")
        }
        return position
    }
}

extension ServerPosition: RowDecodable {
    package init(row: inout RowDecoder) throws(PostgresError) {
        cluster = try row.next()
        isInRecovery = try row.next()
        position = try row.next()
    }

    package static let current: Query<ServerPosition> = """
        SELECT system_identifier, pg_is_in_recovery(),
            coalesce(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END
                - '0/0'::pg_lsn, 0)::bigint
        FROM pg_control_system()
        """
}

extension PostgresError {
    fileprivate var isTimeout: Bool { code == .statementTimeout || sqlState == .queryCanceled }
}

extension AccountStore {
    /// Runs a read whose answer may be old. Never use it for a decision, or for a lookup of one account.
    func readingOld<Output: Sendable>(
        _ body: (PostgresClient) async throws(PostgresError) -> Output
    ) async throws(PostgresError) -> Output {
        guard let replica else { return try await body(client) }
        return try await replica.read(orElse: client, body)
    }
}
