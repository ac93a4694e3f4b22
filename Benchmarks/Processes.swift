import Glibc

/// A failed step of a benchmark.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A started program whose output goes to a file.
struct ChildProcess: Sendable {
    let processID: pid_t
    private let outputPath: String

    /// - Parameters:
    ///   - program: a path, or a name to search for in the usual places.
    ///   - arguments: the program's arguments.
    ///   - environment: its environment variables, without the search path.
    ///   - output: the file for both output streams.
    /// - Throws: `BenchmarkFailure` if it cannot be started.
    init(_ program: String, _ arguments: [String], environment: [String: String] = [:], output: String) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // This thread may block signals, but pgbench ends by one.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let settings = environment.map { "\($0.key)=\($0.value)" } + ["PATH=\(Self.searchPath)", "LC_ALL=C"]
        let words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        let variables: [UnsafeMutablePointer<CChar>?] = settings.map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        var child: pid_t = 0
        let outcome = posix_spawnp(&child, program, &actions, &attributes, words + [nil], variables + [nil])
        guard outcome == 0 else {
            throw BenchmarkFailure("cannot start \(program): \(String(cString: strerror(outcome)))")
        }
        processID = child
        outputPath = output
    }

    private static let searchPath = "/usr/local/bin:/usr/bin:/bin"

    /// The output so far.
    var output: String { contents(of: outputPath) }

    /// Waits until it ends. Returns `true` if it succeeded.
    func wait() -> Bool {
        var status: Int32 = 0
        while waitpid(processID, &status, 0) == -1, errno == EINTR {}
        return status == 0
    }

    /// Waits until it ends. Returns also its processor time and its maximum memory in bytes.
    ///
    /// The memory is sampled while it runs: the kernel's final number includes the memory of the parent process.
    func waitForUsage() -> (endedWell: Bool, time: CPUTime, residentBytesMax: Int) {
        var status: Int32 = 0
        var usage = rusage()
        var residentBytesMax = 0
        while case let ended = wait4(processID, &status, WNOHANG, &usage), ended == 0 || ended == -1 && errno == EINTR {
            residentBytesMax = max(residentBytesMax, ProcessStatus.residentBytesMax(processID))
            usleep(5000)
        }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        let time = CPUTime(user: seconds(usage.ru_utime), system: seconds(usage.ru_stime))
        return (status == 0, time, residentBytesMax)
    }

    func stop() {
        kill(processID, SIGTERM)
        _ = wait()
    }

    /// Runs a program to its end and returns its output.
    /// - Throws: `BenchmarkFailure` if it failed.
    static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:],
        output: String
    ) throws -> String {
        let child = try ChildProcess(program, arguments, environment: environment, output: output)
        guard child.wait() else { throw BenchmarkFailure("\(program) failed:\n\(child.output)") }
        return child.output
    }

    /// Waits until `read` finds a value in the output.
    /// - Throws: `BenchmarkFailure` if the process ends before, or the time is over.
    func await<Found>(_ what: String, _ read: (String) -> Found?) async throws -> Found {
        for _ in 0..<600 {
            if let found = read(output) { return found }
            var status: Int32 = 0
            if waitpid(processID, &status, WNOHANG) == processID { break }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchmarkFailure("\(what) did not come:\n\(output)")
    }
}

/// Processor time in seconds.
struct CPUTime: Sendable {
    var user: Double
    var system: Double

    static let zero = CPUTime(user: 0, system: 0)

    var total: Double { user + system }

    static func - (later: CPUTime, earlier: CPUTime) -> CPUTime {
        CPUTime(user: later.user - earlier.user, system: later.system - earlier.system)
    }

    static func + (first: CPUTime, second: CPUTime) -> CPUTime {
        CPUTime(user: first.user + second.user, system: first.system + second.system)
    }
}

/// The kernel's statistics of a process (proc(5)).
struct ProcessStatus {
    let parent: pid_t
    /// The time of the process without its children.
    let time: CPUTime
    /// The time of the children that have ended.
    let childTime: CPUTime

    /// `nil` if there is no such process.
    init?(_ processID: pid_t) {
        // The name is in parentheses and may contain anything. The fields follow the last parenthesis.
        let text = contents(of: "/proc/\(processID)/stat")
        guard let end = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        guard fields.count > 14, let parent = pid_t(fields[1]) else { return nil }
        let ticksPerSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
        func seconds(_ index: Int) -> Double { (Double(fields[index]) ?? 0) / ticksPerSecond }
        self.parent = parent
        time = CPUTime(user: seconds(11), system: seconds(12))
        childTime = CPUTime(user: seconds(13), system: seconds(14))
    }

    /// Returns the time of a process and of its children, running or ended.
    static func timeOfFamily(_ processID: pid_t) -> CPUTime {
        guard let status = ProcessStatus(processID) else { return .zero }
        return namesOfFiles(in: "/proc").compactMap { pid_t($0) }.compactMap(ProcessStatus.init)
            .filter { $0.parent == processID }
            .reduce(status.time + status.childTime) { $0 + $1.time }
    }

    /// Returns the resident memory of a process.
    static func residentBytes(_ processID: pid_t) -> Int { kilobytes("VmRSS:", processID) * 1024 }

    /// Returns the maximum resident memory of a process.
    static func residentBytesMax(_ processID: pid_t) -> Int { kilobytes("VmHWM:", processID) * 1024 }

    private static func kilobytes(_ name: String, _ processID: pid_t) -> Int {
        let line = contents(of: "/proc/\(processID)/status").split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    }
}

/// Returns the text of a file; empty if it cannot be read.
func contents(of path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// - Throws: `BenchmarkFailure`
func write(_ text: String, to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let bytes = Array(text.utf8)
    guard descriptor >= 0 else { throw BenchmarkFailure("cannot write \(path)") }
    defer { close(descriptor) }
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw BenchmarkFailure("cannot write \(path)") }
}

private func namesOfFiles(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        names.append(
            withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
        )
    }
    return names
}
