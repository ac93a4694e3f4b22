import Glibc

/// The server process of a cluster from its `postmaster.pid` (PostgreSQL, `miscadmin.h`: one value a line, the status
/// on line 8).
struct Postmaster: Equatable {
    /// The state that the server reports about itself.
    enum Status: Equatable {
        case starting
        case ready
        case stopping
    }

    var processID: pid_t
    var socketDirectory: String
    var status: Status

    /// Parses the text of a `postmaster.pid`; nil if it has another form.
    init?(pidFile text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // A single-user server writes its negated id.
        guard let number = lines.first.flatMap({ pid_t($0) }), number != 0 else { return nil }
        processID = abs(number)
        socketDirectory = lines.count > 4 ? String(lines[4]) : ""
        status =
            switch lines.count > 7 ? String(lines[7]).trimmingWhitespace : "" {
            case "ready", "standby": .ready
            case "stopping": .stopping
            default: .starting
            }
    }

    /// Returns true if the process is alive and is the server of the cluster in `clusterDirectory`.
    ///
    /// The process id alone is not sufficient, because the system reuses ids. Reads the command line instead of the
    /// working directory, which even root may not read inside a container.
    func isAlive(in clusterDirectory: String) -> Bool {
        guard let state = Self.processState(processID), state != "Z", state != "X" else { return false }
        guard let commandLine = readProcFile("/proc/\(processID)/cmdline") else { return false }
        let words = commandLine.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        // Child processes of servers have a title such as "postgres: checkpointer" instead of a command line.
        guard let program = words.first?.split(separator: "/").last, program == "postgres" else { return false }
        guard let flag = words.firstIndex(of: "-D"), flag + 1 < words.count else {
            // A server that was started by hand with PGDATA names no directory. The pid file is of this directory.
            return true
        }
        return words[flag + 1] == clusterDirectory || !words[flag + 1].hasPrefix("/")
    }

    /// Returns the one-letter state of a process (proc(5)); nil if it does not exist.
    private static func processState(_ processID: pid_t) -> String? {
        guard let status = readProcFile("/proc/\(processID)/stat") else { return nil }
        // The second field is the name of the program in parentheses. The name may contain parentheses.
        let text = String(decoding: status, as: UTF8.self)
        guard let nameEnd = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: nameEnd)...].split(separator: " ").first.map(String.init)
    }

    /// Stops the server: first a fast shutdown, after `stopTimeout` an immediate one, at last SIGKILL. Returns when the
    /// process has ended.
    ///
    /// - Throws: `systemCall` if the process may not be signalled, or does not end after SIGKILL.
    func stop(in clusterDirectory: String, mode: StopMode, stopTimeout: Duration) async throws(PostgresClusterError) {
        var orders: [(signal: Int32, patience: Duration)] = [
            (SIGINT, stopTimeout), (SIGQUIT, .seconds(10)), (SIGKILL, .seconds(10)),
        ]
        if mode == .immediate { orders.removeFirst() }
        for order in orders {
            guard isAlive(in: clusterDirectory) else { return }
            guard kill(processID, order.signal) == 0 || errno == ESRCH else {
                throw systemCallFailure("stop", "PostgreSQL (process \(processID))")
            }
            // A suspended server handles signals only after it continues.
            kill(processID, SIGCONT)
            if await waitUntil(order.patience, { !isAlive(in: clusterDirectory) }) { return }
        }
        throw .systemCall(operation: "stop", path: "PostgreSQL (process \(processID))", reason: "it does not end")
    }
}

/// The kind of shutdown.
package enum StopMode: Equatable, Sendable {
    /// Closes connections and flushes all data, so that the next start is quick.
    case fast
    /// Ends abruptly, like a power failure. The next start recovers.
    case immediate
}

/// Polls `condition` every few milliseconds until it holds or `patience` has passed. Returns true if it held.
///
/// Returns at once in a cancelled task.
func waitUntil(_ patience: Duration, _ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + patience
    while !(await condition()) {
        guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
            return await condition()
        }
    }
    return true
}
