import Glibc
import Metrics

/// Metrics of the operating system about this process, with the usual names of Prometheus clients.
struct ProcessReadings: Sendable {
    static let residentBytes = "process_resident_memory_bytes"
    static let cpuSeconds = "process_cpu_seconds_total"
    static let openFiles = "process_open_fds"
    static let openFilesMax = "process_max_fds"
    static let startTime = "process_start_time_seconds"

    private let resident: Meter
    private let cpu: Meter
    private let open: Meter
    private let openMax: Meter

    /// Uses the current time as the start time of the process.
    init(_ factory: any MetricsFactory) {
        resident = Meter(label: Self.residentBytes, factory: factory)
        cpu = Meter(label: Self.cpuSeconds, factory: factory)
        open = Meter(label: Self.openFiles, factory: factory)
        openMax = Meter(label: Self.openFilesMax, factory: factory)
        Meter(label: Self.startTime, factory: factory).set(Double(time(nil)))
    }

    func read() {
        if let bytes = Self.residentBytesNow { resident.set(bytes) }
        var usage = rusage()
        if getrusage(RUSAGE_SELF.rawValue, &usage) == 0 { cpu.set(usage.ru_utime.seconds + usage.ru_stime.seconds) }
        if let count = Self.openFilesNow { open.set(count) }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 { openMax.set(Double(limit.rlim_cur)) }
    }

    /// The second number of `/proc/self/statm` is the resident pages (proc(5)).
    private static var residentBytesNow: Int? {
        guard let file = fopen("/proc/self/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * Int(getpagesize()) }
    }

    private static var openFilesNow: Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // Without `.`, `..` and the descriptor that reads the directory.
        return count - 3
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}
