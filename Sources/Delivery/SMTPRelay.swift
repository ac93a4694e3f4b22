import NIOPosix
import Synchronization

/// The settings of the relay that accepts Concord's mails and delivers them.
package struct SMTPConfiguration: Sendable, Hashable {
    /// The protection of the connection to the relay.
    package enum Security: String, Sendable, CaseIterable {
        /// TLS by STARTTLS (RFC 3207). Without TLS no mail is sent.
        case startTLS = "starttls"
        /// TLS from the first byte (RFC 8314 §3.3).
        case tls
        case none
    }

    package struct Login: Sendable, Hashable {
        package let user: String
        package let password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    package var host: String
    package var port: Int
    package var security: Security
    package var login: Login?
    /// A file of PEM certificate authorities for the relay's certificate, instead of the system's.
    package var certificateAuthoritiesPath: String?
    /// The most mails that are sent at once, each on its connection.
    package var connectionsMax: Int
    /// The timeout for sending one mail, connecting included.
    package var timeout: Duration

    package init(
        host: String,
        port: Int,
        security: Security,
        login: Login? = nil,
        certificateAuthoritiesPath: String? = nil,
        connectionsMax: Int = 2,
        timeout: Duration = .seconds(15)
    ) {
        self.host = host
        self.port = port
        self.security = security
        self.login = login
        self.certificateAuthoritiesPath = certificateAuthoritiesPath
        self.connectionsMax = connectionsMax
        self.timeout = timeout
    }
}

/// Sends mails to a relay over reused connections. Waits on separate threads.
package final class SMTPRelay: Sendable {
    package let configuration: SMTPConfiguration
    private let threads: NIOThreadPool
    private let idle = Mutex<[SMTPConnection]>([])

    package init(_ configuration: SMTPConfiguration) {
        self.configuration = configuration
        threads = NIOThreadPool(numberOfThreads: configuration.connectionsMax)
        threads.start()
    }

    /// Closes the connections. No mail can be sent afterwards.
    package func shutDown() async {
        try? await threads.shutdownGracefully()
        idle.withLock { $0.removeAll() }
    }

    /// Connects to the relay, starts TLS and logs in, within the timeout. Sends no mail.
    package func check() async -> DeliveryOutcome {
        let connection = SMTPConnection(configuration)
        return (try? await threads.runIfActive { connection.check() }) ?? .unavailable(reason: "stopped")
    }

    /// Sends a mail within the timeout, or within twice the timeout if a reused connection was closed.
    ///
    /// If the task is cancelled, it stops, and it is unknown whether the mail was accepted.
    ///
    /// `content`: the message (RFC 5322), with CR LF line ends. `sender`: the address that bounces go to. `recipient`:
    /// an address whose domain is ASCII.
    package func send(_ content: [UInt8], from sender: String, to recipient: String) async -> DeliveryOutcome {
        let connection = idle.withLock { $0.popLast() } ?? SMTPConnection(configuration)
        let stop = StopFlag()
        let outcome = await withTaskCancellationHandler {
            try? await threads.runIfActive { connection.send(content, from: sender, to: recipient, unless: stop) }
        } onCancel: {
            stop.raise()
        }
        idle.withLock { $0.append(connection) }
        return outcome ?? .unavailable(reason: "stopped")
    }
}

/// A flag that stops a thread whose caller no longer waits.
final class StopFlag: Sendable {
    private let isUp = Atomic(false)

    var isRaised: Bool { isUp.load(ordering: .relaxed) }

    func raise() {
        isUp.store(true, ordering: .relaxed)
    }
}
