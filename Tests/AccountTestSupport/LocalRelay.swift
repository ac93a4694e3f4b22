import Foundation
import JSON
import Subprocess
import Synchronization
import SystemPackage

/// A real SMTP server for tests: aiosmtpd, with the behavior of relays (`Tests/SMTP/relay.py`).
package final class LocalRelay: Sendable {
    /// A received mail, accepted or refused.
    package struct Mail: Sendable {
        package let messageID: String
        package let recipient: String
        package let sender: String
        /// The authenticated user.
        package let user: String?
        package let cameOverTLS: Bool
        package let usesSMTPUTF8: Bool
        /// Identifies the connection.
        package let peer: Int64
        package let content: [UInt8]
        /// The header fields, as Python's parser reads them.
        package let fields: [(name: String, value: String)]
        package let text: String
        package let html: String
        /// Defects that Python's parser found.
        package let defects: [String]

        package subscript(_ field: String) -> String? { fields.first { $0.name == field }?.value }
    }

    package let port: Int
    /// Path of the relay's certificate, for the configuration.
    package let certificatePath: String
    private let taken: Mutex<[Mail]>
    private let hanging = Atomic(0)

    /// The accepted credentials, if the relay requires a login.
    package static let user = "concord"
    package static let password = "päss word"

    private init(port: Int, certificatePath: String, taken: [Mail] = []) {
        self.port = port
        self.certificatePath = certificatePath
        self.taken = Mutex(taken)
    }

    package var mails: [Mail] { taken.withLock(\.self) }
    /// Waits until the relay has received `count` mails, and returns the mails. The relay reports a mail shortly after
    /// it replied. Gives up after 2 minutes.
    package func mails(atLeast count: Int) async throws -> [Mail] {
        for _ in 0..<24_000 where mails.count < count { try await Task.sleep(for: .milliseconds(5)) }
        return mails
    }

    /// Number of mails that the relay received and does not reply to.
    package var hangingCount: Int { hanging.load(ordering: .relaxed) }

    /// Runs a relay during `body`. `options` are the script's arguments.
    package static func run<Output: Sendable>(
        _ options: [String] = [],
        _ body: @Sendable (LocalRelay) async throws -> Output
    ) async throws -> Output {
        let identity = try TLSIdentity()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-relay-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appendingPathComponent("certificate.pem").path
        let key = folder.appendingPathComponent("key.pem").path
        try identity.pem.write(toFile: certificate, atomically: true, encoding: .utf8)
        try identity.keyPEM.write(toFile: key, atomically: true, encoding: .utf8)
        let root = Repository.root
        return try await Subprocess.run(
            .path(FilePath("\(root)/.build/smtp/bin/python")),
            arguments: Arguments(
                ["-B", "\(root)/Tests/SMTP/relay.py", "--certificate", certificate, "--key", key] + options
            ),
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            let (relays, found) = AsyncStream.makeStream(of: LocalRelay.self)
            let lines = execution.standardOutput.strings()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    var relay: LocalRelay?
                    for try await line in lines {
                        guard let event = try? JSONValue(parsing: Array(line.utf8)) else { continue }
                        if let port = event["port"]?.integer {
                            let listening = LocalRelay(port: Int(port), certificatePath: certificate)
                            relay = listening
                            found.yield(listening)
                        } else if let mail = Mail(event) {
                            relay?.taken.withLock { $0.append(mail) }
                        } else {
                            relay?.hanging.add(1, ordering: .relaxed)
                        }
                    }
                    found.finish()
                }
                let outcome: Result<Output, any Error>
                do {
                    guard let relay = await relays.first(where: { _ in true }) else { throw NeverListened() }
                    outcome = .success(try await body(relay))
                } catch {
                    outcome = .failure(error)
                }
                await execution.teardown(using: [.gracefulShutDown(allowedDurationToNextStep: .seconds(20))])
                try await group.waitForAll()
                return try outcome.get()
            }
        }.closureResult
    }

    /// The relay did not start. `scripts/python-environment smtp` installs its dependencies.
    package struct NeverListened: Error {}
}

extension LocalRelay.Mail {
    fileprivate init?(_ event: JSONValue) {
        guard event["event"]?.string == "taken", let recipient = event["to"]?.array?.first?.string else { return nil }
        self.init(
            messageID: event["id"]?.string ?? "",
            recipient: recipient,
            sender: event["sender"]?.string ?? "",
            user: event["user"]?.string,
            cameOverTLS: event["tls"]?.bool == true,
            usesSMTPUTF8: event["smtputf8"]?.bool == true,
            peer: event["peer"]?.integer ?? 0,
            content: event["content"]?.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) } ?? [],
            fields: event["fields"]?.array?.map { ($0.array?.first?.string ?? "", $0.array?.last?.string ?? "") } ?? [],
            text: event["text"]?.string ?? "",
            html: event["html"]?.string ?? "",
            defects: event["defects"]?.array?.compactMap(\.string) ?? []
        )
    }
}
