import ArgumentParser

/// The command tree.
@main
struct Concord: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concord",
        abstract: "A self-hosted account-linking and provider-conflict service on PostgreSQL.",
        discussion: """
            Speaks the protocol of Firebase Authentication to its SDKs. Start with `concord dev`, which brings its own \
            database; production runs `concord migrate up` and then `concord serve`.
            """,
        version: ConcordVersion.current,
        subcommands: [
            DevCommand.self,
            ServeCommand.self,
            MigrateCommand.self,
            ConfigCommand.self,
            ProjectCommand.self,
            ProvidersCommand.self,
            ServiceAccountCommand.self,
            OutboxCommand.self,
            AccountCommand.self,
            AuditCommand.self,
            PolicyCommand.self,
                // The next one goes here.
        ]
    )
}
