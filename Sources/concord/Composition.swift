import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import Delivery
import HTTPClient
import HTTPServer
import IdentityProviders
import Logging
import NIOCore
import NIOPosix
import Postgres
import PrometheusMetrics
import ServiceLifecycle
import Spans
import UnixSignals

/// Builds and connects all parts of the service. No other code does that.
///
/// `serve` and `dev` differ only in its inputs.
struct Composition {
    /// The differences between `serve` and `dev`.
    struct Mode {
        var callers: any CallerAuthentication
        /// Returns the verifier of custom tokens, given the verifier for registered service accounts.
        var customTokens: @Sendable (ServiceAccountTokens) -> any CustomTokenVerifier
        var trust: EmailTrustBase
        var providers: ProviderRegistry
        var webhooks: any WebhookSending
        var apps: AppVerifiers
        /// The telephone numbers that only development accepts; `nil` in production.
        var developmentNumbers: DevelopmentNumbers?
        /// The senders of messages in the outbox. A message without a sender waits until it expires.
        var channels: @Sendable (ProjectCache) -> [any OutboxChannel]
        /// The form of tokens in development; `nil` signs them as JWTs, as production does.
        var developmentTokens: DevelopmentTokens?
        /// The routes of development; `nil` in production.
        var development: DevelopmentRoutes?
        /// The page that links in mails open.
        var actionPage: MailLinks.Page
        /// The project to create if the database has none; `nil` if only `concord project init` may create it.
        var projectToCreate: ProjectRecord?
        /// True if an existing project gets the settings of `projectToCreate` that it lacks, because an earlier version
        /// created it in a private database.
        var completesProject = false
        /// Called once the service answers requests.
        var whenReady: @Sendable (_ address: SocketAddress?) -> Void
        /// Called with new mails and text messages, the oldest first, and the port of the server; `nil` in production.
        var whenMessagesArrive: (@Sendable (_ messages: [InboxMessage], _ port: Int) -> Void)?
        /// Called once the service begins to stop.
        var whenStopping: @Sendable () -> Void = {}
    }

    /// The source of the database: production uses an existing one, development starts its own.
    struct Database: Sendable {
        /// Prepares the database and returns its connection settings.
        var prepare: @Sendable () async throws -> PostgresConfiguration
        /// Releases the database. Called after its last use, also if `prepare` threw.
        var release: @Sendable () async -> Void
        /// The standby for reads that may be old; `nil` if there is none.
        var replica: DatabaseConfiguration.Replica?
    }

    var listen: ListenConfiguration
    var limits: LimitsConfiguration
    var purge: PurgeConfiguration
    var database: Database
    var sealer: Sealer
    var algorithm: SigningKey.Algorithm
    var mode: Mode
    var logger: Logger
    /// The writer of the lines of `logger` and `requests`.
    var logWriter: LogWriter
    var requests: RequestLog
    /// The export of traces and metrics; `nil` if nothing is exported.
    var telemetry: Telemetry?

    var spans: Spans { telemetry?.spans ?? .off }

