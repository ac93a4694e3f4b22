import AccountStore
package import Migrations
package import Postgres
package import Testing

extension TestDatabase {
    /// The tables that have a place on Citus.
    package static var placedTables: [DistributionTable] {
        Distribution.tables.compactMap { table in
            guard let place = table.place, let statement = table.statement else { return nil }
            return DistributionTable(name: table.name, place: place, statement: statement)
        }
    }

    /// Like `rows`, for a query that joins tables of different shards, which Citus refuses. There it reads copies of
    /// its tables.
    package func joinedRows<Row>(_ query: Query<Row>) async throws -> [Row] {
        try await PostgresConnection.withConnection(configuration) { connection in
            if try connection.engine() == .citus {
                for table in Distribution.tables where query.sql.text.contains(table.name) {
                    try connection.execute(script: "CREATE TEMPORARY TABLE \(table.name) AS TABLE public.\(table.name)")
                }
            }
            return try connection.query(query)
        }
    }

    /// True if the tests run on the coordinator of a Citus cluster: the database that `CONCORD_TEST_DATABASE_URL` names has
    /// the extension `citus`.
    package static var isOnCitus: Bool {
        get async throws { try await TestServer.shared.engine() == .citus }
    }
}

extension Trait where Self == ConditionTrait {
    /// The test needs the workers of a Citus cluster.
    package static var onCitus: Self { citus(true, "needs a coordinator of Citus in CONCORD_TEST_DATABASE_URL") }

    /// The test does not apply to Citus.
    package static func notOnCitus(_ reason: Comment) -> Self { citus(false, reason) }

    private static func citus(_ expected: Bool, _ reason: Comment) -> Self {
        .enabled(reason) { try await TestDatabase.isOnCitus == expected }
    }
}

struct TestServerFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The nodes of a Citus cluster, as the database of `CONCORD_TEST_DATABASE_URL` knows them.
struct CitusNodes: Sendable {
    struct Node: Sendable, RowDecodable {
        let host: String
        let port: Int64
        let isCoordinator: Bool

        init(row: inout RowDecoder) throws(PostgresError) {
            host = try row.next()
            port = try row.next()
            isCoordinator = try row.next()
        }

        static let all: Query<Self> = """
            SELECT nodename::text, nodeport::bigint, groupid = 0 FROM pg_dist_node
            WHERE noderole = 'primary' ORDER BY nodeid
            """
    }

    struct Worker: Sendable {
        let node: Node
        let configuration: PostgresConfiguration
    }

    private let base: PostgresConfiguration
    private let coordinator: Node?
    let workers: [Worker]

    /// Returns the nodes; `nil` if the database of `base` is not on Citus.
    ///
    /// - `connectionString`: that of `base`.
    static func of(_ base: PostgresConfiguration, _ connectionString: String) async throws -> Self? {
        let nodes = try await PostgresConnection.withConnection(base) { connection -> [Node]? in
            guard try connection.engine() == .citus else { return nil }
            return try connection.query(Node.all)
        }
        guard let nodes else { return nil }
        return Self(
            base: base,
            coordinator: nodes.first(where: \.isCoordinator),
            workers: try nodes.filter { !$0.isCoordinator }.map { node in
                let text = Self.connectionString(connectionString, at: node)
                return Worker(node: node, configuration: try PostgresConfiguration(connectionString: text))
            }
        )
    }

    /// The same connection string with another server: the last value of an option applies.
    private static func connectionString(_ given: String, at node: Node) -> String {
        let isURL = given.contains("://")
        let start = !isURL ? " " : given.contains("?") ? "&" : "?"
        return "\(given)\(start)host=\(node.host)\(isURL ? "&" : " ")port=\(node.port)"
    }

    /// Makes a cluster of the databases `name`, which are empty, one on each node.
    func form(_ name: String) async throws {
        for node in [base] + workers.map(\.configuration) {
            try await TestServer.run("CREATE EXTENSION citus", on: node.withDatabase(name))
        }
        var script = ""
        if let coordinator {
            script += "SELECT citus_set_coordinator_host('\(coordinator.host)', \(coordinator.port));"
        }
        for worker in workers { script += "SELECT citus_add_node('\(worker.node.host)', \(worker.node.port));" }
        if workers.isEmpty, let coordinator {
            script +=
                "SELECT citus_set_node_property('\(coordinator.host)', \(coordinator.port), 'shouldhaveshards', true)"
        }
        try await TestServer.run(script, on: base.withDatabase(name))
    }

    /// Ends all sessions of the databases `name`, Citus' own too, so that they can be copied.
    func close(_ name: String) async throws {
        for node in [base] + workers.map(\.configuration) {
            try await TestServer.run("ALTER DATABASE \(name) ALLOW_CONNECTIONS false", on: node)
            let others: Query<Int64?> = "SELECT count(*) FROM pg_stat_activity WHERE datname = \(name)"
            try await PostgresConnection.withConnection(node) { connection in
                let deadline = ContinuousClock.now + .seconds(30)
                while try connection.query(others) != [0], ContinuousClock.now < deadline {
                    try connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = \(name)"
                    )
                    try connection.execute("SELECT pg_sleep(0.1)")
                }
            }
        }
    }
}
