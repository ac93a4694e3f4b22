import Glibc
import Logging

/// How many files this process may have open; each connection is one.
struct OpenFiles {
    private let limit: Int

    /// What it takes to be of any use: a server that does nothing has forty.
    private static let limitMin = 128
    /// More than connections could ever want, where the system sets no limit.
    private static let limitMax = 1 << 20

    /// The system's limit for this process, raised as far as it lets itself be raised.
    /// - Throws: `StartupFailure` where that is not enough for anything.
    static func raised() throws -> OpenFiles {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return OpenFiles(limit: limitMin) }
        let wanted = min(limit.rlim_max, rlim_t(limitMax))
        if limit.rlim_cur < wanted {
            var raised = rlimit(rlim_cur: wanted, rlim_max: limit.rlim_max)
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        let files = OpenFiles(limit: Int(min(limit.rlim_cur, rlim_t(limitMax))))
        guard files.limit >= limitMin else {
            throw StartupFailure(
                "this process may open \(files.limit) files and needs at least \(limitMin): raise its limit (ulimit -Hn, "
                    + "LimitNOFILE)",
                .badConfiguration
            )
        }
        return files
    }

    /// Those of the database, of providers, relays and receivers, and of operators.
    private var reserve: Int { min(512, max(96, limit / 2)) }

    /// How many connections each listener for operators may have: theirs are in the reserve, whatever clients do.
    var operatorsConnections: Int { reserve / 8 }

    /// As many connections of clients as are configured, or as there is room for; the log tells of that.
    func connections(_ configured: Int, _ logger: Logger) -> Int {
        let room = limit - reserve
        if room < configured {
            logger.warning(
                "fewer connections than limits.connections: the limit on open files is too low",
                metadata: [
                    "connections": "\(room)", "limits.connections": "\(configured)", "open_files_max": "\(limit)",
                ]
            )
        }
        return min(room, configured)
    }
}
