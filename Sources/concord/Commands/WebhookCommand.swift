import AccountOperations
import ArgumentParser
import JSON

/// `concord webhook`: the endpoints that receive events.
struct WebhookCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhook",
        abstract: "List, add, test, enable or delete the endpoints that receive events.",
        subcommands: [List.self, Add.self, Test.self, Enable.self, Delete.self]
    )

    /// Runs `body` with the operations of administrators.
    static func withOperations(
        _ options: ConfigurationOptions,
        _ body: @escaping @Sendable (AccountOperations) async throws -> Void
    ) async throws {
        try await concord.withOperations(try ServeConfiguration(try options.sources()), body)
    }

    fileprivate static var listing: Listing<WebhookEndpoint> {
        Listing(
            [
                .init("id", "ID") { .string($0.id) },
                .init("state", "STATE") { .string($0.state.rawValue) },
                .init("waiting", "WAITING") { .integer($0.waitingCount) },
                .init("failed", "FAILED") { .integer($0.failedCount) },
                .init("failingSince", "FAILING SINCE") { $0.failingSince.map { .string(RFC3339.text($0)) } },
                .init("url", "URL") { .string($0.url) },
                .init("createTime", nil) { .string(RFC3339.text($0.createdAt)) },
            ],
            none: "there is no endpoint; to add one: concord webhook add URL"
        )
    }
}

extension WebhookCommand {
    /// `concord webhook list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every endpoint, with the number of events that wait and that were given up.",
            discussion: """
                EXAMPLES
                  concord webhook list
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: ListFormat = .text

        func perform() async throws {
            let format = format
            try await WebhookCommand.withOperations(configuration) { operations in
                try listing.write(try await operations.webhookEndpoints(), as: format)
            }
        }
    }

    /// `concord webhook add`
    struct Add: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Add an endpoint, and print the secret that signs its events.",
            discussion: """
                The secret is printed only once. Running servers send events to the endpoint within \
                \(ProjectCache.stalenessSeconds) seconds. Exits with 1 if the URL is refused or if there are 10 \
                endpoints.

                EXAMPLES
                  concord webhook add https://app.example.com/events
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: OutputFormat = .text

        @Argument(help: ArgumentHelp("An https URL.", valueName: "url"))
        var url: String

        func perform() async throws {
            let (url, format) = (url, format)
            try await WebhookCommand.withOperations(configuration) { operations in
                let made = try await operations.addWebhookEndpoint(url: url)
                switch format {
                case .text: try say(TextTable.text([("id", made.endpoint), ("secret", made.secret)]))
                case .json:
                    try say(JSONValue.object(["id": .string(made.endpoint), "secret": .string(made.secret)]).text)
                }
            }
        }
    }

    /// `concord webhook enable`
    struct Enable: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Enable an endpoint that was disabled after failures. Its waiting events are sent.",
            discussion: """
                Exits with 1 if there is no such endpoint.

                EXAMPLES
                  concord webhook enable ID
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: ArgumentHelp("Id of the endpoint, as concord webhook list prints it.", valueName: "id"))
        var id: String

        func perform() async throws {
            let id = id
            try await WebhookCommand.withOperations(configuration) { operations in
                try await operations.enableWebhookEndpoint(id)
                try say("enabled")
            }
        }
    }

    /// `concord webhook delete`
    struct Delete: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete an endpoint and its waiting events.",
            discussion: """
                Shows the endpoint and asks. Exits with 1 if there is no such endpoint, or if you do not agree.

                EXAMPLES
                  concord webhook delete ID
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Flag(help: "Delete it without asking.")
        var yes = false

        @Argument(help: ArgumentHelp("Id of the endpoint, as concord webhook list prints it.", valueName: "id"))
        var id: String

        func perform() async throws {
            let (id, yes) = (id, yes)
            try await WebhookCommand.withOperations(configuration) { operations in
                let endpoint = try await operations.webhookEndpoint(id)
                try listing.write([endpoint], as: .text)
                try flushOutput()
                try await agree(to: "Delete this endpoint and its waiting events?", isAgreed: yes)
                try await operations.deleteWebhookEndpoint(id, expectedVersion: endpoint.version)
                try say("deleted")
            }
        }
    }
}
