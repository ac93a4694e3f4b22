import Glibc
import SystemPackage

/// The directory of a private cluster.
///
/// It belongs to the server's user, has mode 0700, and contains `cluster` (the data directory of PostgreSQL),
/// `cluster.new` (during `initdb`), `server.log` and `concord.lock`.
struct DataDirectory {
    /// The absolute path, with links resolved.
    var path: String
    /// The notice for the person who started Concord, if the data is not at the requested location.
    var notice: String?

    /// PostgreSQL's data directory.
    var cluster: String { "\(path)/cluster" }
    /// The temporary name of a cluster while it is created: it reveals an interrupted `initdb`.
    var unfinishedCluster: String { "\(path)/cluster.new" }
    /// The log file of the server.
    var log: String { "\(path)/server.log" }
    /// The lock of the Concord that uses the directory. The file also marks a directory as Concord's.
    var lock: String { "\(path)/concord.lock" }
    /// Concord's settings, included by `postgresql.conf`.
    var configurationFile: String { "\(cluster)/concord.conf" }
    /// The file in which the running server describes itself.
    var pidFile: String { "\(cluster)/postmaster.pid" }

    /// The location of the data if the server's user cannot enter the requested one.
    static let fallbackRoot = "/var/lib/concord"

    /// Finds or creates the directory and makes `owner` its owner.
    ///
    /// If Concord is root and the server's user may not pass through a directory above (usually a home folder), a
    /// directory under ``fallbackRoot``, with a name derived from the requested path, replaces it.
    /// - Throws: `notADataDirectory`, `ownedByAnotherUser`, `commandFailed` or `systemCall`.
    static func prepare(
        _ requested: String,
        owner: ServerUser,
        fallbackRoot: String = fallbackRoot
    ) async throws(PostgresClusterError) -> DataDirectory {
        let wanted = try resolve(requested)
        guard try await canEnter(parentOf: wanted, as: owner) else {
            let name = FilePath(wanted).lastComponent?.string ?? "data"
            let path = "\(fallbackRoot)/\(name)-\(stableName(for: wanted))"
            try make(path, owner: owner)
            let notice = "PostgreSQL's user cannot enter \(wanted); its data is in \(path)"
            return DataDirectory(path: path, notice: notice)
        }
        try make(wanted, owner: owner)
        return DataDirectory(path: wanted, notice: nil)
    }

