import Glibc

/// One of the servers in a connection string (PostgreSQL 15 documentation, section 34.1.1.3).
struct DatabaseHost: Sendable, Hashable {
    /// A name, a literal address, or the directory of a Unix socket.
    var name: String
    /// The address to connect to without a look-up of `name`; empty for none.
    var address = ""
    /// Empty for the default.
    var port = ""

    /// `true` if the name has to be looked up.
    var isName: Bool {
        guard address.isEmpty, let first = name.first, first != "/", first != "@" else { return false }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        defer { if let list { freeaddrinfo(list) } }
        return getaddrinfo(name, nil, &hints, &list) != 0
    }

    /// `db.example.com:5432`, or the path of a Unix socket.
    /// - Parameters:
    ///   - name: a name, an address, or the directory of a socket.
    ///   - port: empty for the default.
    /// - Returns: the address of the server in words.
    static func place(_ name: String, port: String) -> String {
        let port = port.isEmpty ? "5432" : port
        if name.hasPrefix("/") || name.hasPrefix("@") { return "\(name)/.s.PGSQL.\(port)" }
        return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }

    /// Returns the hosts; none if libpq will reject lists of different lengths, or uses its environment.
    static func all(of parameters: [ConnectionParameter]) -> [Self] {
        func list(_ keyword: String) -> [String] {
            let value = parameters.first { $0.keyword == keyword }?.value ?? ""
            return value.isEmpty
                ? [] : value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        guard addresses.isEmpty || addresses.count == names.count, ports.count <= 1 || ports.count == names.count
        else { return [] }
        return names.indices.map { index in
            Self(
                name: names[index],
                address: addresses.isEmpty ? "" : addresses[index],
                port: ports.isEmpty ? "" : ports[ports.count == 1 ? 0 : index]
            )
        }
    }

    static func parameters(of hosts: [Self]) -> [ConnectionParameter] {
        func parameter(_ keyword: String, _ value: (Self) -> String) -> ConnectionParameter {
            ConnectionParameter(keyword: keyword, value: hosts.map(value).joined(separator: ","), isSecret: false)
        }
        return [parameter("host", \.name), parameter("hostaddr", \.address), parameter("port", \.port)]
    }
}
