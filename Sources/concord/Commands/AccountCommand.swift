import ArgumentParser

/// `concord account`: single accounts, and exports and imports of all.
struct AccountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "List, find, show, change, merge, import and export accounts.",
        subcommands: [
            AccountListCommand.self, AccountFindCommand.self, AccountShowCommand.self, AccountDisableCommand.self,
            AccountEnableCommand.self, AccountSignOutCommand.self, AccountDeleteCommand.self,
            AccountMergeCommand.self, AccountImportCommand.self, AccountExportCommand.self,
        ]
    )
}