    /// Locks the directory against every other Concord, and names this process in the lock file.
    ///
    /// The lock ends with the returned file, at the latest with this process. Child processes do not inherit it.
    /// `patience`: the wait for the guard of an earlier owner (``ClusterSettings/endsWithOwner``), which holds the lock
    /// until the server has stopped.
    /// - Throws: `inUse`, `cancelled` or `systemCall`.
    func acquireLock(patience: Duration) async throws(PostgresClusterError) -> FileDescriptor {
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(
                FilePath(lock),
                .readWrite,
                options: [.create, .noFollow, .closeOnExec],
                permissions: [.ownerReadWrite]
            )
        } catch {
            throw .systemCall(operation: "open", path: lock, reason: "\(error)")
        }
        guard await waitUntil(patience, { flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 }) else {
            try? file.close()
            if Task.isCancelled { throw .cancelled }
            throw .inUse(directory: path, processID: readFile(lock).flatMap { Int($0.trimmingWhitespace) })
        }
        // The id is only for the error message of a second process.
        ftruncate(file.rawValue, 0)
        _ = try? file.writeAll(toAbsoluteOffset: 0, "\(getpid())\n".utf8)
        return file
    }

    /// The major version that created the cluster; nil if there is no cluster.
    /// - Throws: `incompleteCluster` if the directory is not a cluster.
    func clusterMajor() throws(PostgresClusterError) -> Int? {
        guard FileFacts(cluster) != nil else { return nil }
        guard let version = readFile("\(cluster)/PG_VERSION"), let major = Int(version.trimmingWhitespace),
            FileFacts("\(cluster)/global/pg_control") != nil
        else { throw .incompleteCluster(cluster) }
        return major
    }

    /// Creates the cluster. Deletes an earlier, interrupted attempt first. The cluster gets its name only when it is
    /// complete.
    /// - Throws: `commandFailed` or `systemCall`.
    func initialize(
        with binaries: ServerBinaries,
        role: String,
        isDurable: Bool,
        owner: ServerUser
    ) async throws(PostgresClusterError) {
        try await runChildSuccessfully("/bin/rm", ["-rf", "--", unfinishedCluster], as: owner)
        let arguments = [
            "--pgdata=\(unfinishedCluster)", "--username=\(role)", "--encoding=UTF8", "--locale=C",
            "--auth-local=trust", "--auth-host=reject", "--no-instructions",
        ]
        let haste = isDurable ? [] : ["--no-sync"]
        try await runChildSuccessfully(binaries.path("initdb"), arguments + haste, as: owner)
        let main = "\(unfinishedCluster)/postgresql.conf"
        guard let defaults = readFile(main) else { throw systemCallFailure("read", main) }
        try replaceFile(main, with: "\(defaults)\ninclude_if_exists = 'concord.conf'\n", owner: owner)
        guard rename(unfinishedCluster, cluster) == 0 else { throw systemCallFailure("create", cluster) }
    }

    /// The server process that `postmaster.pid` names, if it is alive and serves this directory.
    func livePostmaster() -> Postmaster? {
        readFile(pidFile).flatMap(Postmaster.init(pidFile:)).flatMap { $0.isAlive(in: cluster) ? $0 : nil }
    }

    /// Returns the absolute path of `path`, with links resolved in the part that exists.
    private static func resolve(_ path: String) throws(PostgresClusterError) -> String {
        var absolute = FilePath(path)
        if absolute.isRelative {
            guard let current = realpath(".", nil) else { throw systemCallFailure("resolve", ".") }
            defer { free(current) }
            absolute = FilePath(String(cString: current)).pushing(absolute)
        }
        absolute.lexicallyNormalize()
        var missing: [FilePath.Component] = []
        while true {
            if let resolved = realpath(absolute.string, nil) {
                defer { free(resolved) }
                return missing.reversed().reduce(into: FilePath(String(cString: resolved))) { $0.append($1) }.string
            }
            guard errno == ENOENT, let last = absolute.lastComponent else {
                throw systemCallFailure("resolve", path)
            }
            missing.append(last)
            absolute.removeLastComponent()
        }
    }

    /// Returns true if `owner` may pass through all existing directories above `path`. Missing ones will be created so
    /// that it may.
    private static func canEnter(
        parentOf path: String,
        as owner: ServerUser
    ) async throws(PostgresClusterError) -> Bool {
        var ancestor = FilePath(path).removingLastComponent()
        while FileFacts(ancestor.string) == nil, ancestor.removeLastComponent() {}
        // Checked as that user, because mode bits are not sufficient (access control lists, mounts).
        return try await runChild("/usr/bin/test", ["-x", ancestor.string], as: owner).succeeded
    }

    /// Creates the directory and its parents, or uses an existing one that is empty or Concord's.
    private static func make(_ path: String, owner: ServerUser) throws(PostgresClusterError) {
        var above = FilePath(path).removingLastComponent()
        var missing: [String] = []
        while FileFacts(above.string) == nil {
            missing.append(above.string)
            above.removeLastComponent()
        }
        for directory in missing.reversed() {
            guard mkdir(directory, 0o755) == 0 || errno == EEXIST else { throw systemCallFailure("create", directory) }
            // The server's user must be able to pass, regardless of the umask.
            if geteuid() == 0 { chmod(directory, 0o711) }
        }
        if mkdir(path, 0o700) != 0 {
            guard errno == EEXIST else { throw systemCallFailure("create", path) }
            guard let facts = FileFacts(path), facts.isDirectory else { throw .notADataDirectory(path) }
            guard facts.owner == owner.userID || geteuid() == 0 else {
                throw .ownedByAnotherUser(directory: path, userID: facts.owner)
            }
            let entries = try directoryEntries(path)
            guard entries.isEmpty || entries.contains("concord.lock") else { throw .notADataDirectory(path) }
            if let cluster = FileFacts("\(path)/cluster"), cluster.owner != owner.userID {
                throw .ownedByAnotherUser(directory: "\(path)/cluster", userID: cluster.owner)
            }
        }
        try makePrivate(path, owner: owner)
    }
}
