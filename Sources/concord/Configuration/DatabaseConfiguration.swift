import Postgres

/// The settings of the connections to PostgreSQL.
struct DatabaseConfiguration: Sendable {
    /// The configuration for `PostgresClient` and `Migrator`. Its description shows no password.
    let postgres: PostgresConfiguration
    /// The standby for reads that may be old; `nil` if there is none.
    var replica: Replica?

    struct Replica: Sendable {
        let postgres: PostgresConfiguration
        /// The bound on the age of its data.
        let ageMax: Duration
    }
}

extension DatabaseConfiguration {
    static let entries: [ConfigurationEntry] = [
        urlKey.entry, readConnectionsKey.entry, writeConnectionsKey.entry, leasedConnectionsKey.entry,
        idleTimeoutKey.entry,
        queueLengthMaxKey.entry, queueWaitTimeoutKey.entry, readStatementTimeoutKey.entry,
        writeStatementTimeoutKey.entry, lockTimeoutKey.entry, connectTimeoutKey.entry, statementModeKey.entry,
        sessionSettingsKey.entry, replicaURLKey.entry, replicaStalenessMaxKey.entry,
    ]

    /// The mode in which statements are prepared.
    private enum StatementMode: String, CaseIterable {
        case named
        case unnamed
    }

    /// The place of time limits and other session settings.
    private enum SessionSettings: String, CaseIterable {
        case connection
        case transaction
    }

    private static let urlKey = ConfigurationKey(
        optional: "database.url",
        .connectionString,
        secrecy: .hidesPassword,
        "Connection string of the database; `serve` and `migrate` need it"
    )
    private static let readConnectionsKey = ConfigurationKey(
        optional: "database.read_connections",
        .wholeNumber(1...64),
        absent: "one per core",
        "Pipelined connections shared by all reads"
    )
    private static let writeConnectionsKey = ConfigurationKey(
        "database.write_connections",
        .wholeNumber(1...64),
        default: 8,
        "Pipelined connections shared by all writes; their commits share an fsync"
    )
    private static let leasedConnectionsKey = ConfigurationKey(
        "database.leased_connections",
        .wholeNumber(1...64),
        default: 4,
        "Connections for interactive transactions"
    )
    private static let idleTimeoutKey = ConfigurationKey(
        "database.idle_connection_timeout",
        .duration(milliseconds: 1000...3_600_000),
        default: .seconds(60),
        "Unused pipelined connections close after this time, except one for reads and one for writes"
    )
    private static let queueLengthMaxKey = ConfigurationKey(
        "database.queue_length_max",
        .wholeNumber(1...65536),
        default: 4096,
        "Callers that may wait for a connection, per kind; others get 503"
    )
    private static let queueWaitTimeoutKey = ConfigurationKey(
        "database.queue_wait_timeout",
        .duration(milliseconds: 10...60_000),
        default: .seconds(1),
        "How long a caller may wait for a connection"
    )
    private static let readStatementTimeoutKey = ConfigurationKey(
        "database.read_statement_timeout",
        .duration(milliseconds: 100...300_000),
        default: .seconds(2),
        "How long a read may run"
    )
    private static let writeStatementTimeoutKey = ConfigurationKey(
        "database.write_statement_timeout",
        .duration(milliseconds: 100...300_000),
        default: .seconds(5),
        "How long a statement of a write may run"
    )
    private static let lockTimeoutKey = ConfigurationKey(
        "database.lock_timeout",
        .duration(milliseconds: 100...300_000),
        default: .seconds(2),
        "How long a write may wait for a lock"
    )
    private static let connectTimeoutKey = ConfigurationKey(
        "database.connect_timeout",
        .duration(milliseconds: 1000...60_000),
        default: .seconds(5),
        "How long opening a connection may take"
    )
    private static let statementModeKey = ConfigurationKey(
        "database.statement_mode",
        .choice,
        default: StatementMode.named,
        "`unnamed` for PgBouncer before 1.22 in transaction mode; `named` costs PostgreSQL less"
    )
    private static let sessionSettingsKey = ConfigurationKey(
        "database.session_settings",
        .choice,
        default: SessionSettings.connection,
        "`transaction` for PgBouncer in transaction mode: sends time limits with each transaction"
    )
    private static let replicaURLKey = ConfigurationKey(
        optional: "database.replica_url",
        .connectionString,
        secrecy: .hidesPassword,
        "Connection string of a standby that answers account lists, audits, exports and simulations"
    )
    private static let replicaStalenessMaxKey = ConfigurationKey(
        "database.replica_staleness_max",
        .duration(milliseconds: 5000...3_600_000),
        default: .seconds(10),
        "Age of the standby's data above which the primary answers instead"
    )

