/// The address of a running private cluster.
package struct ClusterConnection: Equatable, Sendable {
    /// The origin of the running server.
    package enum Origin: Equatable, Sendable {
        /// The cluster did not exist before.
        case created
        /// An existing cluster was started.
        case started
        /// The server was still running, because the Concord that started it was killed.
        case adopted
    }

    /// The port in the name of the socket. The server does not listen on TCP.
    static let port = 5432

    /// The directory of the Unix socket; only the server's user and root can enter it.
    package var socketDirectory: String
    /// The database role of connections: a superuser without a password, because only its owner can reach the socket.
    package var role: String
    /// The actual location of the data. Differs from the requested one only if ``notice`` says so.
    package var dataDirectory: String
    /// The file that the server writes its log to.
    package var logFile: String
    /// The process id of the server.
    package var processID: Int
    /// The server's major version.
    package var majorVersion: Int
    /// The origin of the running server.
    package var origin: Origin
    /// A sentence for the person who started Concord, if the cluster differs from the request.
    package var notice: String?

    /// The libpq URI of `database` on this cluster (PostgreSQL manual, section 34.1.1.2).
    ///
    /// Nothing in it is secret. Database and directory names are percent-encoded, so any name is safe.
    package func url(database: String) -> String {
        """
        postgresql://\(percentEncoded(role))@/\(percentEncoded(database))\
        ?host=\(percentEncoded(socketDirectory))&port=\(Self.port)
        """
    }

    private func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for byte in text.utf8 {
            let character = Character(UnicodeScalar(byte))
            if character.isASCII, character.isLetter || character.isNumber || "-._~".contains(character) {
                encoded.append(character)
            } else {
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 0x0F)])"
            }
        }
        return encoded
    }
}
