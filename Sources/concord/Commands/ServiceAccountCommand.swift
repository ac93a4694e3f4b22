import AccountOperations
import AccountStore
import ArgumentParser
import JSON

/// `concord service-account`: backends that act as administrators.
struct ServiceAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service-account",
        abstract: "Manage the keys of backends that act as administrators and sign custom tokens.",
        subcommands: [Create.self, List.self, Revoke.self]
    )
}

extension ServiceAccountCommand {
    /// `concord service-account create`
    struct Create: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a new key and write its credentials file.",
            discussion: """
                The file has the format that Google's client libraries read. It holds the only copy of the private \
                key: write it where only the backend can read it. Anyone who holds the file is an administrator. \
                Without --output, the file is printed on standard output, unless that is a terminal or a file that \
                other users can read. The key is registered after the file is written. If the command does not exit \
                with 0, the key in the file may not be registered.

                EXAMPLES
                  concord service-account create --name backend \\
                      --base-url https://id.example.com --output backend.json
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("4 to 63 lower-case letters, digits and hyphens.", valueName: "name"))
        var name: String

        @Option(help: ArgumentHelp("URL at which the backend reaches Concord.", valueName: "url"))
        var baseURL: String

        @Option(
            help: ArgumentHelp(
                "Write the credentials to this new file, which only you can read (mode 0600).",
                valueName: "file"
            )
        )
        var output: String?

        @Flag(help: "Print the private key even if standard output is a terminal.")
        var forceTerminal = false

        func validate() throws {
            guard isProjectID(name) else {
                throw ValidationError(
                    "a name has 4 to 63 lower-case letters, digits and hyphens, and no hyphen at either end"
                )
            }
            guard baseURL.hasPrefix("http://") || baseURL.hasPrefix("https://") else {
                throw ValidationError("--base-url: give a URL that begins with http:// or https://")
            }
            guard output == nil || !forceTerminal else {
                throw ValidationError("give --output or --force-terminal, not both")
            }
        }

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let (name, baseURL, output) = (name, baseURL, output)
            let sink = try SecretSink(path: output, allowsTerminal: forceTerminal)
            try await withClient(database.postgres) { client in
                let store = AccountStore(client: client)
                guard let project = try await store.project()?.project else {
                    throw StartupFailure.noProject
                }
                let effects = Effects.system
                let account = try NewServiceAccount(name: name, projectID: project.projectID, effects: effects)
                // Writes the file before it registers the key. If the process dies in between, the key in the
                // file is useless. In the other order, a registered key without a file would stay in the list.
                let url = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
                try sink.write(account.credentialsFile(projectID: project.projectID, baseURL: url))
                do {
                    try await store.addServiceAccount(
                        ServiceAccountRecord(
                            keyID: account.keyID,
                            email: account.email,
                            publicKey: account.publicKey,
                            createdAt: effects.now()
                        )
                    )
                } catch {
                    complain(
                        "the key in the file may not be registered: use it only if concord service-account list prints it"
                    )
                    throw error
                }
                if let output { try say("key \(account.keyID) is registered; its private key is in \(output)") }
            }
        }
    }

    /// `concord service-account list`
    struct List: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the registered keys, oldest first.",
            discussion: """
                EXAMPLES
                  concord service-account list
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: "Output format.")
        var format: ListFormat = .text

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let accounts = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).serviceAccounts()
            }
            try Self.listing.write(accounts, as: format)
        }

        private static var listing: Listing<ServiceAccountRecord> {
            Listing(
                [
                    .init("keyId", "KEY") { .string($0.keyID) },
                    .init("email", "NAME") { .string($0.email) },
                    .init("createdAt", "CREATED") { .string(RFC3339.text($0.createdAt)) },
                ],
                hasHeading: false
            )
        }
    }

    /// `concord service-account revoke`
    struct Revoke: ReportingCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke a key. Concord then refuses everything that the key signed.",
            discussion: """
                EXAMPLES
                  concord service-account revoke KEY-ID
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: ArgumentHelp("Id of the key, as in the list and in the credentials file.", valueName: "key-id"))
        var keyID: String

        func perform() async throws {
            let database = try DatabaseConfiguration(try configuration.sources())
            let isRevoked = try await withClient(database.postgres) { client in
                try await AccountStore(client: client).removeServiceAccount(keyID: keyID)
            }
            guard isRevoked else {
                complain("there is no such key; nothing was changed")
                throw ExitCode.answerIsNo
            }
        }
    }
}
