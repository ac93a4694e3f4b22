import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import Migrations
import Postgres

/// `concord setup`: from an empty PostgreSQL to a project that users can sign in to.
struct SetupCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Create database, schema and project, turn on sign-in methods, and print what the app needs.",
        discussion: """
            Asks for what no option gives. Without a terminal, or with --yes, it asks nothing and names the missing \
            options. Only adds: a second run changes nothing that is already there, and says so. For all settings, see \
            concord policy apply and concord providers apply.

            EXAMPLES
              concord setup
              concord setup --project my-project --sign-in email --authorized-domain app.example.com --yes
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var directory: MigrationDirectoryOptions

    @Option(
        name: .customLong("database-url"),
        help: ArgumentHelp("Connection string of the database. Default: database.url.", valueName: "url")
    )
    var databaseURL: String?

    @Option(
        name: .customLong("create-database"),
        help: ArgumentHelp(
            "Create the role and the database of the connection string, if they are missing, over this connection of an "
                + "administrator, such as postgresql://postgres@db.example.com/postgres.",
            valueName: "administrator-url"
        )
    )
    var administratorURL: String?

    @Option(help: ArgumentHelp("4 to 63 lower-case letters, digits and hyphens.", valueName: "project-id"))
    var project: String?

    @Option(
        name: .customLong("sign-in"),
        help: ArgumentHelp(
            "Sign-in methods to turn on, separated by commas: email, email-link, phone, anonymous; or none.",
            valueName: "methods"
        )
    )
    var signIn: String?

    @Option(
        name: .customLong("authorized-domain"),
        help: ArgumentHelp("Host of one of your web apps, or none; may be repeated.", valueName: "host")
    )
    var authorizedDomains: [String] = []

    @Option(
        name: .customLong("provider"),
        help: ArgumentHelp(
            "Identity provider and its client id, such as google.com=CLIENT-ID; may be repeated.",
            valueName: "id=client-id"
        )
    )
    var providers: [String] = []

    @Option(
        name: .customLong("provider-secret-file"),
        help: ArgumentHelp("File with the client secret of a provider; may be repeated.", valueName: "id=file")
    )
    var secretFiles: [String] = []

    @Option(
        name: .customLong("provider-issuer"),
        help: ArgumentHelp("Issuer of an oidc.NAME provider; may be repeated.", valueName: "id=url")
    )
    var issuers: [String] = []

    @Flag(help: "Ask nothing.")
    var yes = false

    private static let none = "none"
    private static let projectRule =
        "a project id has 4 to 63 lower-case letters, digits and hyphens, and no hyphen at either end"

    func validate() throws {
        for (name, url) in [("--database-url", databaseURL), ("--create-database", administratorURL)] {
            if let url, (try? PostgresConfiguration(connectionString: url)) == nil {
                throw ValidationError("\(name): give \(ConfigurationForm.connectionString.allowed)")
            }
        }
        if let project, !isProjectID(project) { throw ValidationError("--project: \(Self.projectRule)") }
        _ = try Self.methods(signIn ?? Self.none)
        _ = try Self.domains(authorizedDomains)
        _ = try providersOfOptions { _ in "" }
    }

    static func methods(_ text: String) throws -> [SetupMethod] {
        if text == none { return [] }
        return try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let method = SetupMethod(rawValue: String(name)) else {
                let names = SetupMethod.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--sign-in: give some of \(names), separated by commas, or none")
            }
            return method
        }
    }

    static func domains(_ texts: [String]) throws -> [AuthorizedDomain] {
        try texts.filter { $0 != none }.map { text in
            guard let domain = AuthorizedDomain(text) else {
                throw ValidationError(
                    "--authorized-domain: not a host name with an optional port and leading *.: \(text)"
                )
            }
            return domain
        }
    }

    /// `secret`: reads the secret in a file.
    private func providersOfOptions(_ secret: (_ path: String) throws -> String) throws -> [SetupProvider] {
        func pairs(_ texts: [String], _ option: String) throws -> [(id: String, value: String)] {
            try texts.map { text in
                guard let equals = text.firstIndex(of: "="), equals != text.startIndex,
                    text.index(after: equals) != text.endIndex
                else { throw ValidationError("\(option): give ID=VALUE, such as google.com=VALUE") }
                return (String(text[..<equals]), String(text[text.index(after: equals)...]))
            }
        }
        var found = try pairs(providers, "--provider").map { SetupProvider(id: $0.id, clientID: $0.value) }
        func index(of id: String, _ option: String) throws -> Int {
            guard let index = found.firstIndex(where: { $0.id == id }) else {
                throw ValidationError("\(option): give --provider \(id)=CLIENT-ID beside it")
            }
            return index
        }
        for (id, path) in try pairs(secretFiles, "--provider-secret-file") {
            found[try index(of: id, "--provider-secret-file")].secret = try secret(path)
        }
        for (id, issuer) in try pairs(issuers, "--provider-issuer") {
            found[try index(of: id, "--provider-issuer")].issuer = issuer
        }
        if Set(found.map(\.id)).count < found.count { throw ValidationError("--provider: give each provider once") }
        if found.contains(where: { $0.id == ProviderID.apple.rawValue }) {
            throw ValidationError("--provider: apple.com needs a key and a team; use concord providers apply")
        }
        return found
    }

    func perform() async throws {
        let sources = try options.sources()
        let mistakes = ConfigurationMistakes.inSettings(of: sources)
        if !mistakes.all.isEmpty { throw mistakes }
        let configuration = DoctorConfiguration(sources)
        let questions = SetupQuestions(mayAsk: canAsk && !yes)
        let postgres =
            if let known = try database(configuration) {
                known
            } else {
                try PostgresConfiguration(connectionString: await Self.connectionString(questions))
            }
        let administrator = try administratorURL.map { try PostgresConfiguration(connectionString: $0) }
        var plan = SetupPlan(
            projectID: project,
            methods: try Self.methods(signIn ?? Self.none),
            domains: try Self.domains(authorizedDomains),
            providers: try providersOfOptions(Self.secret)
        )
        if try await hasNoProject(postgres, mayBeMissing: administrator != nil) {
            try await complete(&plan, questions)
        }
        if !plan.providers.isEmpty, configuration.keys == nil { throw Setup.missingKeys }
        var steps: [SetupStep] = []
        if let administrator { steps += try await create(postgres, administrator) }
        steps.append(try await migrate(postgres))
        let sealer = try configuration.keys.map { try Sealer($0) }
        let finished = plan
        let result = try await withClient(postgres) { client in
            try await Setup(store: AccountStore(client: client), sealer: sealer, plan: finished).run()
        }
        try say(SetupText.text(steps + result.steps))
        try say(
            SetupText.app(result, publicURL: configuration.listen.publicURL, hasKeys: configuration.keys != nil)
        )
    }

    /// The database that an option or the configuration names.
    private func database(_ configuration: DoctorConfiguration) throws -> PostgresConfiguration? {
        try databaseURL.map { try PostgresConfiguration(connectionString: $0) } ?? configuration.database?.postgres
    }

    /// The connection string that the operator types in.
    private static func connectionString(_ questions: SetupQuestions) async throws -> String {
        try await questions.value(
            "Connection string of the database (postgresql://USER@HOST/DATABASE): ",
            option: "--database-url",
            rule: ConfigurationForm.connectionString.allowed,
            { ConfigurationForm.connectionString.parse($0) == nil ? nil : $0 }
        )
    }

    /// True if the database certainly has no project. Changes nothing.
    private func hasNoProject(_ postgres: PostgresConfiguration, mayBeMissing: Bool) async throws -> Bool {
        do {
            let state = try await SchemaState.load(postgres)
            guard state.readiness(required: SchemaVersion.required).canBeServed else { return state.applied.isEmpty }
        } catch let error as PostgresError {
            if mayBeMissing, error.connectFailure?.state != nil { return true }
            throw await databaseFailure(error, postgres)
        }
        return try await withClient(postgres) { try await AccountStore(client: $0).project() == nil }
    }

    /// Asks for everything that a new project needs and no option gives.
    private func complete(_ plan: inout SetupPlan, _ questions: SetupQuestions) async throws {
        guard questions.mayAsk else {
            let missing = [
                project == nil ? "--project" : nil, signIn == nil ? "--sign-in" : nil,
                authorizedDomains.isEmpty ? "--authorized-domain" : nil,
            ].compactMap(\.self)
            guard missing.isEmpty else { throw SetupQuestions.missing(missing) }
            return
        }
        if project == nil {
            plan.projectID = try await questions.value(
                "Project id: ",
                option: "--project",
                rule: Self.projectRule,
                { isProjectID($0) ? $0 : nil }
            )
        }
        if signIn == nil {
            for method in SetupMethod.allCases where try await questions.isAgreed(method.question) {
                plan.methods.append(method)
            }
        }
        if authorizedDomains.isEmpty {
            plan.domains = try await questions.value(
                "Hosts of your web apps, separated by spaces (empty: none): ",
                option: "--authorized-domain",
                rule: "host names such as app.example.com",
                { text in try? Self.domains(text.split(separator: " ").map(String.init)) }
            )
        }
        if providers.isEmpty { plan.providers = try await questions.providers() }
    }

    private func create(
        _ postgres: PostgresConfiguration,
        _ administrator: PostgresConfiguration
    ) async throws -> [SetupStep] {
        guard let creation = DatabaseCreation(for: postgres) else {
            throw ValidationError("--create-database: name user and database in the connection string of the database")
        }
        return try await namingDatabase(administrator) { try await creation.run(as: administrator) }
            .map { SetupStep("\($0.kind) \($0.name)", $0.isNew ? "created" : nil) }
    }

    private func migrate(_ postgres: PostgresConfiguration) async throws -> SetupStep {
        let migrator = Migrator(
            configuration: postgres,
            migrations: try directory.read(),
            toolVersion: ConcordVersion.current
        )
        return try await namingDatabase(postgres) {
            switch try await migrator.run(.latest) {
            case .done(let steps):
                let version = try await migrator.state().version
                return SetupStep("schema \(version)", steps.isEmpty ? nil : "migrated")
            case .refused(let reasons):
                throw StartupFailure(reasons.map(\.description).joined(separator: "\n"), .answerIsNo)
            }
        }
    }

    /// The text of a file without the final line break.
    private static func secret(_ path: String) throws -> String {
        guard let bytes = FileManager.default.contents(atPath: path),
            let line = String(validating: bytes, as: UTF8.self)?.split(whereSeparator: \.isNewline).first
        else {
            throw StartupFailure(
                "--provider-secret-file: \(path) cannot be read or is empty; check its path and permissions",
                .badConfiguration
            )
        }
        return String(line)
    }
}
