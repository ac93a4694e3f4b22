import ArgumentParser
import Glibc

/// The command tree.
@main
struct Concord: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "concord",
        abstract: "A self-hosted account-linking and provider-conflict service on PostgreSQL.",
        discussion: """
            Works with the SDKs of Firebase Authentication. Start with `concord dev`, which brings its own database. \
            In production, run `concord migrate up`, then `concord serve`.

            EXAMPLES
              concord dev
              concord account find ada@example.com
              concord audit run --summary
            """,
        version: ConcordVersion.line,
        subcommands: [
            DevCommand.self,
            SetupCommand.self,
            ServeCommand.self,
            MigrateCommand.self,
            ConfigCommand.self,
            DoctorCommand.self,
            HealthcheckCommand.self,
            ProjectCommand.self,
            BrandingCommand.self,
            ProvidersCommand.self,
            ServiceAccountCommand.self,
            OutboxCommand.self,
            WebhookCommand.self,
            AccountCommand.self,
            AuditCommand.self,
            ConflictCommand.self,
            KeysCommand.self,
            PolicyCommand.self,
            VersionCommand.self,
                // The next one goes here.
        ]
    )

    /// Replaces the library's `main`. If a running command finds a mistake in its arguments, it prints the usage of
    /// that command. It prints help and version with `say`, because the library ignores failed writes.
    static func main() async {
        do {
            do {
                try await parseAndRun()
            } catch let error where exitCode(for: error) == .success {
                let text = fullMessage(for: error)
                try await reportingErrors { try say(text) }
            }
        } catch {
            exit(withError: error)
        }
    }

    private static func parseAndRun() async throws {
        var command: any ParsableCommand
        do {
            command = try parseAsRoot()
        } catch {
            let arguments = Array(CommandLine.arguments.dropFirst())
            guard exitCode(for: error) != .success, let unknown = UnknownCommand(in: arguments, of: Self.self) else {
                throw error
            }
            emit("Error: \(unknown.message)\n")
            throw ExitCode.validationFailure
        }
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
    }
}
