import AccountStore
import Glibc
import JSON

extension Benchmark {
    /// Tests that every message arrives exactly once while the relay keeps failing.
    static let outboxDrain = Benchmark(
        name: "outbox-drain",
        summary: "10,000 mails in the outbox and a relay that fails each third attempt; how many are lost or come twice"
    ) { lab in
        lab.note("outbox-drain: \(mails) mails, and a relay that fails each third attempt")
        try lab.emptyOutbox()
        let writer = try await lab.serve()
        do {
            defer { writer.process.stop() }
            let requests = (0..<mails).map { number in
                let body = JSONWriter.object { writer in
                    writer.field("requestType", "EMAIL_SIGNIN")
                    writer.field("email", recipient(number))
                }
                return request("/v1/accounts:sendOobCode?key=\(Lab.apiKey)", body, port: writer.port)
            }
            _ = try lab.measure(writer, requests, seconds: .infinity)
        }
        let relay = try FlakyRelay()
        let start = nanoseconds()
        let sender = try await lab.serve([
            "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": String(relay.listener.port),
            "CONCORD_MAIL_SECURITY": "none", "CONCORD_MAIL_FROM": "bench@example.com",
        ])
        defer { sender.process.stop() }
        for round in 1... {
            try relay.serve(untilQuietFor: 3_000)
            let waiting = try await lab.withClient { client in
                try await AccountStore(client: client).waitingMessages(.mail, countMax: Int64(mails) + 1).count
            }
            lab.note("  \(relay.taken.count) taken after \(relay.attempts) attempts, \(waiting) wait")
            if waiting == 0 { break }
            guard round < roundsMax else { throw BenchmarkFailure("the outbox does not become empty") }
            // Failed messages wait, and the pauses between attempts grow to hours.
            try lab.endPauses()
        }
        // A server that stops sends QUIT and waits for an answer.
        relay.hangUp()
        let sample = Sample(count: relay.taken.count, seconds: Double(relay.lastAttempt - start) / 1e9)
        let lost = (0..<mails).count { relay.taken[recipient($0)] == nil }
        let twice = relay.taken.values.reduce(0) { $0 + $1 - 1 }
        lab.note("  \(lost) lost, \(twice) came twice, of \(relay.attempts) attempts \(relay.failures) failed")
        return [
            Outcome(
                name: "outbox-drain",
                summary: "10,000 mails through a relay that fails each third attempt; lost or twice",
                reference: "each once",
                samples: [sample],
                values: [Double(lost + twice)]
            )
        ]
    }

    private static let mails = 10_000
    private static let roundsMax = 100

    private static func recipient(_ number: Int) -> String { "reader-\(number)@example.com" }
}

/// A relay that refuses or ignores each third mail. The calling thread drives it.
private final class FlakyRelay {
    private struct Connection {
        let socket: Int32
        var received: [UInt8] = []
        var recipient = ""
        /// `true` while the client sends a mail's content.
        var isContent = false
    }

    let listener: UnresponsiveListener
    private var connections: [Connection] = []
    /// The number of accepted mails by recipient.
    private(set) var taken: [String: Int] = [:]
    private(set) var attempts = 0
    private(set) var failures = 0
    private(set) var lastAttempt = nanoseconds()

    init() throws {
        listener = try UnresponsiveListener()
    }

    deinit {
        hangUp()
    }

    func hangUp() {
        while let connection = connections.popLast() { close(connection.socket) }
    }

    /// Answers until nothing has arrived for that time.
    func serve(untilQuietFor milliseconds: Int32) throws {
        while true {
            var descriptors = ([listener.socket] + connections.map(\.socket)).map { socket in
                pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return }
            // From the last, because ended connections are removed.
            for index in descriptors.indices.dropFirst().reversed() where descriptors[index].revents != 0 {
                if !receive(on: index - 1) { close(connections.remove(at: index - 1).socket) }
            }
            if descriptors[0].revents != 0 {
                let socket = accept(listener.socket, nil, nil)
                guard socket >= 0 else { throw BenchmarkFailure("no connection of the server's was taken") }
                connections.append(Connection(socket: socket))
                say("220 bench ESMTP", to: socket)
            }
        }
    }

    /// Returns `false` if the connection ends.
    private func receive(on index: Int) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = recv(connections[index].socket, &bytes, bytes.count, 0)
        guard count > 0 else { return false }
        connections[index].received += bytes.prefix(count)
        while true {
            let end = Array(connections[index].isContent ? "\r\n.\r\n".utf8 : "\r\n".utf8)
            guard let range = connections[index].received.firstRange(of: end) else { return true }
            let line = String(decoding: connections[index].received[..<range.lowerBound], as: UTF8.self)
            connections[index].received.removeSubrange(..<range.upperBound)
            guard answer(line, on: index) else { return false }
        }
    }

    private func answer(_ line: String, on index: Int) -> Bool {
        let socket = connections[index].socket
        if connections[index].isContent {
            connections[index].isContent = false
            attempts += 1
            lastAttempt = nanoseconds()
            guard !attempts.isMultiple(of: 3) else {
                failures += 1
                // Alternates between a refusal and no answer.
                guard attempts.isMultiple(of: 2) else { return false }
                say("451 4.3.0 later", to: socket)
                return true
            }
            taken[connections[index].recipient, default: 0] += 1
            say("250 2.0.0 taken", to: socket)
            return true
        }
        switch line.prefix(4).uppercased() {
        case "RCPT":
            connections[index].recipient = String(line.drop { $0 != "<" }.dropFirst().prefix { $0 != ">" })
            say("250 2.1.5 fine", to: socket)
        case "DATA":
            connections[index].isContent = true
            say("354 go on", to: socket)
        case "QUIT":
            say("221 2.0.0 bye", to: socket)
            return false
        default: say("250 fine", to: socket)
        }
        return true
    }

    private func say(_ line: String, to socket: Int32) {
        let bytes = Array((line + "\r\n").utf8)
        _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
