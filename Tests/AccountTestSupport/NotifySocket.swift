import Glibc

/// The socket at which a service manager such as systemd receives reports (`sd_notify(3)`).
package final class NotifySocket: Sendable {
    /// The value of `NOTIFY_SOCKET` for a service.
    package let name: String
    private let socket: Int32

    /// - `name`: a path, or `@` and an abstract name.
    package init(_ name: String) throws {
        self.name = name
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        if name.first == "@" { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
        let outcome = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) }
        }
        guard outcome == 0 else { throw NotifySocketFailure(reason: String(cString: strerror(errno))) }
    }

    deinit { close(socket) }

    /// The oldest report that arrived and was not read; `nil` if there is none.
    package func next() -> String? {
        var bytes = [UInt8](repeating: 0, count: 1024)
        let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

package struct NotifySocketFailure: Error {
    package let reason: String
}
