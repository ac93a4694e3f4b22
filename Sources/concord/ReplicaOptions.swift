import AccountStore
import ArgumentParser
import Postgres

/// The choice of the server for commands that read many accounts.
struct ReplicaOptions: ParsableArguments {
    @Flag(help: "Read accounts from the primary, although database.replica_url is set.")
    var primary = false

    private static let pause = Duration.milliseconds(100)

    /// The database to read accounts from: the replica once it has everything that the primary has now. If the replica
    /// cannot be used, says so and returns the primary.
    func database(of configuration: DatabaseConfiguration) async throws -> PostgresConfiguration {
        guard !primary, let replica = configuration.replica else { return configuration.postgres }
        let target = try await namingDatabase(configuration.postgres) {
            try await ServerPosition.read(configuration.postgres)
        }
        do {
            try await Self.wait(for: target, replica, of: configuration.postgres)
            return replica.postgres
        } catch let problem as ReplicaProblem {
            complain("accounts are read from the primary: \(problem)")
        } catch let error as PostgresError {
            complain("accounts are read from the primary: \(DatabaseFailure(error, at: replica.postgres.place))")
        }
        return configuration.postgres
    }

    private static func wait(
        for target: ServerPosition,
        _ replica: DatabaseConfiguration.Replica,
        of primary: PostgresConfiguration
    ) async throws {
        let start = ContinuousClock.now
        while true {
            let own = try await ServerPosition.read(replica.postgres)
            if let problem = own.problem(asStandbyOf: target) { throw problem }
            if own.position >= target.position {
                // A standby of another primary has what this one does not have.
                let current = try await ServerPosition.read(primary)
                guard own.position <= current.position else { throw ReplicaProblem.diverged }
                return
            }
            let waited = start.duration(to: .now)
            guard waited < replica.ageMax else { throw ReplicaProblem.tooOld(waited) }
            try await Task.sleep(for: pause)
        }
    }
}

extension ServerPosition {
    /// Fails if the server accepts the connection and does not answer within `connectTimeout`.
    static func read(_ postgres: PostgresConfiguration) async throws -> ServerPosition {
        try await PostgresConnection.transaction(of: .read, postgres) { tx throws(PostgresError) in
            guard let position = try tx.fetch(current).first else {
                throw PostgresError(.decoding, "the server has no position")
            }
            return position
        }
    }
}
