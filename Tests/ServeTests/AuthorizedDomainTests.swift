import AccountOperations
import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Postgres
import Subprocess
import Testing

/// Which domains a project authorizes, as operators of the real program see it.
struct AuthorizedDomainTests {
    private static let sharing = ProjectSettings.developmentDefaults
        .setting("authorizedDomains", ["app.example.com", "demo-test.web.app"])
    private static let bare = ProjectSettings.developmentDefaults.setting("authorizedDomains", [])

    @Test func `a new project authorizes no domain, and the output says how to add one`() async throws {
        try await TestDatabase.with { database in
            let ending = try await ConcordCommand.run(["project", "init", "--id", "demo-test"], database)
            #expect(ending.status == .exited(0), "\(ending.error)")
            #expect(ending.output.contains("\nauthorized domains: none\n"))
            #expect(ending.output.contains("\n  concord policy apply domains.yaml\n"))
            let unset: Query<Int64?> = """
                SELECT count(*) FROM project_config
                WHERE settings - 'concord' = '{"linkPolicy": {"preset": "strict", "unprovenAddress": "confirm"}}'
                    AND settings -> 'concord' = '{"sessions": {"inactivitySeconds": 15552000}}'
                """
            #expect(try await database.count(unset) == 1)
            // What it says works.
            try await Folder.with { folder in
                try folder.write("domains.yaml", "authorizedDomains: [app.example.com]\n")
                let applied = ["policy", "apply", "--yes", folder.path("domains.yaml")]
                let ending = try await ConcordCommand.run(applied, database)
                #expect(ending.status == .exited(0), "\(ending.error)")
            }
            let stored: Query<Int64?> = """
                SELECT count(*) FROM project_config
                WHERE settings -> 'authorizedDomains' = '["app.example.com"]'
                    AND settings - 'concord' - 'authorizedDomains'
                        = '{"linkPolicy": {"preset": "strict", "unprovenAddress": "confirm"}}'
                """
            #expect(try await database.count(stored) == 1)
        }
    }

    @Test func `a new project authorizes the given domains`() async throws {
        try await TestDatabase.with { database in
            let wrong = try await ConcordCommand.run(
                ["project", "init", "--id", "demo-test", "--authorized-domain", "https://app.example.com"],
                database
            )
            #expect(wrong.status == .exited(64) && wrong.error.contains("not a host name"), "\(wrong.error)")
            let options = ["App.example.com", "demo-test.web.app"].flatMap { ["--authorized-domain", $0] }
            let ending = try await ConcordCommand.run(["project", "init", "--id", "demo-test"] + options, database)
            #expect(ending.output.contains("\nauthorized domains: app.example.com, demo-test.web.app\n"))
            #expect(ending.output.contains("\nwarning: demo-test.web.app: anyone can get a name under web.app"))
            let stored: Query<Int64?> = """
                SELECT count(*) FROM project_config WHERE settings - 'linkPolicy' = '{
                    "authorizedDomains": ["app.example.com", "demo-test.web.app"],
                    "concord": {"sessions": {"inactivitySeconds": 15552000}}
                }'
                """
            #expect(try await database.count(stored) == 1)
        }
    }

    @Test func `a server logs at its start if no domain, or a shared host's, is authorized`() async throws {
        for (settings, level, rule) in [
            (Self.bare.setting("firebase", at: ["linkPolicy", "preset"]), "warning", "compatibility-preset"),
            (Self.bare, "notice", "no-authorized-domain"), (Self.sharing, "warning", "authorized-shared-host"),
        ] {
            try await TestDatabase.with { database in
                try await database.makeProject(settings: settings)
                try await ServeProcess.run(database: database.url) { server in
                    let lines = server.log.lines(of: level)
                    #expect(lines.contains { "\($0)".contains(rule) }, "\(server.log.text)")
                }
            }
        }
    }

