import Postgres

/// The way to PostgreSQL, as an attacker on the network in between sees it.
enum DatabaseTransport: Sendable, Hashable {
    /// This machine, or encryption that proves which server answers.
    case verified
    /// TLS to any server that has a certificate of the authority.
    case unnamedServer
    /// No encryption, or encryption with any server.
    case unverified(sslmode: String)

    /// Judges by the connection string and, where that is silent, by libpq's variables. A service file (`PGSERVICE`) is not
    /// read.
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
            // What is connected to; the name is only what certificates are checked against.
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
    var warning: String? {
        switch self {
        case .verified: nil
        case .unnamedServer:
            """
            PostgreSQL is reached over a network with sslmode=verify-ca, which accepts any server with a certificate of that \
            authority; set sslmode=verify-full in database.url to check its name too
            """
        case .unverified(let mode):
            """
            PostgreSQL is reached over a network with sslmode=\(mode), which verifies no certificate: an attacker in between can \
            read and change everything; set sslmode=verify-full and sslrootcert in database.url
            """
        }
    }
}
