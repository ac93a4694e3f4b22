import Dispatch
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An HTTP server on 127.0.0.1 that waits for one request: the callback of a page.
final class LoopbackReceiver: Sendable {
    /// The port that it listens on.
    let port: Int

    private let outcome = Promise<URL>()
    private let closed = Promise<Bool>()
    // Dispatch sources may be used from any thread.
    nonisolated(unsafe) private let source: any DispatchSourceRead
    private let accepts: @Sendable (URL) -> Bool

    /// Bytes of a request's head that are read. Longer ones are dropped.
    private static let headBytesMax = 32_768
    /// Seconds that a browser has to send its request. Browsers open connections that they do not use.
    private static let requestSeconds = 5

    /// - Parameters:
    ///   - port: 0 for a free port.
    ///   - accepts: True for the address that ends the wait.
    /// - Throws: `webInternalError` if the port is in use.
    init(port: Int, accepts: @escaping @Sendable (URL) -> Bool) throws(AuthError) {
        let (listener, bound) = try Self.listen(on: port)
        self.port = bound
        self.accepts = accepts
        let connections = DispatchQueue(label: "concord.loopback.connections", attributes: .concurrent)
        source = DispatchSource.makeReadSource(
            fileDescriptor: listener,
            queue: DispatchQueue(label: "concord.loopback")
        )
        source.setEventHandler { [weak self] in
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            guard let self else {
                close(connection)
                return
            }
            connections.async {
                self.serve(connection)
                close(connection)
            }
        }
        source.setCancelHandler { [closed] in
            close(listener)
            closed.settle(.success(true))
        }
        source.resume()
    }

    deinit {
        source.cancel()
    }

    /// Returns the callback, or throws after `seconds` or if the task is cancelled.
    func callback(within seconds: TimeInterval) async throws(AuthError) -> URL {
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "concord.loopback.timer"))
        timer.schedule(deadline: .now() + seconds)
        timer.setEventHandler { [outcome] in
            outcome.settle(.failure(AuthError(.webContextCancelled, "The page did not answer in time.")))
        }
        timer.resume()
        defer { timer.cancel() }
        return try await outcome.value()
    }

    /// Closes the port. It is free when the call returns, also in a cancelled task.
    func stop() async {
        source.cancel()
        await Task { [closed] in _ = try? await closed.value() }.value
    }

    /// Runs `body` with a receiver, and closes its port afterwards.
    static func run(
        port: Int,
        accepts: @escaping @Sendable (URL) -> Bool,
        _ body: (LoopbackReceiver) async throws(AuthError) -> URL
    ) async throws(AuthError) -> URL {
        let receiver = try LoopbackReceiver(port: port, accepts: accepts)
        do {
            let url = try await body(receiver)
            await receiver.stop()
            return url
        } catch {
            await receiver.stop()
            throw error
        }
    }

    // MARK: HTTP

    /// Answers one request.
    private func serve(_ connection: Int32) {
        #if canImport(Darwin)
        var isOn: Int32 = 1
        setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var limit = timeval()
        limit.tv_sec = .init(Self.requestSeconds)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard let target = Self.target(read(from: connection)),
            let url = URL(string: "http://127.0.0.1:\(port)\(target)"), accepts(url)
        else {
            return write("404 Not Found", "This address belongs to an app that waits for a sign-in.", to: connection)
        }
        write("200 OK", "You can close this window and return to the app.", to: connection)
        outcome.settle(.success(url))
    }

    private func read(from connection: Int32) -> String {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while head.count < Self.headBytesMax {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            head += buffer[..<count]
            if head.contains(UInt8(ascii: "\n")), String(decoding: head, as: UTF8.self).contains("\r\n\r\n") { break }
        }
        return String(decoding: head, as: UTF8.self)
    }

    /// Returns the target of a GET request (RFC 9112 §3).
    private static func target(_ head: String) -> Substring? {
        guard head.contains("\r\n\r\n"), let line = head.split(separator: "\r\n", maxSplits: 1).first else {
            return nil
        }
        let parts = line.split(separator: " ")
        guard parts.count == 3, parts[0] == "GET", parts[1].hasPrefix("/") else { return nil }
        return parts[1]
    }

    /// The page has no script, and its policy keeps the browser from sending the callback's address to others.
    private func write(_ status: String, _ text: String, to connection: Int32) {
        let body = "<!doctype html><meta charset=utf-8><title>\(status)</title><p>\(text)</p>"
        let answer = [
            "HTTP/1.1 \(status)", "Content-Type: text/html; charset=utf-8", "Content-Length: \(body.utf8.count)",
            "Connection: close", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "", body,
        ]
        .joined(separator: "\r\n")
        var rest = Array(answer.utf8)[...]
        while !rest.isEmpty {
            #if canImport(Darwin)
            let flags: Int32 = 0
            #else
            let flags = Int32(MSG_NOSIGNAL)
            #endif
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    // MARK: Socket

    private static func listen(on port: Int) throws(AuthError) -> (descriptor: Int32, port: Int) {
        #if canImport(Glibc)
        let stream = Int32(SOCK_STREAM.rawValue)
        #else
        let stream = SOCK_STREAM
        #endif
        let descriptor = socket(AF_INET, stream, 0)
        guard descriptor >= 0 else { throw failure("open a socket", port) }
        var isOn: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        // Programs that the app starts, such as the browser, do not inherit the port.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0 && listenFor(descriptor)
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard isListening else {
            let error = failure("listen", port)
            close(descriptor)
            throw error
        }
        return (descriptor, Int(in_port_t(bigEndian: address.sin_port)))
    }

    private static func failure(_ action: String, _ port: Int) -> AuthError {
        let reason = String(cString: strerror(errno))
        return AuthError(.webInternalError, "Cannot \(action) on 127.0.0.1:\(port): \(reason). Free the port.")
    }
}

/// `listen(2)`, which the method of ``LoopbackReceiver`` hides.
private func listenFor(_ descriptor: Int32) -> Bool {
    listen(descriptor, 16) == 0
}
