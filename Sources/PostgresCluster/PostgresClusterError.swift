/// The reason why a private PostgreSQL cluster cannot be started or used.
///
/// The description names the next step for a person. No case contains data of accounts, because the server's log
/// contains no statements (see ``ClusterSettings``).
package enum PostgresClusterError: Error, Equatable, Sendable {
    /// No PostgreSQL of a supported version was found. `searched`: the searched directories.
    case serverNotInstalled(searched: [String])
    /// Concord runs as root, PostgreSQL refuses root, and the user `postgres` does not exist.
    case serverUserMissing
    /// Concord runs as root, and neither `setpriv` nor `runuser` exists to run the server as another user.
    case cannotSwitchUser
    /// Another process holds the lock of the data directory. `processID`: nil if it cannot be read.
    case inUse(directory: String, processID: Int?)
    /// The directory has files, but not the lock file of Concord.
    case notADataDirectory(String)
    /// PostgreSQL `found` created the cluster, and only the versions in `installed` are installed.
    case versionMismatch(directory: String, found: Int, installed: [Int])
    /// The cluster inside the data directory lacks its basic files.
    case incompleteCluster(String)
    /// The directory belongs to another user.
    case ownedByAnotherUser(directory: String, userID: UInt32)
    /// The path of the Unix socket would be longer than the 107 bytes that the kernel allows.
    case socketPathTooLong(String)
    /// A child process failed. `output`: both of its streams.
    case commandFailed(command: String, output: String)
    /// The server did not become ready. `log`: the end of its log since the start.
    case startFailed(output: String, log: String)
    /// A system call failed.
    case systemCall(operation: String, path: String, reason: String)
    /// The operation needs a running cluster.
    case notRunning
    /// Another `start` or `stop` of the same object is running.
    case busy
    /// The calling task was cancelled.
    case cancelled
}

extension PostgresClusterError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .serverNotInstalled(let searched):
            """
            no PostgreSQL server of version \(ServerBinaries.majorMin) or newer found \
            (looked in \(searched.joined(separator: ", "))); on Debian or Ubuntu: apt-get install postgresql
            """
        case .serverUserMissing:
            """
            running as root, and PostgreSQL refuses root, but there is no user "postgres" to run it as; \
            on Debian or Ubuntu: apt-get install postgresql
            """
        case .cannotSwitchUser:
            "running as root, and PostgreSQL refuses root, but neither setpriv nor runuser is installed (util-linux)"
        case .inUse(let directory, .some(let processID)):
            "the data directory \(directory) is in use by process \(processID); stop it, or choose another directory"
        case .inUse(let directory, .none):
            "the data directory \(directory) is in use by another process; stop it, or choose another directory"
        case .notADataDirectory(let directory):
            "\(directory) holds files that are not Concord's; choose an empty or a new directory"
        case .versionMismatch(let directory, let found, let installed):
            """
            the cluster in \(directory) was made by PostgreSQL \(found), but only \
            \(installed.map(String.init).joined(separator: ", ")) is installed; \
            install postgresql-\(found), or remove the directory to start afresh
            """
        case .incompleteCluster(let directory):
            "\(directory) is not a complete PostgreSQL cluster; remove it to start afresh"
        case .ownedByAnotherUser(let directory, let userID):
            "\(directory) belongs to another user (id \(userID)); run as that user, or choose another directory"
        case .socketPathTooLong(let path):
            "the Unix socket path \(path) is longer than 107 bytes; choose a shorter socket directory"
        case .commandFailed(let command, let output):
            "\(command) failed: \(output)"
        case .startFailed(let output, let log):
            "PostgreSQL did not start: \(output)\nend of its log:\n\(log)"
        case .systemCall(let operation, let path, let reason):
            "could not \(operation) \(path): \(reason)"
        case .notRunning:
            "the PostgreSQL cluster is not running"
        case .busy:
            "the PostgreSQL cluster is being started or stopped"
        case .cancelled:
            "the work on the PostgreSQL cluster was cancelled"
        }
    }
}
