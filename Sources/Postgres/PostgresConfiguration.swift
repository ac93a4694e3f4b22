import Glibc
import NameResolution

/// Where the database is, and how much of everything may be used. Every limit has a default that works on a laptop.
package struct PostgresConfiguration: Sendable, CustomStringConvertible {
    /// How statements reach the server.
    package enum StatementMode: Sendable, Hashable {
        /// Prepared once per connection. Limits of time are set when a connection starts.
        case named
        /// Nothing outlives a transaction: for PgBouncer before 1.21 in transaction mode, which knows neither named
        /// statements nor startup options. Limits of time are sent with each transaction.
        case unnamed
    }

    /// The options of the connection string, as libpq parsed them.
    private(set) var parameters: [ConnectionParameter]

    /// Shown in `pg_stat_activity`, unless the connection string names one.
    package var applicationName = "concord"
    package var statementMode = StatementMode.named

    /// Shared connections for reads: as many as cores.
    package var readConnections = Swift.max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// Shared connections for write batches, so that several commits share one flush of the log.
    package var writeConnections = 8
    /// Connections (and threads) for `PostgresClient.transaction`.
    package var leasedConnections = 4

    /// Callers that may wait for each lane, and for a leased connection.
    package var queueMax = 4096
    /// How long a caller waits before its statement is sent.
    package var queueWait = Duration.seconds(1)
    /// Statements sent to one read connection in one go.
    package var statementsPerBatchMax = 64
    /// Whether statements of several callers that differ only in their values are sent as one (`MergedStatements.swift`).
    package var mergesStatements = true
    /// The most shared write batches that are applied in one transaction (`WriteBatch.isShared`).
    package var writesPerTransactionMax = 16
    /// Statements in one write batch or one call of `read`.
    package var statementsPerCallMax = 1024
    /// Distinct statement texts that are prepared per connection; those beyond are parsed each time.
    package var preparedStatementsMax = 1024

    /// The server's `statement_timeout` for reads.
    package var readStatementTimeout = Duration.seconds(2)
    /// The server's `statement_timeout` for writes and leased transactions.
    package var writeStatementTimeout = Duration.seconds(5)
    /// The server's `lock_timeout` for writes and leased transactions.
    package var lockTimeout = Duration.seconds(2)
    /// The server's `idle_in_transaction_session_timeout`.
    package var idleInTransactionTimeout = Duration.seconds(10)
    /// How much longer than the server's own limit a caller waits for an answer, and a connection may stay silent
    /// before it is dropped.
    package var answerGrace = Duration.seconds(1)

    package var connectTimeout = Duration.seconds(5)
    /// The wait after a lost connection, and the first wait after a failed attempt; doubled with each further failure.
    package var reconnectDelayMin = Duration.milliseconds(50)
    /// Also how old a connection is at least that is made anew because it cannot be written to, and for how long no write
    /// must have been refused before the server is taken to accept them again.
    package var reconnectDelayMax = Duration.seconds(5)
    /// How long `run` waits for work in flight after `shutDown`.
    package var drainWait = Duration.seconds(10)

    /// How often `transaction` runs its body before it gives up on serialization failures and deadlocks.
    package var transactionAttemptsMax = 5
    /// Rows of one result.
    package var rowsMax = 100_000
    /// Bytes of one parameter.
    package var valueBytesMax = 16 << 20

    /// Finds the addresses of hosts: the system's resolver, except in tests.
    var lookUp = HostResolver.system

    /// - Parameter connectionString: a URL (`postgresql://user@host:5432/database?sslmode=require`) or `keyword=value`
    ///   pairs, as libpq takes them (PostgreSQL 15 documentation, section 34.1.1).
    /// - Throws: `.configuration` when libpq cannot parse it. The message does not repeat it.
    package init(connectionString: String) throws(PostgresError) {
        parameters = try ConnectionParameter.parse(connectionString)
    }

    /// The same settings for another database of the same server.
    package func withDatabase(_ name: String) -> Self {
        var copy = self
        copy.parameters = parameters.setting("dbname", to: name)
        return copy
    }

    /// The hosts and ports that the connection string names; `nil` if it leaves them to libpq's defaults.
    package var place: String? {
        let hosts = DatabaseHost.all(of: parameters).map { host in
            DatabaseHost.place(host.name.isEmpty ? host.address : host.name, port: host.port)
        }
        return hosts.isEmpty ? nil : hosts.joined(separator: ", ")
    }

    /// The value of an option, such as `sslmode`; `nil` if the connection string does not set it, or if it is secret.
    package func value(of keyword: String) -> String? {
        parameters.first { $0.keyword == keyword && !$0.isSecret }?.value
    }

    /// The connection options with every secret replaced by `***`.
    package var description: String {
        parameters.map { "\($0.keyword)=\($0.isSecret ? "***" : $0.value)" }.joined(separator: " ")
    }
}
