import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser

/// The options of commands that change one account.
struct AccountChangeOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: ArgumentHelp("Tenant of the account.", valueName: "id"))
    var tenant = ""

    @Flag(help: "Print addresses, phone numbers and providers' ids of users unmasked.")
    var showIdentifiers = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Argument(help: ArgumentHelp("Uid of the account.", valueName: "uid"))
    var uid: String

    func validate() throws {
        guard UserID(uid) != nil else { throw ValidationError("not a uid: \(uid)") }
    }

    /// Shows the account, asks, and changes it.
    ///
    /// - Parameters:
    ///   - question: `nil` does not ask.
    ///   - disabled: the state that the account already has if no change is needed; `nil` if it always is.
    ///   - change: changes the account, and returns the text to print.
    /// - Throws: `ExitCode.answerIsNo`, after a report, without agreement or for a refusal; a database error.
    func change(
        asking question: String?,
        unlessDisabled disabled: Bool? = nil,
        _ change: @escaping @Sendable (AccountOperations, UserID, TenantID) async throws -> String
    ) async throws {
        guard let id = UserID(uid) else { return }
        let (tenant, yes) = (TenantID(tenant), yes)
        let style = Style(showsIdentifiers: showIdentifiers)
        try await withOperations(try ServeConfiguration(try configuration.sources())) { operations in
            guard let user = try await operations.store.user(id, tenant: tenant) else {
                throw Denial.refusal(.userNotFound)
            }
            try say(AccountText.line(user, style))
            if user.isDisabled == disabled {
                return try say("it is \(user.isDisabled ? "disabled" : "enabled") already; nothing was changed")
            }
            try flushOutput()
            if let question { try await agree(to: question, isAgreed: yes) }
            try say(try await change(operations, id, tenant))
        }
    }
}

/// `concord account disable`
struct AccountDisableCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Disable an account: it can no longer sign in, and its sessions are refused.",
        discussion: """
            Shows the account and asks. Deletes nothing: concord account enable reverts it. ID tokens that were issued \
            before stay valid until they expire, for backends that do not check for revocation. Exits with 1 if the \
            account does not exist, or if you do not agree.

            EXAMPLES
              concord account disable UID
            """
    )

    @OptionGroup var options: AccountChangeOptions

    func perform() async throws {
        try await options.change(asking: "Disable this account?", unlessDisabled: true) { operations, id, tenant in
            var update = AdminUpdateAccount()
            update.isDisabled = true
            _ = try await operations.updateAccount(update, of: id, tenant: tenant)
            return "disabled"
        }
    }
}

/// `concord account enable`
struct AccountEnableCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Enable a disabled account.",
        discussion: """
            Does not ask. Exits with 1 if the account does not exist.

            EXAMPLES
              concord account enable UID
            """
    )

    @OptionGroup var options: AccountChangeOptions

    func perform() async throws {
        try await options.change(asking: nil, unlessDisabled: false) { operations, id, tenant in
            var update = AdminUpdateAccount()
            update.isDisabled = false
            _ = try await operations.updateAccount(update, of: id, tenant: tenant)
            return "enabled"
        }
    }
}

/// `concord account delete`
struct AccountDeleteCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an account, and free its address, number and providers' identities.",
        discussion: """
            Shows the account and asks. The deletion cannot be undone. Exits with 1 if the account does not exist, or \
            if you do not agree.

            EXAMPLES
              concord account delete UID
            """
    )

    @OptionGroup var options: AccountChangeOptions

    func perform() async throws {
        try await options.change(asking: "Delete this account? It cannot be restored.") { operations, id, tenant in
            _ = try await operations.deleteAccount(id, tenant: tenant)
            return "deleted"
        }
    }
}

/// `concord account sign-out`
struct AccountSignOutCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End every session of an account.",
        discussion: """
            Shows the account and asks. The user can sign in again. ID tokens that were issued before stay valid until \
            they expire, for backends that do not check for revocation. Exits with 1 if the account does not exist, or \
            if you do not agree.

            EXAMPLES
              concord account sign-out UID --yes
            """
    )

    @OptionGroup var options: AccountChangeOptions

    func perform() async throws {
        try await options.change(asking: "End every session of this account?") { operations, id, tenant in
            _ = try await operations.endAllSessions(of: id, tenant: tenant)
            return "every session has ended"
        }
    }
}
