import Glibc
import ServiceLifecycle

/// The service manager that started the process and waits for reports about its state, such as systemd for a unit with
/// `Type=notify` (`sd_notify(3)`).
struct ServiceManager: Sendable {
    enum State: String {
        case ready = "READY=1"
        case stopping = "STOPPING=1"
    }

    /// The name of the manager's socket: a path, or `@` and an abstract name (`unix(7)`).
    private let name: String

    /// `nil` if no manager waits for reports.
    init?(environment: [String: String]) {
        guard let name = environment["NOTIFY_SOCKET"], let first = name.first, first == "/" || first == "@",
            // The size of `sun_path` without the final NUL (`unix(7)`).
            name.utf8.count > 1, name.utf8.count <= 107
        else { return nil }
        self.name = name
    }

    /// Sends the state. A manager that cannot be reached is ignored, because the service works without it.
    func report(_ state: State) {
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        // An abstract name begins with NUL and ends with the address, without a final NUL.
        if name.first == "@" { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + path.count }
        let message = Array(state.rawValue.utf8)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = sendto(
                    socket,
                    message,
                    message.count,
                    Int32(MSG_NOSIGNAL),
                    pointer,
                    socklen_t(length ?? MemoryLayout<sockaddr_un>.size)
                )
            }
        }
    }
}

/// Calls `whenStopping` as soon as the service begins to stop.
struct StopObserver: Service, CustomStringConvertible {
    /// The name in ServiceLifecycle's logs.
    var description: String { "observer of the shutdown" }

    let whenStopping: @Sendable () -> Void

    func run() async throws {
        do { try await gracefulShutdown() } catch { return }
        whenStopping()
    }
}
