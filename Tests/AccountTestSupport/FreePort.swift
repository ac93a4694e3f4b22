import Glibc

/// Returns a free port outside the ephemeral range, from which the system assigns ports to other tests.
///
/// Tries the port with a socket that child processes do not inherit. A process started meanwhile would hold an
/// inherited one.
package func freePort() throws -> Int {
    while true {
        let port = UInt16.random(in: 20_000..<32_000)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw NoSocket() }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isFree = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) {
                bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0
            }
        }
        if isFree { return Int(port) }
    }
}

private struct NoSocket: Error {}