    @Test func `config check warns about a shared host, and can run offline`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject(settings: Self.sharing)
            let checked = try await ConcordCommand.run(["config", "check"], database)
            #expect(checked.status == .exited(0) && checked.output == "the configuration is complete\n", "\(checked)")
            #expect(checked.error.contains("concord: warning: "), "\(checked.error)")
            #expect(checked.error.contains("(authorized-shared-host: domain: demo-test.web.app"), "\(checked.error)")
            let offline = try await ConcordCommand.run(["config", "check", "--offline"], database)
            #expect(offline.status == .exited(0) && offline.error.isEmpty, "\(offline)")
            let away = try await ConcordCommand.run(
                ["config", "check"],
                database,
                ["CONCORD_DATABASE_URL": "postgresql://concord:s3cret@127.0.0.1:1/accounts"]
            )
            #expect(away.status == .exited(0) && away.output == "the configuration is complete\n", "\(away)")
            let unchecked = "concord: the project's configuration was not checked: cannot connect to 127.0.0.1:1"
            #expect(away.error.hasPrefix(unchecked), "\(away.error)")
        }
    }

    @Test func `codes are never sent over plain HTTP, not even to this machine`() async throws {
        let settings = ProjectSettings.developmentDefaults
            .setting("authorizedDomains", ["app.example.com", "localhost"])
        try await TestDatabase.with { database in
            try await database.makeProject(settings: settings)
            try await ServeProcess.run(database: database.url) { server in
                for (address, isAuthorized) in [
                    ("https://app.example.com/finish", true), ("http://app.example.com/finish", false),
                    ("https://app.example.com:8443/finish", false), ("https://sub.app.example.com/finish", false),
                    ("http://localhost:3000/", false), ("https://localhost/", true),
                ] {
                    let answer = try await server.post(
                        "/v1/accounts:sendOobCode",
                        [
                            "requestType": "EMAIL_SIGNIN", "email": "ada@example.com",
                            "continueUrl": .string(address), "canHandleCodeInApp": true,
                        ]
                    )
                    #expect(answer.code == (isAuthorized ? nil : "UNAUTHORIZED_DOMAIN"), "\(address): \(answer.text)")
                    let path = "/v1/projects?concordDestination=" + PercentEncoding.encode(address)
                    #expect(try await server.send(.GET, path).json["concordAuthorized"] == .bool(isAuthorized))
                }
            }
        }
    }

    @Test(arguments: ["text", "ndjson", "csv", "sarif"])
    func `an audit reports the project's configuration first`(format: String) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject(settings: Self.sharing)
            try await database.execute(
                """
                INSERT INTO users (user_id, session_epoch, email, email_proof, valid_since, created_at)
                    VALUES ('lovelace', 1, 'ada@example.com', NULL, now(), now())
                """
            )
            let run = ["audit", "run", "--fail-on", "warning", "--format", format]
            let ending = try await ConcordCommand.run(run, database)
            #expect(ending.status == .exited(1), "\(ending.error)")
            let ofProject = try #require(ending.output.range(of: "demo-test.web.app"))
            let ofAccount = try #require(ending.output.range(of: "lovelace"))
            #expect(ofProject.lowerBound < ofAccount.lowerBound, "\(ending.output)")
            switch format {
            case "text":
                #expect(ending.output.contains(#/warning +authorized-shared-host +\(project\) +domain: demo-test/#))
            case "csv": #expect(ending.output.contains("authorized-shared-host,warning,,,,\"{"))
            case "ndjson":
                let line = try JSONValue(parsing: Array(try #require(ending.output.split(separator: "\n").first).utf8))
                #expect(
                    line == [
                        "type": "finding", "rule": "authorized-shared-host", "severity": "warning",
                        "evidence": ["domain": "demo-test.web.app", "sharedHost": "web.app"],
                    ]
                )
                #expect(ending.output.contains("\"authorized-shared-host\":1"))
            default:
                let document = try JSONValue(parsing: Array(ending.output.utf8))
                let result = document["runs"]?.array?.first?["results"]?.array?.first
                #expect(result?["ruleId"] == "authorized-shared-host")
                let place = result?["locations"]?.array?.first?["logicalLocations"]?.array?.first
                #expect(place?["fullyQualifiedName"] == "project")
            }
        }
    }

    @Test func `an audit of named accounts checks the project only if the rule is named`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject(settings: Self.sharing)
            let named = ["audit", "run", "--user", "ada", "--fail-on", "never"]
            #expect(!(try await ConcordCommand.run(named, database).output.contains("shared-host")))
            let asked = try await ConcordCommand.run(named + ["--rule", "authorized-shared-host"], database)
            #expect(asked.output.contains("demo-test.web.app"), "\(asked.output)")
            let errors = try await ConcordCommand.run(["audit", "plan"], database)
            #expect(errors.error.contains("left out: 1 finding of lower severity than error\n"), "\(errors.error)")
            #expect(errors.error.contains("1  authorized-shared-host  warning\n"), "\(errors.error)")
            let plan = try await ConcordCommand.run(["audit", "plan", "--all"], database)
            #expect(plan.error.contains("for a person to decide: 1\n"), "\(plan.error)")
            #expect(plan.error.contains("1  authorized-shared-host  "), "\(plan.error)")
            #expect(!plan.output.contains("web.app"), "no plan changes a project's configuration")
        }
    }
}
