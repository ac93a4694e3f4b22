import Postgres

/// The security of the connection to PostgreSQL against an attacker on the network.
enum DatabaseTransport: Sendable, Hashable {
    /// A connection on this machine, TLS that verifies the name of the server, or GSSAPI encryption.
    case verified
    /// TLS that verifies only the certificate authority of the server.
    case unnamedServer
    /// No encryption, or TLS that does not verify the server.
    case unverified(sslmode: String)

    /// Reads the connection string, and libpq's variables for parameters that it lacks. Ignores a service file
    /// (`PGSERVICE`).
    init(_ postgres: PostgresConfiguration, environment: [String: String]) {
        func value(_ keyword: String, _ variable: String) -> String? {
            let value = postgres.value(of: keyword) ?? environment[variable]
            return value?.isEmpty == false ? value : nil
        }
        func list(_ text: String?) -> [String] {
            text?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
        }
        let (names, addresses) = (list(value("host", "PGHOST")), list(value("hostaddr", "PGHOSTADDR")))
        let hosts = (0..<max(names.count, addresses.count)).map { index in
            // `hostaddr` is the address of the connection. `host` is then only the name for the check of the
            // certificate.
            let address = addresses.indices.contains(index) ? addresses[index] : ""
            return address.isEmpty && names.indices.contains(index) ? names[index] : address
        }
        let areHere = hosts.allSatisfy { $0.isEmpty || $0.hasPrefix("/") || $0.hasPrefix("@") || isLoopback(host: $0) }
        let mode = value("sslmode", "PGSSLMODE") ?? "prefer"
        if areHere || mode == "verify-full" || value("gssencmode", "PGGSSENCMODE") == "require" {
            self = .verified
        } else {
            self = mode == "verify-ca" ? .unnamedServer : .unverified(sslmode: mode)
        }
    }

    /// The problem and the next step; `nil` if there is none.
    var warning: String? { warning(of: "database.url") }

    /// `setting`: the name of the setting with the connection string.
    func warning(of setting: String) -> String? {
        switch self {
        case .verified: nil
        case .unnamedServer:
            """
            PostgreSQL is reached over a network with sslmode=verify-ca, which accepts any server with a certificate of that \
            authority; set sslmode=verify-full in \(setting) to check its name too
            """
        case .unverified(let mode):
            """
            PostgreSQL is reached over a network with sslmode=\(mode), which verifies no certificate: an attacker in between can \
            read and change everything; set sslmode=verify-full and sslrootcert in \(setting)
            """
        }
    }
}

extension DatabaseConfiguration {
    /// The problems of the connections to the primary and to the standby.
    func transportWarnings(environment: [String: String]) -> [String] {
        let servers = [("database.url", postgres)] + (replica.map { [("database.replica_url", $0.postgres)] } ?? [])
        return servers.compactMap { setting, postgres in
            DatabaseTransport(postgres, environment: environment).warning(of: setting)
        }
    }
}
