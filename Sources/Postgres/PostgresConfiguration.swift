import Glibc
import NameResolution

/// The address of the database and all limits. Every limit has a default that works on a laptop.
package struct PostgresConfiguration: Sendable, CustomStringConvertible {
    /// The form in which statements are sent.
    package enum StatementMode: Sendable, Hashable {
        /// Prepared once per connection.
        case named
        /// No state outlives a transaction: for PgBouncer before 1.22 in transaction mode, which does not support named
        /// statements and `DEALLOCATE ALL`. The session settings are sent with each transaction.
        case unnamed
    }

    /// The place of the session settings: time limits, read-only, and how statements are planned.
    package enum SessionSettings: Sendable, Hashable {
        /// Set when a connection starts, by its startup options.
        case connection
        /// Sent with each transaction: for PgBouncer in transaction mode, which refuses or ignores startup options.
        case transaction
    }

    /// The options of the connection string, as libpq parsed them.
    private(set) var parameters: [ConnectionParameter]

    /// Shown in `pg_stat_activity`, unless the connection string has one.
    package var applicationName = "concord"
    package var statementMode = StatementMode.named
    /// `.unnamed` statements always send them with each transaction.
    package var sessionSettings = SessionSettings.connection

    /// Shared connections for reads: as many as cores.
    package var readConnections = Swift.max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    /// Shared connections for write batches, so that several commits share one flush of the log.
    package var writeConnections = 8
    /// Connections, and threads, for `PostgresClient.transaction`.
    package var leasedConnections = 4

    /// The time after which an unused shared connection is closed, except the last read and the last write connection.
    package var idleTimeout: Duration? = Duration.seconds(60)

    /// Callers that may wait for each lane, and for a leased connection.
    package var queueMax = 4096
    /// Longest wait of a caller until its statement is sent.
    package var queueWait = Duration.seconds(1)
    /// Most statements that are sent together on one read connection.
    package var statementsPerBatchMax = 64
    /// If `true`, statements of several callers that differ only in their values are sent as one
    /// (`MergedStatements.swift`).
    package var mergesStatements = true
    /// Most shared write batches in one transaction (`WriteBatch.isShared`).
    package var writesPerTransactionMax = 16
    /// Most statements in one write batch or one call of `read`.
    package var statementsPerCallMax = 1024
    /// Distinct statement texts that are prepared per connection. Others are parsed each time.
    package var preparedStatementsMax = 1024

    /// The server's `statement_timeout` for reads.
    package var readStatementTimeout = Duration.seconds(2)
    /// The server's `statement_timeout` for writes and leased transactions.
    package var writeStatementTimeout = Duration.seconds(5)
    /// The server's `lock_timeout` for writes and leased transactions.
    package var lockTimeout = Duration.seconds(2)
    /// The server's `idle_in_transaction_session_timeout`.
    package var idleInTransactionTimeout = Duration.seconds(10)
    /// Time beyond the server's own limit that a caller waits for an answer, and that a connection may send nothing
    /// before it is dropped.
    package var answerGrace = Duration.seconds(1)

    package var connectTimeout = Duration.seconds(5)
    /// The delay after a lost connection, and after the first failed attempt. It doubles with each further failure.
    package var reconnectDelayMin = Duration.milliseconds(50)
    /// Also the minimum age at which a connection that cannot write is replaced, and the time without refused writes
    /// after which the server counts as writable again.
    package var reconnectDelayMax = Duration.seconds(5)
    /// Longest wait of `run` for work in flight after `shutDown`.
    package var drainWait = Duration.seconds(10)

    /// Most runs of a transaction's body after serialization failures and deadlocks.
    package var transactionAttemptsMax = 5
    /// Most rows of one result.
    package var rowsMax = 100_000
    /// Most bytes of one parameter.
    package var valueBytesMax = 16 << 20

    /// Finds the addresses of hosts: the system's resolver, except in tests.
    var lookUp = HostResolver.system

    /// - Parameter connectionString: a URL (`postgresql://user@host:5432/database?sslmode=require`) or `keyword=value`
    ///   pairs, as libpq accepts them (PostgreSQL 15 documentation, section 34.1.1).
    /// - Throws: `.configuration` if libpq cannot parse it. The message does not contain it.
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
