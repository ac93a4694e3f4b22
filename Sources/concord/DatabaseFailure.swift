import AccountStore
import Migrations
import Postgres

/// A failure of the database for the person at the command: its address, the reason and the next step.
struct DatabaseFailure: Error, CustomStringConvertible {
    let error: PostgresError
    /// The address of the database; `nil` if only libpq knows.
    let place: String?
    /// The migration that the failure ended.
    let migration: MigrationPlace?

    init(_ error: PostgresError, at place: String?, during migration: MigrationPlace? = nil) {
        self.error = error
        self.place = error.connectFailure?.place ?? place
        self.migration = migration
    }

    var description: String { (migration.map { "\($0): " } ?? "") + sentence }

    private var sentence: String {
        let place = place ?? "the database"
        if let failure = error.connectFailure {
            return "cannot connect to \(place): \(failure.words). \(failure.nextStep)"
        }
        if error.refusesWrites { return "\(place) refuses writes: \(error.message). \(Self.nextStepForWrites(error))" }
        switch error.code {
        case .server(.undefinedTable), .server(.undefinedColumn):
            return
                "the schema of \(place) is not the one that this Concord needs: \(error.message). Run `concord migrate up`"
        case .server(.insufficientPrivilege):
            return
                "\(place) refuses that: \(error.message). Use the role that owns the tables, or grant the missing privilege"
        case .server(.queryCanceled), .statementTimeout:
            return """
                \(place) took too long: \(error.message). Try again, or raise database.read_statement_timeout and \
                database.write_statement_timeout
                """
        case .server(.lockNotAvailable):
            return "\(place) is busy: \(error.message). Find the blocking session in pg_stat_activity, or try again"
        case .server where error.isUnreachable:
            return "\(place) cannot serve this: \(error.message). Try again in a moment"
        case .unavailable:
            return "cannot connect to \(place): \(error.message). Check host and port in database.url"
        case .connectionLost:
            return "lost the connection to \(place): \(error.message). Run the command again"
        case .commitOutcomeUnknown:
            return """
                lost the connection to \(place) during a commit: \(error.message). The change may have been made: check \
                before you run the command again
                """
        case .queueFull, .queueTimeout:
            return
                "\(place) gave no connection in time: \(error.message). Try again, or raise database.queue_wait_timeout"
        case .server(let state):
            return "\(place) refuses that: \(error.message) (SQLSTATE \(state.rawValue))"
        case .cancelled, .shutDown, .decoding, .tooManyRows, .valueTooLarge, .rolledBack, .configuration,
            .misuse:
            return "\(error)"
        }
    }

    private static func nextStepForWrites(_ error: PostgresError) -> String {
        switch error.sqlState {
        case SQLState.readOnlyTransaction:
            "Connect to the server that takes them: target_session_attrs=primary in database.url"
        case SQLState.diskFull: "Free space on its disk"
        default: "Run VACUUM there"
        }
    }
}

extension ConnectFailure {
    /// The reason as part of a sentence.
    var words: String {
        // Only texts such as `Connection refused`, not `SSL error` or messages of a server in another language.
        let isWord = state == nil && reason.dropFirst().first?.isLowercase == true
        return isWord ? reason.prefix(1).lowercased() + reason.dropFirst() : reason
    }

    /// The next step, with its command if there is one. The code of the server decides. Only ambiguous codes need the
    /// message, which may be in another language than English.
    var nextStep: String {
        switch state {
        case SQLState.unknownDatabase: "Create it: createdb --owner \(shellWord(user)) \(shellWord(database))"
        case SQLState.invalidPassword: "Check user and password in database.url"
        case SQLState.invalidAuthorization: nextStepForRole
        case SQLState.insufficientPrivilege:
            "Allow it: GRANT CONNECT ON DATABASE \(identifier(database)) TO \(identifier(user))"
        case SQLState.tooManyConnections:
            "Raise max_connections of PostgreSQL, or reduce the connections of its clients"
        case SQLState.cannotConnectNow: "Try again in a moment"
        case nil: nextStepWithoutServer
        // PgBouncer's code for nearly everything.
        case _ where reason.contains(Self.refusedOptions): Self.nextStepBehindPooler
        default: "Check user, database and sslmode in database.url"
        }
    }

