import ArgumentParser

/// `concord account`: single accounts, and exports and imports of all.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "Find, show, merge, import and export accounts.",
        subcommands: [
            AccountFindCommand.self, AccountShowCommand.self, AccountMergeCommand.self, AccountImportCommand.self,
            AccountExportCommand.self,
        ]
    )
}
