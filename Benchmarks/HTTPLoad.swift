import Glibc

/// Keep-alive connections that send prepared requests. The calling thread drives them with little work, because the
/// load shares its processors with the measured server.
///
/// Parses only the status and the `Content-Length` of an HTTP/1.1 answer. The server's answers have both.
///
/// `wrk` cannot send each request once and in order, at a fixed pace, from two addresses, or report the time and body
/// of each answer.
final class HTTPLoad {
    private struct Connection {
        let socket: Int32
        /// The current request.
        var request: Int?
        var startedAt: UInt64 = 0
        var received: [UInt8]
        var receivedCount = 0
    }

    private var connections: [Connection] = []
    /// Called with the number of each request and the body of its answer.
    var onAnswer: ((_ request: Int, _ body: ArraySlice<UInt8>) -> Void)?
    /// Called before `onAnswer` with the status line and the header fields.
    var onHead: ((_ request: Int, _ head: ArraySlice<UInt8>) -> Void)?

    /// The status that every answer must have.
    var expectedStatus = "200"
    /// If `true`, an answer with another status counts as one that never arrived, and does not end the load.
    var toleratesRefusals = false

    /// Connects to a port of this machine.
    /// - `host`: last number of the loopback address that the connections come from.
    /// - Throws: `BenchmarkFailure`
    convenience init(port: UInt16, connections count: Int, from host: UInt32 = 1) throws {
        try self.init(ports: [port], connections: count, from: host)
    }