    /// PgBouncer's answer to the startup options of a connection.
    private static let refusedOptions = "unsupported startup parameter"
    private static let nextStepBehindPooler = "Behind PgBouncer, set database.session_settings: transaction"

    private var nextStepForRole: String {
        if reason == "role \"\(user)\" does not exist" { return "Create it: createuser \(shellWord(user))" }
        if reason.contains("pg_hba.conf") {
            return "Allow it there, or check user, database and sslmode in database.url"
        }
        if reason.hasPrefix("Peer ") || reason.hasPrefix("Ident ") {
            return """
                Run the command as that user of the operating system, or give a password and a host: \
                postgresql://\(user):PASSWORD@127.0.0.1/\(database)
                """
        }
        if reason.contains("not permitted to log in") { return "Allow it: ALTER ROLE \(identifier(user)) LOGIN" }
        return "Check that the role exists and that pg_hba.conf allows it"
    }

    private var nextStepWithoutServer: String {
        if reason.contains(Self.refusedOptions) { return Self.nextStepBehindPooler }
        if reason.hasPrefix("Connection refused") { return "Is PostgreSQL running there?" }
        if place.hasPrefix("/"), reason.hasPrefix("No such file") {
            return "Is PostgreSQL running, and is its socket there (unix_socket_directories)?"
        }
        if reason.hasPrefix("could not translate host name") {
            return "Check the host in database.url, and the name servers of this machine"
        }
        if reason.contains("no password supplied") { return "Give one in database.url, or in ~/.pgpass" }
        if reason.contains("SSL") || reason.contains("certificate") {
            return "Check sslmode and sslrootcert in database.url, and the certificate of PostgreSQL"
        }
        return "Check host and port in database.url, and whether a firewall is in between"
    }
}

/// `text` as one word of a shell.
private func shellWord(_ text: String) -> String {
    let isPlain =
        !text.isEmpty
        && text.utf8.allSatisfy { byte in
            byte.isAlphanumeric || "-_.".utf8.contains(byte)
        }
    return isPlain
        ? text : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}

/// `text` as a name in SQL.
private func identifier(_ text: String) -> String {
    "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}

extension UInt8 {
    fileprivate var isAlphanumeric: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}

/// Runs `body`, which uses the database of `configuration`.
/// - Throws: `DatabaseFailure` in place of a `PostgresError` and of a failed migration; other errors of `body`.
func namingDatabase<Output>(
    _ configuration: PostgresConfiguration,
    _ body: () async throws -> Output
) async throws -> Output {
    do {
        return try await body()
    } catch let error as PostgresError {
        throw await databaseFailure(error, configuration)
    } catch MigrationFailure.stepFailed(let migration, let cause) {
        throw DatabaseFailure(cause, at: configuration.place, during: migration)
    } catch let failure as DistributionFailure where failure.cause.isUnreachable {
        throw await databaseFailure(failure.cause, configuration)
    }
}

/// Returns `error` with the address of the database and the reason why there is no connection.
func databaseFailure(_ error: PostgresError, _ configuration: PostgresConfiguration) async -> DatabaseFailure {
    DatabaseFailure(await reason(for: error, configuration), at: configuration.place)
}

/// Opens a connection to find the reason, because the shared connections of a client only report that they are missing.
private func reason(for failure: PostgresError, _ configuration: PostgresConfiguration) async -> PostgresError {
    guard failure.connectFailure == nil, [.unavailable, .connectionLost, .queueTimeout].contains(failure.code) else {
        return failure
    }
    do {
        // With the session settings of a client: a pooler may refuse them.
        try await PostgresConnection.transaction(of: .read, configuration) { _ throws(PostgresError) in }
        return failure
    } catch {
        return error as? PostgresError ?? failure
    }
}

/// - Throws: `StartupFailure` if the schema is older than this program needs, or a migration was interrupted.
func requireSchema(_ state: SchemaState) throws {
    let readiness = state.readiness(required: SchemaVersion.required)
    guard readiness.canBeServed else { throw StartupFailure(readiness.description, .badConfiguration) }
}
