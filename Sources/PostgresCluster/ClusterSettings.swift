/// The settings of a private cluster.
///
/// With any values, the server listens on no TCP port, its log holds no statements and no row values (they would
/// be personal data), and its time zone is UTC.
package struct ClusterSettings: Equatable, Sendable {
    /// True if an answered commit survives a crash of the machine. False only for disposable data.
    package var isDurable: Bool
    /// True if the server ends when the process that started it ends in any way, `kill -9` included.
    ///
    /// When false the server outlives such a death and is adopted by the next start on the same data directory.
    package var endsWithOwner: Bool
    /// The most connections at once, 1 and up.
    package var connectionsMax: Int
    /// Further server settings by name, as they would stand in `postgresql.conf`; they win over all others.
    package var additional: [String: String]
    /// The parent of the Unix socket's directory. Short, because a socket's path has at most 107 bytes.
    package var socketRoot: String
    /// The directory of the server's programs; nil searches for them.
    package var binaryDirectory: String?
    /// Maximum time until the server answers, including recovery after a crash.
    package var startTimeout: Duration
    /// Maximum time of a fast shutdown before an immediate one begins.
    package var stopTimeout: Duration

    /// Everything that is not given has the default of a development server that must not lose data.
    package init(
        isDurable: Bool = true,
        endsWithOwner: Bool = false,
        connectionsMax: Int = 100,
        additional: [String: String] = [:],
        socketRoot: String = "/tmp",
        binaryDirectory: String? = nil,
        startTimeout: Duration = .seconds(300),
        stopTimeout: Duration = .seconds(20)
    ) {
        self.isDurable = isDurable
        self.endsWithOwner = endsWithOwner
        self.connectionsMax = connectionsMax
        self.additional = additional
        self.socketRoot = socketRoot
        self.binaryDirectory = binaryDirectory
        self.startTimeout = startTimeout
        self.stopTimeout = stopTimeout
    }

    /// A server whose commits last.
    package static let durable = ClusterSettings()

    /// A fast server for tests: nothing is flushed to disk, and it ends with the process that started it.
    package static let disposable = ClusterSettings(isDurable: false, endsWithOwner: true)

    /// The text of the configuration file, the same for the same settings: an adopted server is compared by it.
    func configurationFile(socketDirectory: String) -> String {
        var values = [
            "listen_addresses": "",
            "port": String(ClusterConnection.port),
            "unix_socket_directories": socketDirectory,
            "unix_socket_permissions": "0700",
            "max_connections": String(connectionsMax),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "log_destination": "stderr",
            "logging_collector": "off",
            "log_line_prefix": "%m [%p] ",
            // A failed statement is reported to its sender. In the log it would leave e-mail addresses behind:
            // the text of the statement, and "Key (value)=(…) already exists".
            "log_min_messages": "log",
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
            "log_statement": "none",
        ]
        if !isDurable {
            let fast = [
                "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
                // Tables of tests are too small and too short-lived to be worth vacuuming, and plans that a test
                // reads must not change under it.
                "autovacuum": "off",
                "wal_level": "minimal", "max_wal_senders": "0",
            ]
            values.merge(fast) { $1 }
        }
        values.merge(additional) { $1 }
        return values.sorted { $0.key < $1.key }
            .map { "\($0.key) = '\(Self.quoted($0.value))'\n" }
            .joined()
    }

    /// `value` as it stands between single quotes in a configuration file (PostgreSQL manual, section 20.1.2).
    private static func quoted(_ value: String) -> String {
        var text = ""
        for character in value.unicodeScalars {
            switch character {
            case "'": text += "''"
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
