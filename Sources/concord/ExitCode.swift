import AccountOperations
import ArgumentParser
import HTTPServer
import Migrations
import Postgres
import PostgresCluster

/// The exit codes of commands, for scripts (`docs/reference/configuration.md`). 0 is "yes", 64 (`validationFailure`) a
/// wrong command line. The numbers from 64 are those of sysexits(3).
extension ExitCode {
    /// The command did its work, and the answer is "no": pending, changed, refused.
    static let answerIsNo = ExitCode(1)
    /// `doctor` found something that stops the service.
    static let failureFound = ExitCode(2)
    /// The input is invalid.
    static let badData = ExitCode(65)
    static let databaseUnreachable = ExitCode(69)
    /// The receiver of a test event did not accept it.
    static let notAccepted = ExitCode(69)
    /// An unexpected error.
    static let bug = ExitCode(70)
    /// The output could not be written: the disk is full, or the reader is gone.
    static let cannotWrite = ExitCode(74)
    /// Stopped before the end. The same command continues.
    static let stopped = ExitCode(75)
    static let badConfiguration = ExitCode(78)

    /// The exit code of a command that ends with `error`.
    init(for error: any Error) {
        self =
            switch error {
            case let error as ExitCode: error
            case is ValidationError: .validationFailure
            case is ConfigurationMistakes, is CannotListen, is SigningKeys.Unreadable, is Sealer.OpeningFailure:
                .badConfiguration
            case let error as StartupFailure: error.exitCode
            case AccountFileError.unreadable: .badConfiguration
            case AccountFileError.broken: .badData
            case AccountFileError.unnamedHash: .validationFailure
            case is TemporaryFileFailure, is OutputFailure: .cannotWrite
            case let error as MigrationDirectoryError: Self(for: error)
            case MigrationFailure.stepFailed(_, let cause): cause.isUnreachable ? .databaseUnreachable : .answerIsNo
            case MigrationFailure.busy, MigrationFailure.tableInUse: .answerIsNo
            case let failure as DistributionFailure: failure.cause.isUnreachable ? .databaseUnreachable : .answerIsNo
            case let failure as DatabaseFailure where failure.migration != nil:
                failure.error.isUnreachable ? .databaseUnreachable : .answerIsNo
            case let failure as DatabaseFailure: Self(for: failure.error)
            case let error as PostgresError: Self(for: error)
            case let error as PostgresClusterError: Self(for: error)
            default: .bug
            }
    }

    private init(for error: PostgresError) {
        if error.isUnreachable || error.refusesWrites {
            self = .databaseUnreachable
            return
        }
        self =
            switch error.code {
            // The server answers, but not in time.
            case .server(.queryCanceled), .server(.lockNotAvailable): .databaseUnreachable
            // The configured role lacks a permission, or the schema has another version.
            case .server(.insufficientPrivilege), .server(.undefinedTable), .server(.undefinedColumn), .configuration:
                .badConfiguration
            case .server, .connectionLost, .commitOutcomeUnknown, .unavailable, .queueFull, .queueTimeout,
                .statementTimeout, .cancelled, .shutDown, .decoding, .tooManyRows, .valueTooLarge, .rolledBack, .misuse:
                .bug
            }
    }

    private init(for error: PostgresClusterError) {
        self =
            switch error {
            case .serverNotInstalled, .serverUserMissing, .cannotSwitchUser, .inUse, .notADataDirectory,
                .versionMismatch,
                .incompleteCluster, .ownedByAnotherUser, .socketPathTooLong:
                .badConfiguration
            case .commandFailed, .startFailed, .systemCall: .databaseUnreachable
            case .notRunning, .busy, .cancelled: .bug
            }
    }

    private init(for error: MigrationDirectoryError) {
        self =
            switch error {
            case .unreadable, .unwritable: .badConfiguration
            case .nameNotAllowed: .validationFailure
            }
    }
}

extension PostgresError {
    /// True if the server was unreachable or lost, rather than refusing the request.
    var isUnreachable: Bool {
        switch code {
        case .connectionLost, .commitOutcomeUnknown, .unavailable, .queueFull, .queueTimeout, .statementTimeout,
            .shutDown:
            true
        case .server(let state):
            // Class 57P: the server is going down, has crashed or is starting.
            state.rawValue.hasPrefix("57P") || state == .tooManyConnections
        case .cancelled, .decoding, .tooManyRows, .valueTooLarge, .rolledBack, .configuration, .misuse: false
        }
    }

    /// The problem for the public, without names of tables.
    var problem: String {
        if isUnreachable { return "the database does not answer" }
        if refusesWrites { return "the database refuses writes: \(refusalOfWrites)" }
        return sqlState.map { "the database refused: SQLSTATE \($0.rawValue)" }
            ?? "the database's answer cannot be used: \(codeName)"
    }

    private var refusalOfWrites: String {
        switch sqlState {
        case SQLState.readOnlyTransaction: "it is a standby, or read-only"
        case SQLState.diskFull: "its disk is full"
        default: "it has no transaction ids left"
        }
    }
}

/// A command whose work may fail, as `reportingErrors` reports it.
protocol ReportingCommand: AsyncParsableCommand {
    func perform() async throws
}

extension ReportingCommand {
    func run() async throws {
        try await reportingErrors { try await perform() }
    }
}

/// Runs the body of a command. Prints its error on standard error and throws the exit code. Writes the output first: if
/// that fails, the command has failed, even if its work is done.
func reportingErrors(_ body: () async throws -> Void) async throws {
    var ending: (any Error)?
    do {
        try await body()
    } catch {
        ending = error
    }
    let isReported = ending is ExitCode || ending is ValidationError
    do {
        try flushOutput()
    } catch {
        if let ending, !isReported, ending as? OutputFailure != error { complain(words(for: ending)) }
        complain("\(error)")
        throw ExitCode(for: error)
    }
    guard let ending else { return }
    if isReported { throw ending }
    complain(words(for: ending))
    throw ExitCode(for: ending)
}

/// The text for an error that ends a command.
func words(for error: any Error) -> String {
    switch error {
    case is Sealer.OpeningFailure: "a stored secret cannot be read: \(error); check the key-encryption keys"
    case let error as PostgresError: DatabaseFailure(error, at: nil).description
    case PostgresClusterError.inUse: "\(error): --data-dir"
    default: "\(error)"
    }
}
