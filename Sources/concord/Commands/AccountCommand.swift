import ArgumentParser

/// `concord account`: accounts, one by one and all of them.
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
