import ArgumentParser
import Glibc

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

    /// As the library's own, but that a mistake which a command finds while it runs is told with the usage of the command.
    static func main() async {
        do {
            var command = try parseAsRoot()
            do {
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
            } catch let mistake as ValidationError {
                let usage = usageString(for: type(of: command))
                emit("Error: \(mistake.message)\nUsage: \(usage)\n")
                throw ExitCode.validationFailure
            }
        } catch {
            exit(withError: error)
        }
    }
}
