import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import Delivery
import IdentityProviders
import Logging
import Migrations
import NIOCore
import Postgres
import PostgresCluster

/// `concord dev`: the whole service for development, with a private database.
struct DevCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Run the HTTP API for development, with a private PostgreSQL.",
        discussion: """
            Listens on the loopback interface only, accepts any API key, treats `Bearer owner` as administrator, and \
            enables every sign-in method. Point an SDK at it with the SDK's emulator setting.

            ID tokens and session cookies say `alg: none`, because the Admin SDK for Node accepts no other algorithm \
            from an emulator. Concord still signs them, in the claim `concord_signature`, and refuses forged ones. \
            With --signed-tokens it signs them as in production.

            With --database-url, the `database` settings of the configuration file and of the environment apply, \
            except `url` and `replica_url`.

            EXAMPLES
              concord dev
              concord dev --port 9199 --project demo-shop
            """
    )

    @Option(help: ArgumentHelp("Port to listen on; 0 lets the system choose.", valueName: "number"))
    var port = 9099

    @Option(help: ArgumentHelp("Directory of the private cluster and its key.", valueName: "directory"))
    var dataDir = ".concord"

    @Option(help: ArgumentHelp("Project id of a new database.", valueName: "project-id"))
    var project = "demo-concord"

    @Option(help: ArgumentHelp("Use this database instead of a private one.", valueName: "url"))
    var databaseURL: String?

    @Flag(help: "Trust the email_verified claim of every provider, as emulator test suites expect.")
    var trustAssertedEmails = false

    @Flag(help: "Sign ID tokens and session cookies as production does; the Admin SDK for Node then refuses them.")
    var signedTokens = false

    @Option(help: ArgumentHelp("Algorithm that signs the tokens of a new database.", valueName: "algorithm"))
    var signingAlgorithm = TokensConfiguration.SigningAlgorithm.ES256

    @OptionGroup var migrations: MigrationDirectoryOptions

    func validate() throws {
        guard (0...65535).contains(port) else { throw ValidationError("--port: give a number from 0 to 65535") }
        guard isProjectID(project) else {
            throw ValidationError(
                "--project: a project id has 4 to 63 lower-case letters, digits and hyphens, and no hyphen at either end"
            )
        }
    }

    func perform() async throws {
        let defaults = DevelopmentDefaults()
        let logWriter = LogWriter(.text)
        defer { logWriter.close() }
        let logger = makeLogger(LogConfiguration(level: .warning, format: .text), to: logWriter)
        let files = try migrations.read()
        let cluster = databaseURL == nil ? PostgresCluster(dataDirectory: "\(dataDir)/postgres") : nil
        let given = try databaseURL.map { url in
            (url, try DatabaseConfiguration.development(url: url, try ConfigurationOptions.parse([]).sources()))
        }
        let key = try DevelopmentKey(ofDirectory: dataDir)
        let project = ProjectRecord(
            projectID: project,
            projectNumber: 12345,
            settings: ProjectSettings.developmentDefaults
        )
        let banner = Banner(
            project: project.projectID,
            dataDirectory: dataDir,
            hasPrivateCluster: cluster != nil
        )
        let composition = Composition(
            listen: ListenConfiguration(
                host: "127.0.0.1",
                port: port,
                transport: .plain,
                trustedProxies: [],
                publicURL: nil,
                adminListener: nil,
                metricsAddress: nil
            ),
            limits: defaults.limits,
            purge: defaults.purge,
            database: Composition.Database(
                prepare: {
                    let (url, postgres) = if let given { given } else { try await prepared(cluster) }
                    try await migrate(postgres, files)
                    try key.writeEnvironment(databaseURL: url)
                    return postgres
                },
                release: {
                    do {
                        try await cluster?.stop()
                    } catch {
                        complain("\(error)")
                    }
                }
            ),
            sealer: key.sealer,
            algorithm: signingAlgorithm.algorithm,
            mode: Composition.Mode(
                callers: DevelopmentCallers(),
                customTokens: { DevelopmentCustomTokens(signed: $0) },
                trust: trustAssertedEmails ? .asserted : .preset,
                providers: ProviderRegistry(
                    keys: JWKSCache(
                        http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true)),
                        defaults.limits,
                        logger: logger
                    ),
                    network: ProviderNetwork(
                        http: ProviderGuard(IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))),
                        timeout: defaults.limits.providerCallTimeout
                    ),
                    fakes: FakeProvider()
                ),
                webhooks: HTTPWebhookSender(
                    http: IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true), resolver: .webhooks)
                ),
                apps: AppVerifiers(recaptcha: DevelopmentAppVerifier()),
                developmentNumbers: DevelopmentNumbers(),
                // Development sends no mails. The inbox shows them.
                channels: { _ in [] },
                developmentTokens: signedTokens ? nil : DevelopmentTokens(),
                development: DevelopmentRoutes(),
                actionPage: .emulator,
                projectToCreate: project,
                // An existing database keeps its settings: it may be production's.
                completesProject: cluster != nil,
                whenReady: { address in announce(banner.text(address)) },
                whenMessagesArrive: { printInboxMessages($0, inbox: "http://127.0.0.1:\($1)/inbox") }
            ),
            logger: logger,
            logWriter: logWriter,
            requests: .development(to: logWriter)
        )
        try await composition.run()
    }
}

