import AccountAPI
import AccountLinking
import AccountOperations
import ArgumentParser
import Delivery
import FoundationEssentials
import IdentityProviders
import Logging
import NameResolution
import Spans

/// `concord serve`: production. Constructs no part that only development has.
struct ServeCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the HTTP API until SIGTERM, then drain.",
        discussion: """
            Needs a migrated database (concord migrate up), a project in it (concord project init) and a key-encryption \
            key. See docs/reference/configuration.md for settings, or: concord config print.

            EXAMPLES
              concord serve --config /etc/concord/concord.yaml
            """
    )

    @OptionGroup var options: ConfigurationOptions

    func perform() async throws {
        let keyLogWarning = TLSKeyLog.switchOff()
        let configuration = try ServeConfiguration(try options.sources())
        let logWriter = LogWriter(configuration.log.format)
        defer { logWriter.close() }
        let logger = makeLogger(configuration.log, to: logWriter)
        if let keyLogWarning { logger.warning("\(keyLogWarning)") }
        let environment = ProcessInfo.processInfo.environment
        for warning in configuration.database.transportWarnings(environment: environment) {
            logger.warning("\(warning)")
        }
        let sealer = try Sealer(configuration.keys)
        let telemetry = configuration.telemetry.map { Telemetry($0, configuration.providers) }
        let spans = telemetry?.spans ?? .off
        let manager = ServiceManager(environment: ProcessInfo.processInfo.environment)
        let composition = Composition(
            listen: configuration.listen,
            limits: configuration.limits,
            purge: configuration.purge,
            database: Composition.Database(
                prepare: { configuration.database.postgres },
                release: {},
                replica: configuration.database.replica
            ),
            sealer: sealer,
            algorithm: configuration.tokens.signingAlgorithm.algorithm,
            mode: Composition.Mode(
                callers: RegisteredCallers(),
                customTokens: { $0 },
                trust: .preset,
                providers: ProviderRegistry(
                    configuration.providers,
                    configuration.limits,
                    logger: logger,
                    spans: spans
                ),
                webhooks: HTTPWebhookSender(
                    http: IssuerHTTPClient(configuration.providers, resolver: .webhooks),
                    timeout: configuration.limits.providerCallTimeout
                ),
                apps: AppVerifiers(configuration, sealer: sealer, spans: spans),
                developmentNumbers: nil,
                channels: { project in
                    let channels: [(any OutboxChannel)?] = [
                        configuration.mail?.channel(project, publicURL: configuration.listen.publicURL),
                        configuration.messages.channel(configuration.providers),
                        configuration.applePush.channel(),
                    ]
                    return channels.compactMap(\.self)
                },
                developmentTokens: nil,
                development: nil,
                actionPage: .standard,
                projectToCreate: nil,
                whenReady: { address in
                    manager?.report(.ready)
                    if configuration.mail == nil {
                        logger.notice(
                            "no mail relay is configured: mails wait in the outbox until they expire. Set mail.host"
                        )
                    }
                    var metadata: Logger.Metadata = ["address": "\(address.map { "\($0)" } ?? "unknown")"]
                    switch configuration.listen.adminListener {
                    case .unixSocket(let path): metadata["admin"] = "\(path)"
                    case .loopback(let admin): metadata["admin"] = "\(admin.host):\(admin.port)"
                    case nil: break
                    }
                    logger.info("ready", metadata: metadata)
                },
                whenStopping: { manager?.report(.stopping) }
            ),
            logger: logger,
            logWriter: logWriter,
            requests: RequestLog(configuration.log, to: logWriter),
            telemetry: telemetry
        )
        try await composition.run()
    }
}

extension Sealer {
    /// - Throws: `StartupFailure` if a key is not an AES-256 key, which the configuration has already checked.
    init(_ configuration: KeysConfiguration) throws {
        func key(_ configured: KeyEncryptionKey) throws -> Key {
            guard let key = Key(id: String(configured.id), bytes: configured.bytes) else {
                throw StartupFailure("\(configured) is not 32 bytes", .badConfiguration)
            }
            return key
        }
        self.init(sealingKey: try key(configuration.sealing), olderKeys: try configuration.opening.map(key))
    }
}

extension MailConfiguration {
    func channel(_ project: ProjectCache, publicURL: String?) -> any OutboxChannel {
        MailChannel(SMTPRelay(relay), from: sender, templates: templates, project: project, publicURL: publicURL)
    }
}

extension IssuerHTTPClient {
    /// - `allowsLoopback`: true for commands beside a development server.
    init(
        _ configuration: ProvidersConfiguration,
        allowsLoopback: Bool = false,
        resolver: HostResolver = .providers
    ) {
        self.init(
            policy: NetworkPolicy(
                allowsPrivateNetworks: configuration.allowsPrivateNetworks,
                allowsLoopback: allowsLoopback
            ),
            authorities: configuration.certificateAuthorities,
            resolver: resolver
        )
    }
}

extension ProviderRegistry {
    /// The providers of production; for commands, possibly beside a development server.
    init(
        _ configuration: ProvidersConfiguration,
        _ limits: LimitsConfiguration,
        logger: Logger,
        isBesideDevelopment: Bool = false,
        spans: Spans = .off
    ) {
        let http = TracedFetching(IssuerHTTPClient(configuration), spans)
        self.init(
            keys: JWKSCache(http: http, limits, logger: logger),
            network: ProviderNetwork(
                http: ProviderGuard(http),
                timeout: limits.providerCallTimeout
            ),
            isBesideDevelopment: isBesideDevelopment
        )
    }
}

extension TokensConfiguration.SigningAlgorithm {
    var algorithm: SigningKey.Algorithm {
        switch self {
        case .ES256: .es256
        case .RS256: .rs256
        }
    }
}

extension JWKSCache {
    /// A key cache with the configured timeout of issuers.
    init(http: any HTTPFetching, _ configuration: LimitsConfiguration, logger: Logger) {
        var limits = Limits()
        limits.refreshTimeout = configuration.providerCallTimeout
        self.init(http: http, limits: limits, logger: logger)
    }
}

extension AppVerifiers {
    /// The configured verifiers of requests for messages to phones.
    init(_ configuration: ServeConfiguration, sealer: Sealer, spans: Spans = .off) {
        // The operator chooses the addresses, and may run a verifier on this machine.
        let http = TracedFetching(IssuerHTTPClient(configuration.providers, allowsLoopback: true), spans)
        self.init(
            recaptcha: configuration.recaptcha.map { recaptcha in
                RecaptchaVerifier(
                    secret: recaptcha.secret,
                    address: recaptcha.verifyURL,
                    http: http,
                    timeout: configuration.limits.providerCallTimeout
                )
            },
            challenge: configuration.recaptcha?.challenge,
            assessments: configuration.assessments.map { assessments in
                AssessmentVerifier(
                    keys: assessments.keys,
                    apiKey: assessments.apiKey,
                    base: assessments.url,
                    scoreMin: assessments.scoreMin,
                    http: http,
                    timeout: configuration.limits.providerCallTimeout
                )
            },
            assessmentKeys: configuration.assessments?.keys,
            pushes: AppReceiptVerifier(sealer: sealer),
            pushTopics: Set(configuration.applePush.apps.keys),
            acceptsUnverified: configuration.messages.allowsUnverifiedApps
        )
    }
}
