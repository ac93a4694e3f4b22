import AccountOperations
import AccountStore
import FoundationEssentials
import Migrations
import Postgres

/// The checks of the database that need no project.
struct DatabaseChecks: Sendable {
    let postgres: PostgresConfiguration
    let migrations: MigrationSet

    /// The oldest version of PostgreSQL that Concord is tested with.
    static let versionMin: Int64 = 150_000
    /// The connections of the largest command, an audit (docs/guides/operations.md).
    static let connectionsOfCommand = 10

    /// Connects once and reads the facts. If the schema can be served, `isUsable` is true.
    func findings() async throws -> (findings: [Diagnosis], isUsable: Bool) {
        let (facts, before, after) = try await PostgresConnection.withConnection(postgres) { connection in
            let before = Effects.system.now()
            let facts = try connection.query(ServerFacts.current).first
            return (facts, before, Effects.system.now())
        }
        guard let facts else { return ([.failure("database", "the server does not describe itself")], false) }
        let (schema, isUsable) = try await schema()
        let clocks = ClockComparison(before: before, database: facts.clock, after: after)
        let findings =
            [.ok("database", "connected to \(postgres.place ?? "the database") as \(facts.role)")]
            + [transport(facts), Self.version(facts), Self.encoding(facts), Self.clock(clocks), Self.recovery(facts)]
            .compactMap(\.self) + schema + [try await rights(facts)] + [connections(facts)] + [
                try await sessionSettings()
            ]
        return (findings, isUsable)
    }

    private func transport(_ facts: ServerFacts) -> Diagnosis {
        let transport = DatabaseTransport(postgres, environment: ProcessInfo.processInfo.environment)
        if let warning = transport.warning { return .warning("database-tls", warning) }
        return .ok("database-tls", facts.tlsVersion.isEmpty ? "a connection on this machine" : facts.tlsVersion)
    }

    static func version(_ facts: ServerFacts) -> Diagnosis {
        facts.versionNumber < versionMin
            ? .failure("database-version", "PostgreSQL \(facts.version)", "Upgrade to PostgreSQL 15 or newer")
            : .ok("database-version", "PostgreSQL \(facts.version)")
    }

    static func encoding(_ facts: ServerFacts) -> Diagnosis {
        let found = "\(facts.encoding), collation \(facts.collation)"
        return facts.encoding == "UTF8"
            ? .ok("database-encoding", found)
            : .failure("database-encoding", found, "Create the database with --encoding UTF8, and restore into it")
    }

    static func clock(_ clocks: ClockComparison) -> Diagnosis {
        if let disagreement = clocks.disagreement { return .failure("clock", "\(disagreement)") }
        let tenths = Int((abs(clocks.secondsAhead) * 10).rounded())
        let seconds = "\(tenths / 10).\(tenths % 10)"
        return tenths > 50
            ? .warning("clock", "\(seconds) s apart from PostgreSQL's", "Synchronise both machines (NTP)")
            : .ok("clock", "\(seconds) s apart from PostgreSQL's")
    }

    private static func recovery(_ facts: ServerFacts) -> Diagnosis? {
        facts.isInRecovery
            ? .failure(
                "database-writes",
                "the server is a standby, which refuses writes",
                "Connect to the primary: target_session_attrs=primary in database.url"
            )
            : nil
    }

    private func schema() async throws -> (findings: [Diagnosis], isUsable: Bool) {
        let state = try await SchemaState.load(postgres)
        let readiness = state.readiness(required: SchemaVersion.required)
        var findings: [Diagnosis] = []
        switch readiness {
        case .ready: findings.append(.ok("schema", "version \(state.version)"))
        case .ahead: findings.append(.warning("schema", "\(readiness)", "Upgrade this program"))
        case .behind, .interrupted: findings.append(.failure("schema", "\(readiness)"))
        }
        let refusals = MigrationStatus(available: migrations, applied: state.applied).refusals
        findings += refusals.map { .failure("schema-files", "\($0)") }
        if refusals.isEmpty { findings.append(.ok("schema-files", "no applied migration differs from its file")) }
        findings += try await InvalidIndex.load(postgres).map { index in
            let nextStep = state.interrupted == nil ? index.nextStep : "Finish the migration: concord migrate up"
            return .warning("schema-indexes", "\(index)", nextStep)
        }
        let distribution = try await DistributionState.load(postgres, of: Distribution.moved)
        if readiness.canBeServed, let distribution { findings.append(Self.distribution(distribution)) }
        return (findings, readiness.canBeServed)
    }

    static func distribution(_ state: DistributionState) -> Diagnosis {
        if let problem = state.problem { return .failure("distribution", problem) }
        return .ok("distribution", "every table has its place on Citus")
    }

    private func rights(_ facts: ServerFacts) async throws -> Diagnosis {
        let tables = try await PostgresConnection.withConnection(postgres) {
            try $0.query(ServerFacts.tablesWithoutRights)
        }
        if !tables.isEmpty {
            let names = tables.prefix(3).joined(separator: ", ") + (tables.count > 3 ? ", …" : "")
            return .failure(
                "rights",
                "\(facts.role) cannot read and write \(tables.count) tables: \(names)",
                "Allow it: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(facts.role)"
            )
        }
        return facts.isSuperuser
            ? .warning("rights", "\(facts.role) is a superuser", "Use a role that owns only Concord's database")
            : .ok("rights", "\(facts.role) can read and write every table")
    }

