import AccountLinking
import AccountStore
import ArgumentParser

/// `concord account list`
struct AccountListCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List accounts, sorted by uid.",
        discussion: """
            If there are more, standard error says how to continue. For all accounts: concord account export.

            EXAMPLES
              concord account list --max 20
              concord account list --after UID --format ndjson
            """
    )

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: ArgumentHelp("Tenant of the accounts.", valueName: "id"))
    var tenant = ""

    @Flag(help: "Print addresses and phone numbers unmasked.")
    var showIdentifiers = false

    @Option(help: ArgumentHelp("Maximum number of accounts.", valueName: "number"))
    var max = 100

    @Option(help: ArgumentHelp("Only accounts after this uid.", valueName: "uid"))
    var after: String?

    @Option(help: "Output format.")
    var format: ListFormat = .text

    func validate() throws {
        guard (1...10_000).contains(max) else { throw ValidationError("--max: give a number from 1 to 10000") }
        if let after, UserID(after) == nil { throw ValidationError("--after: not a uid: \(after)") }
    }

    func perform() async throws {
        let database = try DatabaseConfiguration(try configuration.sources())
        let start = after.flatMap(UserID.init)
        let (limit, tenant) = (Int64(max), TenantID(tenant))
        // One more than is printed, to know if there are more.
        let users = try await withClient(database.postgres) { client in
            try await AccountStore(client: client).users(after: start, limit: limit + 1, tenant: tenant)
        }
        let shown = Array(users.prefix(max))
        try AccountText.listing(Style(showsIdentifiers: showIdentifiers)).write(shown, as: format)
        if users.count > shown.count, let last = shown.last {
            complain("there are more: --after \(last.id.rawValue)")
        }
    }
}
