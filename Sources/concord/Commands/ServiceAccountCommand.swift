import AccountOperations
import AccountStore
import ArgumentParser

/// `concord service-account`: backends that act as administrators.
struct ServiceAccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "service-account",
        abstract: "Backends that act as administrators and sign custom tokens.",
        subcommands: [Create.self, List.self, Revoke.self]
    )
}

extension ServiceAccountCommand {
    /// `concord service-account create`
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a new key and print its credentials file.",
            discussion: """
                The file, in the form Google's client libraries read, holds the only copy of the private key: write it \
                where only the backend can read it. Whoever holds it is an administrator. The key is registered once the \
                file is written: where the command does not end with 0, what is in the file may be of no use.
                """
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Option(help: ArgumentHelp("4 to 63 lower-case letters, digits and hyphens.", valueName: "name"))
        var name: String

        @Option(help: ArgumentHelp("Where the backend reaches Concord.", valueName: "url"))
        var baseURL: String

        func validate() throws {
            guard isProjectID(name) else {
                throw ValidationError(
                    "a name has 4 to 63 lower-case letters, digits and hyphens, and no hyphen at either end"
                )
            }
            guard baseURL.hasPrefix("http://") || baseURL.hasPrefix("https://") else {
                throw ValidationError("--base-url: give a URL that begins with http:// or https://")
            }
        }

        func run() async throws {
            try await reportingErrors {
                let database = try DatabaseConfiguration(try configuration.sources())
                try await withClient(database.postgres) { client in
                    let store = AccountStore(client: client)
                    guard let project = try await store.project()?.project else {
                        throw StartupFailure.noProject
                    }
                    let effects = Effects.system
                    let account = try NewServiceAccount(name: name, projectID: project.projectID, effects: effects)
                    // Written before it is registered: a file whose key nobody takes is of no use to anybody, while a key
                    // that is taken and that nobody holds would stand in the list for ever. That counts for a process
                    // that dies in between as well.
                    let url = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
                    try say(account.credentialsFile(projectID: project.projectID, baseURL: url))
                    try flushOutput()
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
                        complain("the key in the file was perhaps not registered: use the file only if it is listed")
                        throw error
                    }
                }
            }
        }
    }

    /// `concord service-account list`
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Print the registered keys, the oldest first.")

        @OptionGroup var configuration: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                let database = try DatabaseConfiguration(try configuration.sources())
                try await withClient(database.postgres) { client in
                    for account in try await AccountStore(client: client).serviceAccounts() {
                        try say("\(account.keyID)  \(account.email)")
                    }
                }
            }
        }
    }

    /// `concord service-account revoke`
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take a key away; whatever it signed is refused from then on."
        )

        @OptionGroup var configuration: ConfigurationOptions

        @Argument(help: ArgumentHelp("The key, as the list and the credentials file name it.", valueName: "key-id"))
        var keyID: String

        func run() async throws {
            try await reportingErrors {
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
}
