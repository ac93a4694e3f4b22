import Glibc

/// The server process of one cluster, as its `postmaster.pid` describes it (PostgreSQL, `miscadmin.h`:
/// one fact a line, the status on the eighth).
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

    /// The description in the text of a `postmaster.pid`, or nil when the text is no such description.
    init?(pidFile text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // A single-user server writes its id negated.
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
    /// A process id alone proves nothing, because ids are used again. The command line is read rather than the
    /// working directory, which even root may not see inside a container.
    func isAlive(in clusterDirectory: String) -> Bool {
        guard let state = Self.processState(processID), state != "Z", state != "X" else { return false }
        guard let commandLine = readProcFile("/proc/\(processID)/cmdline") else { return false }
        let words = commandLine.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        // A child of some server has replaced its command line by a title such as "postgres: checkpointer".
        guard let program = words.first?.split(separator: "/").last, program == "postgres" else { return false }
        guard let flag = words.firstIndex(of: "-D"), flag + 1 < words.count else {
            // Started by hand with PGDATA: this directory's file names it, and no other directory is named.
            return true
        }
        return words[flag + 1] == clusterDirectory || !words[flag + 1].hasPrefix("/")
    }

    /// The one-letter state of a process (proc(5)), or nil when there is no such process.
    private static func processState(_ processID: pid_t) -> String? {
        guard let status = readProcFile("/proc/\(processID)/stat") else { return nil }
        // The second field is the program's name in parentheses and may hold anything, parentheses included.
        let text = String(decoding: status, as: UTF8.self)
        guard let nameEnd = text.lastIndex(of: ")") else { return nil }
        return text[text.index(after: nameEnd)...].split(separator: " ").first.map(String.init)
    }

    /// Ends the server: fast (connections are cut, data is flushed), after `stopTimeout` immediately (recovery at
    /// the next start), at last by SIGKILL. Returns when the process is gone.
    ///
    /// - Throws: `systemCall` when the process may not be signalled or survives even SIGKILL for a while.
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
            // A suspended server notices signals only when it runs again.
            kill(processID, SIGCONT)
            if await waitUntil(order.patience, { !isAlive(in: clusterDirectory) }) { return }
        }
        throw .systemCall(operation: "stop", path: "PostgreSQL (process \(processID))", reason: "it does not end")
    }
}

/// The kind of shutdown.
package enum StopMode: Equatable, Sendable {
    /// Connections are cut and everything is flushed; the next start is quick.
    case fast
    /// An abrupt end, like a power failure; the next start recovers.
    case immediate
}

/// Asks again every few milliseconds until `condition` holds or `patience` is used up; whether it held in the end.
///
/// In a cancelled task the answer comes at once.
func waitUntil(_ patience: Duration, _ condition: () async -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + patience
    while !(await condition()) {
        guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
            return await condition()
        }
    }
    return true
}
