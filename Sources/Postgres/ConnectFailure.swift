/// The parts of a failed connection, for an error that names the next step.
package struct ConnectFailure: Sendable, Hashable {
    /// `db.example.com:5432`, or the path of a Unix socket.
    package var place: String
    package var user: String
    package var database: String
    /// The server's code; `nil` if no server answered.
    package var state: SQLState?
    /// The text of PostgreSQL or libpq, on one line. Never contains the password.
    package var reason: String
}

/// The parts of libpq's message about a failed connection.
struct ConnectMessage: Sendable, Hashable {
    /// The first line without the server's code, for logs.
    var line: String
    var state: SQLState?
    /// The first line without place, severity and code.
    var reason: String

    private static let place = "connection to server "
    private static let separator = " failed: "

    /// - Parameter text: `PQerrorMessage` with the server's codes (`PQERRORS_VERBOSE`). The text is in the server's
    ///   language, the codes are not.
    init(_ text: String) {
        line = text.split(separator: "\n").first.map(String.init) ?? "no reason given"
        reason = line
        guard line.hasPrefix(Self.place), let failed = line.firstRange(of: Self.separator) else { return }
        let place = line[..<failed.upperBound]
        reason = String(line[failed.upperBound...])
        // `FATAL:  28000: role "concord" does not exist`
        guard let severity = reason.firstRange(of: ":  ") else { return }
        let rest = reason[severity.upperBound...]
        let code = rest.prefix(5)
        let isCode =
            code.utf8.count == 5 && code.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
        guard isCode, rest.dropFirst(5).hasPrefix(": ") else { return }
        state = SQLState(String(code))
        let words = rest.dropFirst(7)
        line = "\(place)\(reason[..<severity.upperBound])\(words)"
        reason = String(words)
    }
}
