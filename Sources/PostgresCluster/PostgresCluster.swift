import Glibc
import Subprocess
import SystemPackage

/// A private PostgreSQL server in one directory. Only its owner can reach it, through a Unix socket.
///
/// Works for any caller, including root: root's child processes run as the user `postgres`, because PostgreSQL refuses
/// root. One Concord at a time uses a directory. If a server outlived its Concord (`kill -9`), the next one adopts it
/// if it answers and has the same settings. Otherwise it is restarted.
///
/// A `start` or `stop` during another one fails with ``PostgresClusterError/busy``. Releasing the object without
/// ``stop(_:)`` unlocks the directory and leaves the server running.
package actor PostgresCluster {
    private enum State {
        case stopped
        case changing
        case running(ClusterConnection)
    }

    /// The superuser that `initdb` creates, and the role of all connections.
    private static let role = "concord"

    private let requestedDirectory: String
    private let settings: ClusterSettings
    private var state = State.stopped
    private var lock: DirectoryLock?

    /// Creates a cluster that is not running. Changes no file before ``start()``.
    /// - Parameters:
    ///   - dataDirectory: a directory that does not exist, is empty, or is that of an earlier cluster. Relative paths
    ///     start at the working directory.
    ///   - settings: the settings of the server.
    package init(dataDirectory: String, settings: ClusterSettings = .durable) {
        self.requestedDirectory = dataDirectory
        self.settings = settings
    }

    /// Creates the cluster if there is none, starts or adopts its server, and returns when it answers.
    ///
    /// Returns the same connection if the cluster is running. After a failure or a cancellation, the directory is
    /// unlocked and no server of this call is running.
    /// - Throws: `PostgresClusterError`, whose description names the next step.
    package func start() async throws(PostgresClusterError) -> ClusterConnection {
        switch state {
        case .running(let connection): return connection
        case .changing: throw .busy
        case .stopped: state = .changing
        }
        do throws(PostgresClusterError) {
            let connection = try await bringUp()
            state = .running(connection)
            return connection
        } catch {
            lock = nil
            state = .stopped
            throw error
        }
    }

    /// Stops the server and unlocks the directory. The data stays. Does nothing if the server is not running.
    ///
    /// Waits for the shutdown also in a cancelled task.
    /// - Throws: `PostgresClusterError.busy`, or `systemCall` if the server does not stop.
    package func stop(_ mode: StopMode = .fast) async throws(PostgresClusterError) {
        switch state {
        case .stopped: return
        case .changing: throw .busy
        case .running(let connection):
            state = .changing
            defer {
                lock = nil
                state = .stopped
            }
            let directory = DataDirectory(path: connection.dataDirectory)
            try await stopServer(of: directory, mode)
            unlink("\(connection.socketDirectory)/.s.PGSQL.\(ClusterConnection.port).lock")
            unlink("\(connection.socketDirectory)/.s.PGSQL.\(ClusterConnection.port)")
            rmdir(connection.socketDirectory)
        }
    }

    /// Stops the server and deletes the data directory.
    /// - Throws: `PostgresClusterError`.
    package func discard() async throws(PostgresClusterError) {
        guard case .running(let connection) = state else { throw .notRunning }
        try await stop(.immediate)
        // A child process of the stopped server may write for another moment while the directory is deleted.
        for _ in 1..<Self.removalsMax {
            let result = try await runChild("/bin/rm", ["-rf", "--", connection.dataDirectory])
            if result.succeeded { return }
            try? await Task.sleep(for: Self.removalPause)
        }
        try await runChildSuccessfully("/bin/rm", ["-rf", "--", connection.dataDirectory])
    }

    private static let removalsMax = 5
    private static let removalPause = Duration.milliseconds(200)

    /// Creates an empty database unless it exists.
    /// - Returns: true if it was created.
    /// - Throws: `PostgresClusterError.notRunning` or `commandFailed`.
    @discardableResult
    package func createDatabase(_ name: String) async throws(PostgresClusterError) -> Bool {
        guard case .running(let connection) = state else { throw .notRunning }
        let binaries = try await ServerBinaries.choose(
            in: settings.binaryDirectory,
            forClusterOf: connection.majorVersion,
            at: connection.dataDirectory
        )
        let result = try await runChild(
            binaries.path("createdb"),
            [
                "--host=\(connection.socketDirectory)", "--port=\(ClusterConnection.port)",
                "--username=\(connection.role)", "--maintenance-db=postgres", "--", name,
            ]
        )
        if result.succeeded { return true }
        // Messages of child processes are in English, so the code can recognize this one.
        if result.output.contains("already exists") { return false }
        throw .commandFailed(command: "createdb", output: result.output)
    }

    // The steps of `start`, in order.

    private func bringUp() async throws(PostgresClusterError) -> ClusterConnection {
        let owner = try ServerUser.forThisProcess()
        let directory = try await DataDirectory.prepare(requestedDirectory, owner: owner)
        lock = DirectoryLock(
            file: try await directory.acquireLock(patience: settings.endsWithOwner ? .seconds(15) : .seconds(2))
        )
        let existingMajor = try directory.clusterMajor()
        let binaries = try await ServerBinaries.choose(
            in: settings.binaryDirectory,
            forClusterOf: existingMajor,
            at: directory.cluster
        )
        if existingMajor == nil {
            try await directory.initialize(
                with: binaries,
                role: Self.role,
                isDurable: settings.isDurable,
                owner: owner
            )
        }
        let socketDirectory = try prepareSocketDirectory(
            root: settings.socketRoot,
            dataDirectory: directory.path,
            owner: owner
        )
        var connection = ClusterConnection(
            socketDirectory: socketDirectory,
            role: Self.role,
            dataDirectory: directory.path,
            logFile: directory.log,
            processID: 0,
            majorVersion: binaries.major,
            origin: existingMajor == nil ? .created : .started,
            notice: directory.notice
        )
        if let survivor = try await adoptOrStop(in: directory, socketDirectory, binaries) {
            connection.origin = .adopted
            connection.processID = Int(survivor.processID)
            return connection
        }
        let configuration = settings.configurationFile(socketDirectory: socketDirectory)
        try replaceFile(directory.configurationFile, with: configuration, owner: owner)
        let postmaster = try await startServer(in: directory, socketDirectory, binaries, owner)
        connection.processID = Int(postmaster.processID)
        if settings.endsWithOwner {
            try await undoingOnFailure(in: directory) { () throws(PostgresClusterError) in
                try await self.postGuard(on: postmaster, in: directory, socketDirectory)
            }
        }
        return connection
    }

    /// Returns the running server if it can be adopted. Otherwise stops it and returns nil.
    private func adoptOrStop(
        in directory: DataDirectory,
        _ socketDirectory: String,
        _ binaries: ServerBinaries
    ) async throws(PostgresClusterError) -> Postmaster? {
        // The server may still recover from the crash that also killed its Concord.
        _ = await waitUntil(settings.startTimeout) { directory.livePostmaster()?.status != .starting }
        guard let survivor = directory.livePostmaster() else { return nil }
        // A server with a guard is not adopted, because the guard stops it.
        if survivor.status == .ready, !settings.endsWithOwner,
            survivor.socketDirectory == socketDirectory,
            readFile(directory.configurationFile) == settings.configurationFile(socketDirectory: socketDirectory),
            try await answers(at: socketDirectory, binaries)
        {
            return survivor
        }
        try await stopServer(of: directory, .fast)
        return nil
    }

    private func answers(
        at socketDirectory: String,
        _ binaries: ServerBinaries
    ) async throws(PostgresClusterError) -> Bool {
        let arguments = ["--host=\(socketDirectory)", "--port=\(ClusterConnection.port)", "--timeout=3", "--quiet"]
        return try await runChild(binaries.path("pg_isready"), arguments).succeeded
    }

    private func startServer(
        in directory: DataDirectory,
        _ socketDirectory: String,
        _ binaries: ServerBinaries,
        _ owner: ServerUser
    ) async throws(PostgresClusterError) -> Postmaster {
        keepLogShort(directory.log)
        // Child processes of a killed server hold its shared memory until they notice. Waiting is the only way.
        let sharedMemoryDeadline = ContinuousClock.now + .seconds(30)
        while true {
            try await clearLeftovers(in: directory, socketDirectory, owner: owner)
            let logStart = FileFacts(directory.log)?.byteCount ?? 0
            let result = try await undoingOnFailure(in: directory) { () throws(PostgresClusterError) in
                try await runChild(
                    binaries.path("pg_ctl"),
                    [
                        "start", "--silent", "--wait",
                        "--timeout=\(max(1, self.settings.startTimeout.components.seconds))",
                        "--pgdata=\(directory.cluster)", "--log=\(directory.log)",
                    ],
                    as: owner
                )
            }
            if result.succeeded, let postmaster = directory.livePostmaster() { return postmaster }
            let log = readFile(directory.log, from: logStart, byteCountMax: 4096) ?? ""
            try await stopServer(of: directory, .immediate)
            guard log.contains("pre-existing shared memory block"), ContinuousClock.now < sharedMemoryDeadline,
                (try? await Task.sleep(for: .milliseconds(500))) != nil
            else {
                let lastLines = log.split(separator: "\n").suffix(20).joined(separator: "\n")
                throw .startFailed(output: result.output, log: lastLines)
            }
        }
    }

    /// Changes a stale pid file that would prevent the start. The caller must hold the lock of the directory.
    ///
    /// If another process has the id in the file, PostgreSQL takes it for the old server. The file must not be deleted:
    /// it names the shared memory by which PostgreSQL detects orphaned child processes of a killed server. Old and new
    /// processes together would corrupt the data.
    private func clearLeftovers(
        in directory: DataDirectory,
        _ socketDirectory: String,
        owner: ServerUser
    ) async throws(PostgresClusterError) {
        let socket = "\(socketDirectory)/.s.PGSQL.\(ClusterConnection.port)"
        for path in [socket, "\(socket).lock"] { unlink(path) }
        // The server died between creating and writing the file.
        guard await waitUntil(.seconds(1), { readFile(directory.pidFile)?.isEmpty != true }) else {
            unlink(directory.pidFile)
            return
        }
        guard let text = readFile(directory.pidFile), let server = Postmaster(pidFile: text),
            kill(server.processID, 0) == 0
        else { return }
        // One more than the largest process id of Linux (PID_MAX_LIMIT): no process has it.
        let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = lines.count > 1 ? lines[1] : ""
        try replaceFile(directory.pidFile, with: "\((1 << 22) + 1)\n\(rest)", owner: owner)
    }

    /// Runs `body`. If it fails or is cancelled, stops the server.
    private func undoingOnFailure<Output>(
        in directory: DataDirectory,
        _ body: () async throws(PostgresClusterError) -> Output
    ) async throws(PostgresClusterError) -> Output {
        do throws(PostgresClusterError) {
            return try await body()
        } catch {
            // A server that was just forked writes its pid file a moment later.
            _ = await Task { await waitUntil(.milliseconds(500)) { directory.livePostmaster() != nil } }.value
            try? await stopServer(of: directory, .immediate)
            throw error
        }
    }

    /// Stops the server of `directory`, if any. Uses a separate task, because a cancelled caller could not wait.
    private func stopServer(of directory: DataDirectory, _ mode: StopMode) async throws(PostgresClusterError) {
        let stopTimeout = settings.stopTimeout
        let outcome = await Task { () async -> Result<Void, PostgresClusterError> in
            do throws(PostgresClusterError) {
                try await directory.livePostmaster()?.stop(
                    in: directory.cluster,
                    mode: mode,
                    stopTimeout: stopTimeout
                )
                return .success(())
            } catch {
                return .failure(error)
            }
        }.value
        try outcome.get()
    }

    /// Starts the guard: a process that waits for the lock of the directory, which it gets when this process ends in
    /// any way. It then stops the server and deletes the directory of its socket.
    private func postGuard(
        on server: Postmaster,
        in directory: DataDirectory,
        _ socketDirectory: String
    ) async throws(PostgresClusterError) {
        // After a regular stop, the file is missing or names another server, and the guard does nothing. It holds the
        // lock until the server has stopped, so that the next owner starts afterwards.
        let order = #"""
            [ "$(head -n 1 "$1" 2>/dev/null)" = "$2" ] && kill -INT "$2" || exit 0
            tries=0
            while [ -e "$1" ] && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
            rmdir "$3"
            """#
        let script = #"setsid --fork flock "$1" sh -c "$2" guard "$3" "$4" "$5" </dev/null >/dev/null 2>&1"#
        let arguments = [
            directory.lock, order, directory.pidFile, String(server.processID), socketDirectory,
        ]
        try await runChildSuccessfully("/bin/sh", ["-c", script, "concord-guard"] + arguments)
    }

    /// Starts a new log if the old one is large. Keeps one old log.
    private func keepLogShort(_ log: String) {
        if let facts = FileFacts(log), facts.byteCount > 16 << 20 { rename(log, "\(log).1") }
    }
}

/// The open, locked file of a data directory. Closing it releases the lock.
private final class DirectoryLock: Sendable {
    private let file: FileDescriptor

    init(file: FileDescriptor) {
        self.file = file
    }

    deinit {
        try? file.close()
    }
}