extension TokensConfiguration.SigningAlgorithm: ExpressibleByArgument {}

/// Starts the private cluster.
private func prepared(_ cluster: PostgresCluster?) async throws -> (url: String, PostgresConfiguration) {
    guard let cluster else { throw StartupFailure("neither a database nor a cluster to make one in", .bug) }
    let connection = try await cluster.start()
    if let notice = connection.notice { complain(notice) }
    _ = try await cluster.createDatabase("concord")
    let url = connection.url(database: "concord")
    let none = ConfigurationSources(file: nil, environment: [:], readFile: { _ in nil })
    return (url, try DatabaseConfiguration.development(url: url, none))
}

/// Brings the schema to the newest version and, on Citus, distributes its tables.
private func migrate(_ postgres: PostgresConfiguration, _ files: MigrationSet) async throws {
    let migrator = Migrator(configuration: postgres, migrations: files, toolVersion: ConcordVersion.current)
    if case .refused(let refusals) = try await migrator.run(.latest) {
        throw StartupFailure(refusals.map(\.description).joined(separator: "\n"), .badConfiguration)
    }
    guard try await migrator.distribution(of: Distribution.moved)?.isComplete == false else { return }
    let distributor = Distributor(
        configuration: postgres,
        migrations: files,
        tables: Distribution.moved,
        shards: developmentShards
    )
    if case .refused(let refusals) = try await distributor.run() {
        throw StartupFailure(refusals.map(\.description).joined(separator: "\n"), .badConfiguration)
    }
}

/// Few, because a development machine has few cores and each shard is a table.
private let developmentShards = 4

/// The settings that are fixed for `dev` and configurable for `serve`.
private struct DevelopmentDefaults {
    let limits: LimitsConfiguration
    let purge: PurgeConfiguration

    init() {
        var reader = ConfigurationReader(ConfigurationSources(file: nil, environment: [:], readFile: { _ in nil }))
        limits = LimitsConfiguration(reading: &reader)
        purge = PurgeConfiguration(reading: &reader)
    }
}

/// The text on the terminal when the service is ready.
private struct Banner {
    let project: String
    let dataDirectory: String
    let hasPrivateCluster: Bool

    func text(_ address: SocketAddress?) -> String {
        let url = "http://127.0.0.1:\(address?.port ?? 0)"
        let database = hasPrivateCluster ? "private PostgreSQL in \(dataDirectory)/" : "the database you named"
        let environment = DevelopmentKey.environmentPath(inDirectory: dataDirectory)
        return """
            Concord \(ConcordVersion.current) is ready for development.

              URL        \(url)
              Project    \(project)  (any API key is accepted)
              Data       \(database)
              Inbox      \(url)/inbox  (mails and messages; nothing is sent)
              Codes      \(url)/emulator/v1/projects/\(project)/oobCodes
              SDKs       FIREBASE_AUTH_EMULATOR_HOST=127.0.0.1:\(address?.port ?? 0)
              Commands   . \(environment)  (then concord account find, audit run and others work on this data)

            Try it:

              curl -s '\(url)/v1/accounts:signUp?key=any' -H 'Content-Type: application/json' \\
                -d '{"email":"ada@example.com","password":"correct horse"}'

            Stop it with Ctrl-C; the data stays.
            """
    }
}