    /// Serves until SIGTERM or SIGINT, then drains.
    /// - Throws: `StartupFailure` if the service cannot start, or the error of a part while it ran.
    func run() async throws {
        let service = ServiceHandle()
        let address = BoundAddress()
        let measurements = Measurements(mode.development)
        measurements.registry.beforeReading { [logWriter] in measurements.log.read(logWriter) }
        let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let limits = ServerLimits(bodyBytesMax: limits.bodyBytesMax, requestTimeout: limits.requestTimeout)
        let certificate = try listen.transport.certificate(logger)
        if let certificate {
            measurements.registry.beforeReading {
                guard let expiry = certificate.expirySecondsSinceEpoch else { return }
                measurements.upkeep.certificateExpires(at: expiry)
            }
        }
        let openFiles = try OpenFiles.raised()
        HTTPTransport.shared.limit(transfersMax: openFiles.outgoingRequests)
        let edge = api(service, .everyone, mode.callers, measurements).responder()
        var listeners = [
            Listener(
                address: .tcp(host: listen.host, port: listen.port),
                tls: certificate?.context,
                limits: limits,
                eventLoops: eventLoops,
                responder: edge,
                connectionsMax: openFiles.connections(self.limits.connections, logger),
                responderWhenFull: edge.whenFull,
                observer: ListenerLog(.everyone, measurements.listeners, logger),
                whenListening: address.set
            )
        ]
        if let adminListener = listen.adminListener {
            listeners.append(
                Listener(
                    address: adminListener.bindAddress(),
                    limits: limits,
                    eventLoops: eventLoops,
                    responder: api(service, .operators, OperatorCallers(), measurements).responder(),
                    connectionsMax: openFiles.operatorsConnections,
                    observer: ListenerLog(.operators, measurements.listeners, logger)
                )
            )
        }
        if let metricsAddress = listen.metricsAddress {
            listeners.append(
                Listener(
                    address: .tcp(host: metricsAddress.host, port: metricsAddress.port),
                    limits: limits,
                    eventLoops: eventLoops,
                    responder: MetricsResponder(measurements.exposition),
                    connectionsMax: openFiles.operatorsConnections,
                    observer: ListenerLog(.metrics, measurements.listeners, logger)
                )
            )
        }
        let core = Core(composition: self, service: service, address: address, measurements: measurements)
        var others: [any Service] = listeners
        if let certificate { others.append(certificate) }
        // The last one learns first of a shutdown.
        others.append(StopObserver(whenStopping: mode.whenStopping))
        others.append(ShutdownLog(logger: logger))
        let exporter = telemetry.map { $0.exporter(measurements, logger) }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // Stopped from the last to the first: no new requests, then the last writes, then the database, then
                // the last spans.
                services: (exporter.map { [.init(service: $0)] } ?? []) + [
                    .init(service: core, failureTerminationBehavior: .gracefullyShutdownGroup)
                ] + others.map { .init(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: logger
            ).bounded(drain: self.limits.drainTimeout)
        )
        let outcome = await Result { try await group.run() }
        try await eventLoops.shutdownGracefully()
        do {
            try outcome.get()
        } catch let error as CannotListen {
            throw StartupFailure(await words(for: error), .badConfiguration)
        }
        logger.info("stopped")
    }

    private func api(
        _ service: ServiceHandle,
        _ audience: API.Audience,
        _ callers: any CallerAuthentication,
        _ measurements: Measurements
    ) -> API {
        // Public clients do not see the state of the service; development listens on this machine only.
        let isShown = audience == .operators || mode.development != nil
        return API(
            service: service,
            audience: audience,
            callers: callers,
            development: mode.development,
            jsonDepthMax: limits.jsonDepthMax,
            publicURL: listen.publicURL,
            scheme: listen.transport.scheme,
            trustedProxies: listen.trustedProxies,
            logger: logger,
            requests: requests,
            spans: spans,
            metrics: measurements.http,
            exposition: isShown ? measurements.exposition : nil,
            challenge: mode.apps.challenge,
            version: ConcordVersion.current
        )
    }
}

/// Logs the begin of a shutdown. It is the first part that stops.
private struct ShutdownLog: Service, CustomStringConvertible {
    let logger: Logger

    var description: String { "shutdown log" }

    func run() async throws {
        try await gracefulShutdown()
        logger.info("stopping: finishing requests in flight")
    }
}

/// The reason why the service cannot start, with the next step.
struct StartupFailure: Error, CustomStringConvertible {
    let description: String
    let exitCode: ExitCode

    init(_ description: String, _ exitCode: ExitCode) {
        self.description = description
        self.exitCode = exitCode
    }

    static let noProject = StartupFailure(
        "the database holds no project yet; create it with: concord project init --id PROJECT-ID",
        .badConfiguration
    )
}

extension ListenConfiguration.Transport {
    fileprivate var scheme: String {
        switch self {
        case .plain: "http"
        case .tls: "https"
        }
    }

    /// The certificate for TLS; `nil` for plain HTTP.
    fileprivate func certificate(_ logger: Logger) throws -> ServerCertificate? {
        guard case .tls(let certificatePath, let keyPath) = self else { return nil }
        return try ServerCertificate(certificatePath: certificatePath, keyPath: keyPath, logger: logger)
    }
}

extension ListenConfiguration.AdminListener {
    /// The address to bind. From here on, only this process's user can access the files that it creates, such as the
    /// socket.
    fileprivate func bindAddress() -> Listener.Address {
        switch self {
        case .loopback(let address): return .tcp(host: address.host, port: address.port)
        case .unixSocket(let path):
            umask(0o077)
            return .unixSocket(path: path)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension ServiceGroupConfiguration {
    /// Cancels the parts that do not finish in time after the signal.
    fileprivate func bounded(drain: Duration) -> Self {
        var bounded = self
        bounded.maximumGracefulShutdownDuration = drain
        return bounded
    }
}
