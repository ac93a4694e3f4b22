/// The settings of a private cluster.
///
/// With any values, the server listens on no TCP port, its log holds no statements and no row values (they would
/// be personal data), and its time zone is UTC. The defaults are those of a development server that must not lose data.
package struct ClusterSettings: Equatable, Sendable {
    /// True if an answered commit survives a crash of the machine. False only for disposable data.
    package var isDurable = true
    /// True if the server stops when the process that started it ends in any way, `kill -9` included.
    ///
    /// If false, the server continues, and the next start on the same data directory adopts it.
    package var endsWithOwner = false
    /// Maximum number of connections, at least 1.
    package var connectionsMax = 100
    /// Further settings of `postgresql.conf` by name. They override all others.
    package var additional: [String: String] = [:]
    /// The parent of the Unix socket's directory. Short, because a socket's path has at most 107 bytes.
    package var socketRoot = "/tmp"
    /// The directory of the server's programs; nil searches for them.
    package var binaryDirectory: String?
    /// Maximum time until the server answers, including recovery after a crash.
    package var startTimeout: Duration = .seconds(300)
    /// Maximum time of a fast shutdown before an immediate one begins.
    package var stopTimeout: Duration = .seconds(20)

    /// A server with durable commits.
    package static let durable = ClusterSettings()

    /// A fast server for tests: it does not flush to disk, and stops with the process that started it.
    package static let disposable = ClusterSettings(isDurable: false, endsWithOwner: true)

    /// The text of the configuration file. Equal settings have equal texts, so that a running server can be compared.
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
            // The client gets the error of a failed statement. The log must not contain it, because the statement and
            // "Key (value)=(…) already exists" contain e-mail addresses.
            "log_min_messages": "log",
            "log_min_error_statement": "panic",
            "log_error_verbosity": "terse",
            "log_statement": "none",
        ]
        if !isDurable {
            let fast = [
                "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
                // Tables of tests are too small and too short-lived for vacuuming, and the plans that tests
                // compare must not change.
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

    /// Returns `value` escaped for single quotes in a configuration file (PostgreSQL manual, section 20.1.2).
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
