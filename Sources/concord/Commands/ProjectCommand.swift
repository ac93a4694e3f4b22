import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord project`: the project of a database.
struct ProjectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "project",
        abstract: "Create the project that this database serves, or show it.",
        subcommands: [Init.self, Show.self]
    )
}

extension ProjectCommand {
    /// `concord project init`
    struct Init: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create the project and print its API key.",
            discussion: """
                A database serves one project. A second call changes nothing and exits with 1.

                EXAMPLES
                  concord project init --id my-project
                  concord project init --id my-project --authorized-domain app.example.com
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("4 to 63 lower-case letters, digits and hyphens.", valueName: "project-id"))
        var id: String

        @Option(help: ArgumentHelp("Project number that clients see; random by default.", valueName: "number"))
        var number: Int64?

        @Option(
            name: .customLong("authorized-domain"),
            help: ArgumentHelp("Host of one of your web apps; may be repeated. Default: none.", valueName: "host")
        )
        var authorizedDomains: [String] = []

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func validate() throws {
            guard isProjectID(id) else {
                throw ValidationError(
                    "a project id has 4 to 63 lower-case letters, digits and hyphens, and no hyphen at either end"
                )
            }
            if let number, number <= 0 { throw ValidationError("a project number is positive") }
            for host in authorizedDomains where AuthorizedDomain(host) == nil {
                throw ValidationError(
                    "--authorized-domain: not a host name with an optional port and leading *.: \(host)"
                )
            }
        }

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let project = ProjectRecord(
                projectID: id,
                projectNumber: number ?? Int64.random(in: 100_000_000_000...999_999_999_999),
                settings: settings
            )
            let apiKey = NewAPIKey.make(.system)
            let isCreated = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).createProject(project, apiKey: apiKey, by: .operator())
            }
            guard isCreated else {
                complain("this database has a project already; nothing was changed")
                throw ExitCode.answerIsNo
            }
            switch format {
            case .text:
                let head = "project \(id), number \(project.projectNumber)\nAPI key: \(apiKey)"
                try say(([head] + authorization + warnings).joined(separator: "\n"))
            case .json:
                try say(
                    JSONValue.object([
                        "projectId": .string(id), "projectNumber": .integer(project.projectNumber),
                        "apiKeys": .array([.string(apiKey)]),
                        "authorizedDomains": .array(domains.map { .string($0.text) }),
                    ]).text
                )
                for warning in warnings { complain(warning) }
            }
        }

        private var domains: [AuthorizedDomain] { authorizedDomains.compactMap(AuthorizedDomain.init) }

        private var settings: JSONValue {
            domains.isEmpty
                ? ProjectSettings.productionDefaults
                : ProjectSettings.productionDefaults.setting(
                    .array(domains.map { .string($0.text) }),
                    at: ["authorizedDomains"]
                )
        }

        /// The hosts that may receive codes and sessions, and the command that adds one.
        private var authorization: [String] {
            let names = domains.isEmpty ? "none" : domains.map(\.text).joined(separator: ", ")
            return [
                "authorized domains: \(names)",
                domains.isEmpty
                    ? "Sign-in links and providers cannot return to a web app until you list its host:"
                    : "To change the list:",
                "  echo 'authorizedDomains: [app.example.com]' >domains.yaml",
                "  concord policy apply domains.yaml",
            ]
        }

        private var warnings: [String] {
            domains.compactMap { domain in
                SharedHosts.sharedHost(of: domain.host).map { sharedHost in
                    "warning: \(domain.text): anyone can get a name under \(sharedHost); use your own domain"
                }
            }
        }
    }
}

extension ProjectCommand {
    /// `concord project show`
    struct Show: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the project: its id, its API keys, and what is enabled.",
            discussion: """
                An API key is no secret: apps contain it.

                EXAMPLES
                  concord project show
                  concord project show --format json | jq -r '.apiKeys[0]'
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let found = try await withClient(database.postgres) { client in
                let store = AccountStore(client: client)
                return (keys: try await store.project()?.apiKeys, state: try await PolicyState.load(store))
            }
            guard let keys = found.keys, let state = found.state else { throw StartupFailure.noProject }
            let report = ProjectText(state: state, apiKeys: keys.sorted())
            try say(format == .json ? report.json : report.text)
        }
    }
}

/// The output formats of a project.
struct ProjectText {
    let state: PolicyState
    let apiKeys: [String]

    /// Sign-in methods that are enabled, then the enabled providers.
    private var enabled: [String] {
        let methods = ProjectConfigField.all.filter { field in
            field.path.first == "signIn" && field.path.last == "enabled"
                && field.value(in: state.project.settings) == .bool(true)
        }
        return methods.map { $0.path.dropFirst().dropLast().joined(separator: ".") }
            + state.providers.filter(\.isEnabled).map(\.provider.rawValue)
    }

    private var authorizedDomains: [String] {
        state.project.settings["authorizedDomains"]?.array?.compactMap(\.string) ?? []
    }

    var text: String {
        func list(_ items: [String]) -> String { items.isEmpty ? "none" : items.joined(separator: ", ") }
        return TextTable.text([
            ("Project", state.project.projectID), ("Number", String(state.project.projectNumber)),
            ("API keys", list(apiKeys)), ("Policy", "version \(state.project.version)"),
            ("Enabled", list(enabled)), ("Authorized domains", list(authorizedDomains)),
        ])
    }

    var json: String {
        func array(_ items: [String]) -> JSONValue { .array(items.map { .string($0) }) }
        return JSONValue.object([
            "projectId": .string(state.project.projectID), "projectNumber": .integer(state.project.projectNumber),
            "apiKeys": array(apiKeys), "version": .integer(state.project.version), "enabled": array(enabled),
            "authorizedDomains": array(authorizedDomains),
        ]).text
    }
}

/// Returns true if `text` can be a project id (the check constraint of `project_config`).
func isProjectID(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    let isMadeOfAllowed = bytes.allSatisfy { byte in
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || byte == UInt8(ascii: "-")
    }
    return (4...63).contains(bytes.count) && isMadeOfAllowed && !text.hasPrefix("-") && !text.hasSuffix("-")
}
