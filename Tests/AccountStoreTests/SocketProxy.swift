import Dispatch
import Foundation
import Glibc
import Postgres
import Synchronization

/// A proxy between a client and PostgreSQL on Unix sockets. It breaks one connection at a chosen moment, or holds one
/// answer back.
final class SocketProxy: Sendable {
    enum Fault: Sendable {
        /// The connection breaks before the server receives the request.
        case requestLost
        /// The server commits, and the connection breaks before the client receives the response.
        case answerLost
    }

    struct Failure: Error {
        let operation: String
        let code = errno
    }

    private struct State {
        var fault: (fault: Fault, marker: [UInt8])?
        var hasFailed = false
        var hasHeld = false
    }

    private struct Hold {
        let marker: [UInt8]
        let arrival: AsyncStream<Void>.Continuation
    }

    /// Only a private cluster has a socket in a directory.
    static let isPossible = ProcessInfo.processInfo.environment["CONCORD_TEST_DATABASE_URL"] == nil

    private let directory: String
    private let upstream: String
    private let options: String
    private let listener: Int32
    private let state = Mutex(State())
    private let hold = Mutex<Hold?>(nil)
    private let gate = DispatchSemaphore(value: 0)

    /// Listens in a new directory.
    init(to url: String) throws {
        guard let components = URLComponents(string: url),
            let host = components.queryItems?.first(where: { $0.name == "host" })?.value
        else { throw Failure(operation: "parse") }
        upstream = host + "/.s.PGSQL.5432"
        options = "user=\(components.user ?? "") dbname=\(components.path.dropFirst())"
        directory = "/tmp/concord-proxy-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isBound = Self.withAddress(directory + "/.s.PGSQL.5432") { Glibc.bind(listener, $0, $1) == 0 }
        guard listener >= 0, isBound, listen(listener, 64) == 0 else { throw Failure(operation: "listen") }
        Thread.detachNewThread { [self] in accept() }
    }

    var connectionString: String { "host=\(directory) port=5432 \(options)" }

    /// Breaks the connection that carries the statement with `id`.
    func fail(_ fault: Fault, at id: PostgresUUID) {
        var marker: [UInt8] = []
        for word in [id.high, id.low] {
            withUnsafeBytes(of: word.bigEndian) { marker += $0 }
        }
        state.withLock { $0 = State(fault: (fault, marker)) }
    }

    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// Holds back the first answer with `marker` until `release`. Call it once.
    /// - Returns: a stream that ends when the answer is held, or at `release` if there was none.
    func hold(answerWith marker: String) -> AsyncStream<Void> {
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
        hold.withLock { $0 = Hold(marker: Array(marker.utf8), arrival: arrival) }
        return arrivals
    }

    var hasHeld: Bool { state.withLock { $0.hasHeld } }

    func release() {
        hold.withLock { $0.take() }?.arrival.finish()
        gate.signal()
    }

    func close() {
        shutdown(listener, Int32(SHUT_RDWR))
        Glibc.close(listener)
        try? FileManager.default.removeItem(atPath: directory)
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else { return }
            Thread.detachNewThread { [self] in relay(client) }
        }
    }

    private func relay(_ client: Int32) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer {
            Glibc.close(client)
            Glibc.close(server)
        }
        guard Self.withAddress(upstream, { connect(server, $0, $1) == 0 }) else { return }
        var isMarked = false
        var sent: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var ends = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ends, 2, -1) > 0 else { return }
            if ends[0].revents != 0 {
                let count = read(client, &buffer, buffer.count)
                guard count > 0 else { return }
                sent = sent.suffix(64) + buffer[..<count]
                if let planned = state.withLock({ $0.fault }), sent.firstRange(of: planned.marker) != nil {
                    switch planned.fault {
                    case .requestLost:
                        trip()
                        return
                    case .answerLost: isMarked = true
                    }
                }
                guard write(server, buffer, count) == count else { return }
            }
            if ends[1].revents != 0 {
                let count = read(server, &buffer, buffer.count)
                guard count > 0 else { return }
                if isMarked, buffer[..<count].firstRange(of: Array("COMMIT\0".utf8)) != nil {
                    trip()
                    return
                }
                waitIfHeld(buffer[..<count])
                guard write(client, buffer, count) == count else { return }
            }
        }
    }

    private func waitIfHeld(_ answer: ArraySlice<UInt8>) {
        let held = hold.withLock { hold -> Hold? in
            guard let marker = hold?.marker, answer.firstRange(of: marker) != nil else { return nil }
            return hold.take()
        }
        guard let held else { return }
        state.withLock { $0.hasHeld = true }
        held.arrival.finish()
        gate.wait()
    }

    private func trip() {
        state.withLock { $0 = State(fault: nil, hasFailed: true) }
    }

    private static func withAddress<Output>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Output
    ) -> Output {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
