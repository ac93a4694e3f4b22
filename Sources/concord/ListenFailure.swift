import Glibc
import HTTPServer

extension Composition {
    /// The text about an unusable address: the address, the reason and the next step.
    func words(for failure: CannotListen) async -> String {
        let occupant = await occupant(after: failure)
        return nextStep(after: failure, occupant).map { "\(failure). \($0)" } ?? "\(failure)"
    }

    /// The program at the port of `dev`, where Firebase's emulator may listen too. `serve` asks no other program.
    private func occupant(after failure: CannotListen) async -> PortOccupant {
        guard mode.development != nil, failure.code == EADDRINUSE, case .tcp(let host, let port) = failure.address
        else {
            return .unknown
        }
        return await PortOccupant.find(at: "http://\(host):\(port)")
    }

    private func nextStep(after failure: CannotListen, _ occupant: PortOccupant) -> String? {
        let setting = setting(of: failure.address)
        switch (failure.address, failure.code) {
        case (.tcp, EADDRINUSE):
            return "\(occupant.name) listens there: stop it, or choose another port: \(setting)"
        case (.tcp, EADDRNOTAVAIL):
            return
                "This machine does not have that address: change \(setting == "listen.port" ? "listen.host" : setting)"
        case (.tcp, EACCES):
            return """
                Ports below 1024 are kept for root: choose another one (\(setting)), or allow it to Concord \
                (AmbientCapabilities=CAP_NET_BIND_SERVICE in a systemd unit)
                """
        case (.unixSocket, EADDRINUSE):
            return "Another process listens there: stop it, or choose another path: \(setting)"
        case (.unixSocket(let path), ENOENT):
            let folder = Self.folder(of: path)
            let unit = folder.hasPrefix("/run/") ? " (RuntimeDirectory=\(folder.dropFirst(5)) in a systemd unit)" : ""
            return "Create its folder: mkdir -p \(folder)\(unit)"
        case (.unixSocket(let path), EACCES):
            return "Let the user that runs Concord write to \(Self.folder(of: path)), or change \(setting)"
        default: return nil
        }
    }

    private static func folder(of path: String) -> Substring {
        path.lastIndex(of: "/").map { path[..<$0] } ?? "."
    }

    /// The setting that changes `address`.
    private func setting(of address: Listener.Address) -> String {
        if mode.development != nil { return "--port" }
        switch listen.adminListener {
        case .unixSocket(let path) where address == .unixSocket(path: path): return "listen.admin_socket"
        case .loopback(let admin) where address == .tcp(host: admin.host, port: admin.port):
            return "listen.admin_address"
        case .unixSocket, .loopback, nil: break
        }
        if let metrics = listen.metricsAddress, address == .tcp(host: metrics.host, port: metrics.port) {
            return "listen.metrics_address"
        }
        return "listen.port"
    }
}