    private func sessionSettings() async throws -> Diagnosis {
        Self.sessionSettings(withoutEffect: try await Self.settingsWithoutEffect(of: postgres))
    }

    /// Compares the settings of a transaction with the ones that Concord sends. A pooler may ignore them.
    static func settingsWithoutEffect(of postgres: PostgresConfiguration) async throws -> [PostgresSessionSetting] {
        let engine = try await PostgresConnection.withConnection(postgres) { try $0.engine() }
        var missing: [PostgresSessionSetting] = []
        for lane in PostgresLane.allCases {
            let wanted = postgres.sessionSettings(of: lane, on: engine)
            let found = try await PostgresConnection.transaction(of: lane, postgres) { tx throws(PostgresError) in
                var values: [String?] = []
                for setting in wanted { values.append(try tx.fetch(ServerFacts.setting(setting.name)).first) }
                return values
            }
            missing += zip(wanted, found).filter { $0.value != $1 }.map(\.0)
        }
        return missing
    }

    static func sessionSettings(withoutEffect missing: [PostgresSessionSetting]) -> Diagnosis {
        guard !missing.isEmpty else { return .ok("session-settings", "time limits and read-only are in effect") }
        var names: [String] = []
        for setting in missing where !names.contains(setting.name) { names.append(setting.name) }
        return .failure(
            "session-settings",
            "without effect: \(names.joined(separator: ", "))",
            "A pooler ignores startup options: set database.session_settings: transaction"
        )
    }

    /// Time for an answer of the standby.
    private static let silenceMax = Duration.seconds(2)

    /// The finding about the network to the standby; `nil` if the connection is verified.
    static func replicaTransport(
        _ replica: DatabaseConfiguration.Replica,
        environment: [String: String]
    ) -> Diagnosis? {
        DatabaseTransport(replica.postgres, environment: environment).warning(of: "database.replica_url")
            .map { .warning("replica-tls", $0) }
    }

    /// Compares the standby with the primary, until it has caught up or half of the time for a check is over.
    static func replica(
        _ replica: DatabaseConfiguration.Replica,
        of primary: PostgresConfiguration
    ) async throws -> Diagnosis {
        let place = replica.postgres.place ?? "the replica"
        var standby = replica.postgres
        // The failure of a silent standby names it before the check ends.
        standby.connectTimeout = min(standby.connectTimeout, silenceMax)
        let target = try await ServerPosition.read(primary)
        let deadline = ContinuousClock.now + DoctorCheck.timeout / 2
        while true {
            let own: ServerPosition
            do {
                own = try await ServerPosition.read(standby)
            } catch let error as PostgresError {
                return .failure("replica", "\(DatabaseFailure(error, at: place))")
            }
            let current = try await ServerPosition.read(primary)
            if let finding = Self.replica(own, of: target, now: current, at: place) { return finding }
            guard ContinuousClock.now < deadline else {
                return .warning(
                    "replica",
                    """
                    \(place) is \(grouped(target.position - own.position)) bytes behind; above \
                    database.replica_staleness_max the primary answers
                    """,
                    "Check its replication: pg_stat_replication on the primary, pg_stat_wal_receiver on the standby"
                )
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The finding about a standby at `own`: `nil` if it has not replayed `target` yet. The primary was at `current`
    /// afterwards.
    static func replica(
        _ own: ServerPosition,
        of target: ServerPosition,
        now current: ServerPosition,
        at place: String
    ) -> Diagnosis? {
        let problem = own.problem(asStandbyOf: target) ?? (own.position > current.position ? .diverged : nil)
        if let problem {
            return .failure("replica", "\(problem)", "Name a streaming standby of the primary in database.replica_url")
        }
        return own.position >= target.position ? .ok("replica", "\(place) has caught up with the primary") : nil
    }

    private func connections(_ facts: ServerFacts) -> Diagnosis {
        Self.connections(
            facts.connectionLimit < 0 ? facts.connectionsMax : min(facts.connectionsMax, facts.connectionLimit),
            open: facts.connectionsOpen,
            hosts: facts.hostsOfConcord,
            ofServer: Int64(postgres.readConnections + postgres.writeConnections + postgres.leasedConnections)
        )
    }

    /// - `hosts`: hosts with servers. Each may open as many connections as this machine's server.
    static func connections(
        _ max: Int64,
        open: Int64,
        hosts: Int64,
        ofServer server: Int64
    ) -> Diagnosis {
        let hosts = Swift.max(1, hosts)
        let command = Int64(connectionsOfCommand)
        let found = "\(hosts) × \(server) for servers, \(command) for an audit; \(open) of \(max) open"
        let remedy = "Raise max_connections of PostgreSQL, or lower database.read_connections and write_connections"
        if server + command > max { return .failure("connections", found, remedy) }
        return server + command + open > max || hosts * server + command > max
            ? .warning("connections", found, remedy) : .ok("connections", found)
    }
}
