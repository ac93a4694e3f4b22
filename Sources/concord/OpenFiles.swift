import Glibc
import Logging

/// The limit on open files of this process; each connection is one.
struct OpenFiles {
    let limit: Int

    /// The minimum for a useful server: an idle one has 40 open files.
    private static let limitMin = 128
    /// The limit if the system has none, more than any number of connections needs.
    private static let limitMax = 1 << 20

    /// Raises the limit of this process to the maximum that the system allows.
    /// - Throws: `StartupFailure` if the limit is below the minimum.
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

    /// Files that are reserved for the database, providers, relays and receivers, and operators.
    private var reserve: Int { max(96, min(limit / 2, max(512, min(2048, limit / 8)))) }

    /// Maximum number of connections of each operator listener: the reserve holds them, independent of clients.
    var operatorsConnections: Int { min(64, reserve / 8) }

    /// Maximum number of requests in progress to providers, receivers, gateways and the collector. Each takes a file,
    /// so the rest of the reserve is for the database, relays and operators.
    var outgoingRequests: Int { reserve / 2 }

    /// Maximum number of client connections.
    var room: Int { limit - reserve }

    /// The configured number of client connections, or fewer if there is no room; logs the difference.
    func connections(_ configured: Int, _ logger: Logger) -> Int {
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
