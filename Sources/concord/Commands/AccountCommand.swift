import ArgumentParser

/// `concord account`: all accounts, in and out.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Accounts from other services and from files, and into files.",
        subcommands: [AccountImportCommand.self, AccountExportCommand.self]
    )
}