    /// Connects to ports of this machine, in turn. The numbers of their connections differ by at most one.
    /// - Throws: `BenchmarkFailure`
    init(ports: [UInt16], connections count: Int, from host: UInt32 = 1) throws {
        for number in 0..<count {
            let port = ports[number % ports.count]
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            // `fd_set` has room for so many descriptors.
            guard descriptor >= 0, descriptor < FD_SETSIZE else { throw BenchmarkFailure("no socket left") }
            connections.append(Connection(socket: descriptor, received: [UInt8](repeating: 0, count: 65_536)))
            guard Self.loopback(host, port: 0, { bind(descriptor, $0, $1) }) == 0,
                Self.loopback(1, port: port, { connect(descriptor, $0, $1) }) == 0
            else { throw BenchmarkFailure("cannot connect to port \(port)") }
            var yes: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    private static func loopback(
        _ host: UInt32,
        port: UInt16,
        _ body: (UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7F00_0000 | host).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress, socklen_t(bytes.count)) }
        }
    }

    deinit {
        for connection in connections { close(connection.socket) }
    }

    /// Sends `requests` in order and waits for the answers.
    ///
    /// Without `perSecond` each connection sends its next request as soon as it has an answer. With it requests arrive
    /// at a fixed pace, even if no connection is free, and the time of each counts from its arrival. With `repeats` the
    /// load starts again at the first request after the last; otherwise it ends.
    /// - Throws: `BenchmarkFailure` at the first answer that is not `expectedStatus`.
    func run(
        _ requests: [[UInt8]],
        repeats: Bool = false,
        seconds: Double = .infinity,
        perSecond: Double? = nil
    ) throws -> Sample {
        let start = nanoseconds()
        let end = seconds.isFinite ? start + UInt64(seconds * 1e9) : .max
        let interval = perSecond.map { UInt64(1e9 / $0) }
        var arrival = start
        var next = 0
        var idle = Array(connections.indices)
        var latencies: [UInt64] = []
        var lastAnswer = start
        latencies.reserveCapacity(1 << 18)

        while true {
            var now = nanoseconds()
            while let index = idle.last, next < requests.count || repeats, now < end {
                if let interval {
                    guard arrival <= now else { break }
                    try send(requests[next % requests.count], number: next, on: index, arrivedAt: arrival)
                    arrival += interval
                } else {
                    try send(requests[next % requests.count], number: next, on: index, arrivedAt: now)
                }
                idle.removeLast()
                next += 1
            }
            let isOver = now >= end || (next >= requests.count && !repeats)
            if idle.count == connections.count, isOver { break }
            let waitsForArrival = interval != nil && !idle.isEmpty && !isOver
            let ready = wait(nanosecondsMax: waitsForArrival ? (arrival > now ? arrival - now : 0) : nil)
            now = nanoseconds()
            for index in ready where connections[index].request != nil {
                guard let isExpected = try receive(on: index) else { continue }
                // Requests without an answer at the end do not count.
                if now <= end {
                    latencies.append(isExpected ? now - connections[index].startedAt : .max)
                    lastAnswer = now
                }
                idle.append(index)
            }
        }
        latencies.sort()
        let elapsed = seconds.isFinite && repeats ? seconds : Double(lastAnswer - start) / 1e9
        return Sample(count: latencies.count, seconds: elapsed, latencies: latencies)
    }

    private func send(_ request: [UInt8], number: Int, on index: Int, arrivedAt: UInt64) throws {
        connections[index].request = number
        connections[index].startedAt = arrivedAt
        connections[index].receivedCount = 0
        let sent = Glibc.send(connections[index].socket, request, request.count, Int32(MSG_NOSIGNAL))
        guard sent == request.count else { throw BenchmarkFailure("the server closed a connection") }
    }

    /// Waits until connections are readable or the time is over. Returns those connections.
    private func wait(nanosecondsMax: UInt64?) -> [Int] {
        var set = fd_set()
        var highest: Int32 = -1
        withUnsafeMutableBytes(of: &set) { bytes in
            for connection in connections where connection.request != nil {
                bytes[Int(connection.socket) / 8] |= 1 << UInt8(connection.socket % 8)
                highest = max(highest, connection.socket)
            }
        }
        let count: Int32
        if let nanosecondsMax {
            var timeout = timespec(tv_sec: 0, tv_nsec: Int(min(nanosecondsMax, 999_999_999)))
            count = pselect(highest + 1, &set, nil, nil, &timeout, nil)
        } else {
            count = pselect(highest + 1, &set, nil, nil, nil, nil)
        }
        guard count > 0 else { return [] }
        return withUnsafeBytes(of: &set) { bytes in
            connections.indices.filter { index in
                let socket = connections[index].socket
                return bytes[Int(socket) / 8] & 1 << UInt8(socket % 8) != 0
            }
        }
    }

    /// Returns `true` if the answer is the expected one; `nil` while it is incomplete.
    private func receive(on index: Int) throws -> Bool? {
        let socket = connections[index].socket
        let receivedCount = connections[index].receivedCount
        let count = connections[index].received.withUnsafeMutableBytes { bytes in
            recv(socket, bytes.baseAddress?.advanced(by: receivedCount), bytes.count - receivedCount, 0)
        }
        guard count > 0 else { throw BenchmarkFailure("the server closed a connection") }
        let end = receivedCount + count
        connections[index].receivedCount = end
        let body = connections[index].received.withUnsafeBytes { bodyRange(in: $0[..<end]) }
        guard let body else { return nil }
        let received = connections[index].received
        let isExpected = received[9..<12].elementsEqual(expectedStatus.utf8)
        guard isExpected || toleratesRefusals else {
            throw BenchmarkFailure("an unexpected answer: \(String(decoding: received[..<end], as: UTF8.self))")
        }
        if let request = connections[index].request {
            onHead?(request, received[..<body.lowerBound])
            onAnswer?(request, received[body])
        }
        connections[index].request = nil
        return isExpected
    }

    /// Returns the range of the body; `nil` while the answer is incomplete.
    private func bodyRange(in bytes: Slice<UnsafeRawBufferPointer>) -> Range<Int>? {
        let name = StaticString("content-length:")
        var length = 0
        var line = 0
        var position = 0
        while position + 1 < bytes.count {
            guard bytes[position] == UInt8(ascii: "\r") else {
                position += 1
                continue
            }
            if position == line {
                let start = position + 2
                return start + length <= bytes.count ? start..<(start + length) : nil
            }
            let isLength =
                position - line > name.utf8CodeUnitCount
                && (0..<name.utf8CodeUnitCount).allSatisfy { bytes[line + $0] | 0x20 == name.utf8Start[$0] | 0x20 }
            if isLength {
                length = bytes[(line + name.utf8CodeUnitCount)..<position].reduce(0) { value, byte in
                    byte == UInt8(ascii: " ") ? value : value * 10 + Int(byte) - 48
                }
            }
            position += 2
            line = position
        }
        return nil
    }
}

/// Returns the monotonic time.
func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns a request with a JSON body in wire form. `fields`: further header fields, each with its line break.
func request(
    _ path: String,
    _ body: [UInt8],
    method: String = "POST",
    port: UInt16,
    fields: String = ""
) -> [UInt8] {
    let head = """
        \(method) \(path) HTTP/1.1\r
        Host: 127.0.0.1:\(port)\r
        Content-Type: application/json\r
        Content-Length: \(body.count)\r
        \(fields)\r

        """
    return Array(head.utf8) + body
}
