import ArgumentParser

/// `concord account`: accounts, one by one and all of them.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Accounts, one by one and all of them: find, show, merge, import, export.",
        subcommands: [
            AccountFindCommand.self, AccountShowCommand.self, AccountMergeCommand.self, AccountImportCommand.self,
            AccountExportCommand.self,
        ]
    )
}