    /// A connection string of libpq with all secrets replaced, for logs.
    static func withoutPassword(_ connectionString: String) -> String {
        let form = ConfigurationForm.connectionString
        return form.parse(connectionString).map(form.format) ?? "(secret)"
    }

    /// Reads the `database` keys. If there is no URL, records a mistake and returns `nil`.
    static func read(_ reader: inout ConfigurationReader) -> Self? {
        let url = reader.value(urlKey)
        if url == nil { reader.requires(urlKey) }
        // Continues without a URL, so that the same run reports mistakes in other keys.
        let settings = Settings(&reader, preferring: { value, _ in value })
        let replicaURL = reader.value(replicaURLKey)
        let replicaAgeMax = reader.value(replicaStalenessMaxKey)
        guard var postgres = url else { return nil }
        settings.apply(to: &postgres)
        guard var replica = replicaURL else { return Self(postgres: postgres) }
        settings.apply(to: &replica)
        return Self(postgres: postgres, replica: Replica(postgres: replica, ageMax: replicaAgeMax))
    }

    /// Reads the settings for the database of a development server. Timeouts that are not set are long, because a
    /// development machine may be slow.
    /// - Throws: the mistakes in the sources and in the `database` keys.
    static func development(
        url: String,
        _ sources: ConfigurationSources
    ) throws -> PostgresConfiguration {
        var reader = ConfigurationReader(sources)
        let settings = Settings(&reader) { value, isSet in isSet ? value : patience }
        guard reader.mistakes.isEmpty else { throw ConfigurationMistakes(all: reader.mistakes) }
        var postgres = try PostgresConfiguration(connectionString: url)
        settings.apply(to: &postgres)
        return postgres
    }

    private static let patience = Duration.seconds(30)

    /// The settings of the connections, without their address.
    private struct Settings {
        let readConnections: Int?
        let writeConnections: Int
        let leasedConnections: Int
        let idleTimeout: Duration
        let queueLengthMax: Int
        let queueWaitTimeout: Duration
        let readStatementTimeout: Duration
        let writeStatementTimeout: Duration
        let lockTimeout: Duration
        let connectTimeout: Duration
        let statementMode: StatementMode
        let sessionSettings: SessionSettings

        /// `timeout` returns a timeout, given the read value and whether it is set.
        init(
            _ reader: inout ConfigurationReader,
            preferring timeout: (_ value: Duration, _ isSet: Bool) -> Duration
        ) {
            func read(_ key: ConfigurationKey<Duration>, _ reader: inout ConfigurationReader) -> Duration {
                timeout(reader.value(key), reader.isSet(key))
            }
            readConnections = reader.value(readConnectionsKey)
            writeConnections = reader.value(writeConnectionsKey)
            leasedConnections = reader.value(leasedConnectionsKey)
            idleTimeout = reader.value(idleTimeoutKey)
            queueLengthMax = reader.value(queueLengthMaxKey)
            queueWaitTimeout = read(queueWaitTimeoutKey, &reader)
            readStatementTimeout = read(readStatementTimeoutKey, &reader)
            writeStatementTimeout = read(writeStatementTimeoutKey, &reader)
            lockTimeout = read(lockTimeoutKey, &reader)
            connectTimeout = read(connectTimeoutKey, &reader)
            statementMode = reader.value(statementModeKey)
            sessionSettings = reader.value(sessionSettingsKey)
        }

        func apply(to postgres: inout PostgresConfiguration) {
            if let readConnections { postgres.readConnections = readConnections }
            postgres.writeConnections = writeConnections
            postgres.leasedConnections = leasedConnections
            postgres.idleTimeout = idleTimeout
            postgres.queueMax = queueLengthMax
            postgres.queueWait = queueWaitTimeout
            postgres.readStatementTimeout = readStatementTimeout
            postgres.writeStatementTimeout = writeStatementTimeout
            postgres.lockTimeout = lockTimeout
            postgres.connectTimeout = connectTimeout
            switch statementMode {
            case .named: postgres.statementMode = .named
            case .unnamed: postgres.statementMode = .unnamed
            }
            switch sessionSettings {
            case .connection: postgres.sessionSettings = .connection
            case .transaction: postgres.sessionSettings = .transaction
            }
        }
    }
}

extension ConfigurationForm where Value == PostgresConfiguration {
    /// Any text that libpq can parse. It is shown without its password.
    static let connectionString = Self(
        allowed:
            "a PostgreSQL connection string such as postgresql://concord@db.example.com/concord, user and password percent-encoded",
        parse: { try? PostgresConfiguration(connectionString: $0) },
        format: \.description
    )
}
