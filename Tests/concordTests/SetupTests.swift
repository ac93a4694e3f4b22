import AccountOperations
import AccountStore
import AccountTestSupport
import ArgumentParser
import JSON
import Postgres
import Testing

@testable import concord

/// What `concord setup` establishes in a migrated database.
struct SetupTests {
    private static let key = Sealer.Key(id: "1", bytes: Array(repeating: 7, count: 32))

    private static func sealer() throws -> Sealer { Sealer(sealingKey: try #require(key)) }

    private static func run(_ plan: SetupPlan, _ database: TestDatabase) async throws -> Setup.Result {
        let sealer = try sealer()
        return try await database.withClient { client in
            try await Setup(store: AccountStore(client: client), sealer: sealer, plan: plan).run()
        }
    }

    private static func settings(_ database: TestDatabase) async throws -> JSONValue {
        let texts = try await database.rows("SELECT settings::text FROM project_config" as Query<String?>)
        return try JSONValue(parsing: Array((try #require(texts.first ?? nil)).utf8))
    }

    private static func plan(domains: [String] = ["app.example.com"]) throws -> SetupPlan {
        SetupPlan(
            projectID: "demo-setup",
            methods: [.email, .anonymous],
            domains: try SetupCommand.domains(domains),
            providers: [SetupProvider(id: "google.com", clientID: "client", secret: "S3CR3T")]
        )
    }

    @Test func `a second run changes nothing and finds the same API key`() async throws {
        try await TestDatabase.with { database in
            let first = try await Self.run(try Self.plan(), database)
            #expect(first.steps.allSatisfy { $0.isChange }, "\(first.steps)")
            #expect(
                first.steps.map(\.subject) == [
                    "project demo-setup", "sign-in email", "sign-in anonymous", "authorized domain app.example.com",
                    "provider google.com",
                ]
            )
            let version: Query<Int64?> = "SELECT max(version) FROM project_config_versions"
            let before = try await database.count(version)
            let second = try await Self.run(try Self.plan(), database)
            #expect(!second.steps.contains { $0.isChange }, "\(second.steps)")
            #expect(second.apiKey == first.apiKey && !first.apiKey.isEmpty)
            #expect(try await database.count(version) == before)
            #expect(SetupText.text(second.steps).hasSuffix("nothing was changed: everything is already there"))
            let settings = try await Self.settings(database)
            #expect(settings["signIn"]?["email"]?["enabled"] == true)
            #expect(settings["signIn"]?["anonymous"]?["enabled"] == true)
            #expect(settings["authorizedDomains"] == ["app.example.com"])
        }
    }

    @Test func `two setups at once make one project with the domains of both`() async throws {
        try await TestDatabase.with { database in
            let plans = try ["one", "two"].map { try Self.plan(domains: ["\($0).example.com"]) }
            let results = try await withThrowingTaskGroup(of: Setup.Result.self) { group in
                for plan in plans { group.addTask { try await Self.run(plan, database) } }
                var results: [Setup.Result] = []
                for try await result in group { results.append(result) }
                return results
            }
            #expect(results.first?.apiKey == results.last?.apiKey)
            #expect(results.filter { $0.steps.first?.isChange == true }.count == 1, "one of them created the project")
            let counts: Query<String?> = """
                SELECT concat_ws(' ', (SELECT count(*) FROM project_config), (SELECT count(*) FROM api_keys),
                    (SELECT count(*) FROM provider_configs))
                """
            #expect(try await database.rows(counts) == ["1 1 1"])
            let domains = try await Self.settings(database)["authorizedDomains"]?.array?.compactMap(\.string)
            #expect(domains?.sorted() == ["one.example.com", "two.example.com"])
        }
    }

    @Test func `a setup only adds`() async throws {
        try await TestDatabase.with { database in
            var plan = try Self.plan(domains: ["old.example.com"])
            plan.methods = [.emailLink]
            _ = try await Self.run(plan, database)
            var next = try Self.plan(domains: ["new.example.com"])
            next.projectID = nil
            next.methods = [.email]
            next.providers = [SetupProvider(id: "google.com", clientID: "other")]
            let result = try await Self.run(next, database)
            #expect(result.projectID == "demo-setup")
            let settings = try await Self.settings(database)
            #expect(settings["authorizedDomains"] == ["old.example.com", "new.example.com"])
            #expect(settings["signIn"]?["email"]?["passwordRequired"] == false, "e-mail links stay on")
            #expect(result.steps.contains(SetupStep("provider google.com", "changed")))
            let sealer = try Self.sealer()
            try await database.withClient { client in
                let store = AccountStore(client: client)
                let configs = try await ProviderRegistrations(store: store, sealer: sealer, effects: .system).all()
                #expect(configs.first?.clientID == "other" && configs.first?.clientSecret?.text == "S3CR3T")
            }
        }
    }

    @Test func `another project in the database is refused`() async throws {
        try await TestDatabase.with { database in
            _ = try await Self.run(try Self.plan(), database)
            var other = try Self.plan()
            other.projectID = "demo-other"
            await #expect(throws: StartupFailure.self) { try await Self.run(other, database) }
            #expect(
                try await database.count("SELECT count(*) FROM project_config WHERE project_id = 'demo-setup'") == 1
            )
        }
    }

    @Test func `a provider without keys or with an unknown id is refused, and nothing is registered`() async throws {
        try await TestDatabase.with { database in
            var unknown = try Self.plan()
            unknown.providers = [SetupProvider(id: "nowhere.example", clientID: "c")]
            await #expect(throws: StartupFailure.self) { try await Self.run(unknown, database) }
            let plan = try Self.plan()
            await #expect(throws: StartupFailure.self) {
                try await database.withClient { client in
                    _ = try await Setup(store: AccountStore(client: client), sealer: nil, plan: plan).run()
                }
            }
            #expect(try await database.count("SELECT count(*) FROM provider_configs") == 0)
        }
    }

    @Test func `methods and domains are checked, and none is a value`() throws {
        #expect(try SetupCommand.methods("email,email-link") == [.email, .emailLink])
        #expect(try SetupCommand.methods("none") == [])
        #expect(throws: ValidationError.self) { try SetupCommand.methods("email,fax") }
        #expect(try SetupCommand.domains(["none"]).isEmpty)
        #expect(throws: ValidationError.self) { try SetupCommand.domains(["https://app.example.com"]) }
        #expect(throws: (any Error).self) { try SetupCommand.parse(["--provider-secret-file", "google.com=a"]) }
        #expect(throws: (any Error).self) { try SetupCommand.parse(["--provider", "apple.com=a"]) }
        #expect(throws: (any Error).self) { try SetupCommand.parse(["--provider", "google.com"]) }
    }

    @Test func `the app gets its key, its domain and the next steps`() {
        let result = Setup.Result(projectID: "demo-setup", apiKey: "AIza", steps: [])
        let ready = SetupText.app(result, publicURL: "https://id.example.com", hasKeys: true)
        #expect(ready.contains("apiKey: 'AIza'") && ready.contains("authDomain: 'id.example.com'"))
        #expect(ready.hasSuffix("  1. check the installation: concord doctor\n  2. start the server: concord serve"))
        let bare = SetupText.app(result, publicURL: nil, hasKeys: false)
        #expect(bare.contains("1. set listen.public_url") && bare.contains("2. set CONCORD_KEYS_ENCRYPTION"))
    }
}
