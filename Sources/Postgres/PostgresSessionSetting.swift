/// A setting of the server that the transactions of a lane need.
package struct PostgresSessionSetting: Sendable, Hashable {
    package var name: String
    /// The value in the form of the view `pg_settings`: times in milliseconds.
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension PostgresConfiguration {
    package func sessionSettings(of lane: PostgresLane, on engine: DatabaseEngine) -> [PostgresSessionSetting] {
        sessionSettings(for: lane.role, on: engine)
    }
}

extension PostgresConnection {
    /// Opens a connection as `lane` does, and runs `body` in a transaction with the lane's settings.
    package static func transaction<Output: Sendable>(
        of lane: PostgresLane,
        _ configuration: PostgresConfiguration,
        _ body: @escaping @Sendable (inout Transaction) throws(PostgresError) -> Output
    ) async throws -> Output {
        try await runOnNewThread {
            Result {
                let connection = try PostgresConnection(
                    configuration,
                    role: lane.role,
                    answerWait: configuration.connectTimeout
                )
                let settings = configuration.transactionSettings(for: lane.role, on: connection.greetedEngine)
                return try connection.transaction(settings: settings, body)
            }
        }.get()
    }
}

extension PostgresLane {
    fileprivate var role: PostgresConfiguration.Role {
        switch self {
        case .read: .read
        case .write: .write
        }
    }
}
