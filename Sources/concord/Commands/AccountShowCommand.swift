import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import JSON
import Postgres

/// The options of both commands about single accounts.
struct AccountLookupOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: ArgumentHelp("Tenant of the account.", valueName: "id"))
    var tenant = ""

    @Flag(help: "Print addresses, phone numbers and providers' ids of users unmasked.")
    var showIdentifiers = false

    /// Runs `body` on the database of the configuration.
    func withReports(_ body: @escaping @Sendable (AccountReports, TenantID) async throws -> Void) async throws {
        let configuration = try AuditConfiguration(try configuration.sources())
        let postgres = configuration.database.postgres
        try await withClient(postgres) { client in
            let store = AccountStore(client: client)
            let terms = try await AuditedProject.load(store, configuration.providerRegistry)
                .terms(at: Effects.system.now())
            let snapshots = AccountSnapshots(
                postgres,
                temporaryFolder: FileManager.default.temporaryDirectory.path
            )
            try await body(AccountReports(store, snapshots, terms: terms), TenantID(tenant))
        }
    }

    var style: Style { Style(showsIdentifiers: showIdentifiers) }
}

/// `concord account find`
struct AccountFindCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find accounts by an identifier.",
        discussion: """
            Searches by uid; by e-mail address, which may be the account's, its first one, or that of a linked \
            provider; by phone number; and by a provider's id of the user, such as google.com/SUBJECT. Exits with 1 if \
            no account matches, and with 65 if a matching account holds an unreadable value: that account is named, \
            and the others are shown.

            EXAMPLES
              concord account find ada@example.com
              concord account find google.com/SUBJECT --format json
            """
    )

    @OptionGroup var lookup: AccountLookupOptions

    @Argument(
        help: ArgumentHelp("A uid, an address, a phone number or a provider's id of the user.", valueName: "known")
    )
    var known: String

    @Option(help: "Output format.")
    var format: ListFormat = .text

    func perform() async throws {
        let (known, style, format) = (known, lookup.style, format)
        try await lookup.withReports { reports, tenant in
            let found = try await reports.accounts(namedBy: known, tenant: tenant)
            guard !found.users.isEmpty || !found.unreadable.isEmpty else {
                if format == .json { try say("[]") }
                complain("no account matches")
                throw ExitCode.answerIsNo
            }
            switch format {
            case .text: for user in found.users { try say(AccountText.line(user, style)) }
            case .json, .ndjson: try AccountText.listing(style).write(found.users, as: format)
            }
            for (id, columns) in found.unreadable { complain(AccountText.unreadable(id, columns)) }
            guard found.unreadable.isEmpty else { throw ExitCode.badData }
        }
    }
}

/// `concord account show`
struct AccountShowCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one account: its sign-in methods, what blocks them, and what was decided and why.",
        discussion: """
            Read-only; prints no secrets. Exits with 1 if the account does not exist, and with 65 if it holds an \
            unreadable value.

            EXAMPLES
              concord account show UID
              concord account show UID --history 0 --format json
            """
    )

    @OptionGroup var lookup: AccountLookupOptions

    @Option(help: ArgumentHelp("Number of decisions to show, newest first.", valueName: "number"))
    var history = 20

    @Option(help: "Output format.")
    var format: OutputFormat = .text

    @Argument(help: ArgumentHelp("Uid of the account.", valueName: "uid"))
    var uid: String

    func validate() throws {
        guard UserID(uid) != nil else { throw ValidationError("not a uid: \(uid)") }
        guard (0...1000).contains(history) else { throw ValidationError("--history: give a number from 0 to 1000") }
    }

    func perform() async throws {
        let (id, history, style, format) = (UserID(uid), history, lookup.style, format)
        try await lookup.withReports { reports, tenant in
            guard let id, let report = try await Self.report(on: id, tenant, history, reports) else {
                if let id, let successor = try await reports.successor(of: id, tenant: tenant) {
                    complain("merged into \(successor.rawValue): concord account merge show \(id.rawValue)")
                } else {
                    complain("there is no such account; to search by another identifier: concord account find")
                }
                throw ExitCode.answerIsNo
            }
            try say(format == .json ? AccountText.json(report, style) : AccountText.report(report, style))
        }
    }

    private static func report(
        on id: UserID,
        _ tenant: TenantID,
        _ historyMax: Int,
        _ reports: AccountReports
    ) async throws -> AccountReport? {
        do {
            return try await reports.report(on: id, tenant: tenant, historyMax: historyMax)
        } catch let error as PostgresError where error.code == .decoding {
            let columns = try await reports.unreadableColumns(of: id, tenant: tenant, after: error)
            throw StartupFailure(
                """
                \(AccountText.unreadable(id, columns))
                correct that first; to see what else is wrong: concord audit run --user \(id.rawValue)
                """,
                .badData
            )
        }
    }
}

/// The texts of accounts.
enum AccountText {
    /// One line: the id, the address and the sign-in methods.
    static func line(_ user: UserRecord, _ style: Style) -> String {
        let account = user.account
        var parts = [user.id.rawValue, account.email.map { style.text(.address($0.address.raw)) } ?? "no address"]
        let methods = account.signInMethods.map(\.name)
        parts.append(methods.isEmpty ? "no method" : methods.joined(separator: ", "))
        if account.isDisabled { parts.append("disabled") }
        return parts.joined(separator: "  ")
    }

    /// The columns of a list of accounts.
    static func listing(_ style: Style) -> Listing<UserRecord> {
        Listing(
            [
                .init("userId", "USER") { .string($0.id.rawValue) },
                .init("tenant", nil) { $0.tenant == .project ? nil : .string($0.tenant.rawValue) },
                .init("email", "ADDRESS") { $0.email.map { .string(style.text(.address($0.address.raw))) } },
                .init("emailVerified", nil) { $0.email.map { .bool($0.isVerified) } },
                .init("phoneNumber", nil) { $0.phoneNumber.map { .string(style.text(.number($0.rawValue))) } },
                .init("methods", "METHODS") { .array($0.account.signInMethods.map { .string($0.name) }) },
                .init("disabled", "STATE", { .bool($0.isDisabled) }, text: { $0.isDisabled ? "disabled" : "enabled" }),
                .init("createdAt", "CREATED", { .string(RFC3339.text($0.createdAt)) }, text: { day($0.createdAt) }),
                .init(
                    "lastSignInAt",
                    "SIGNED IN",
                    { $0.lastLoginAt.map { .string(RFC3339.text($0)) } },
                    text: { $0.lastLoginAt.map(day) ?? "never" }
                ),
            ],
            none: "there is no account"
        )
    }

    /// The report as one object. Masked as the text is.
    static func json(_ report: AccountReport, _ style: Style) -> String {
        let user = report.user
        return JSONWriter.text { writer in
            for (name, value) in (listing(style).object(user).object ?? [:]).sorted(by: { $0.key < $1.key })
            where name != "methods" { writer.field(name, value) }
            if let proof = user.email?.proof {
                writer.field("emailProof", proof.name)
                writer.field("emailProvenAt", user.emailProvenAt.map(RFC3339.text))
            }
            writer.field("initialEmail", user.initialEmail.map { style.text(.address($0)) })
            writer.field("methods", objects: report.statuses) { writer, status in
                writer.field("method", status.method.name)
                writer.field("works", status.obstacle == nil)
                writer.field("obstacle", status.obstacle?.rawValue)
                if case .provider(let provider) = status.method, let linked = user.linkedProviders[provider] {
                    writer.field(
                        "subject",
                        style.text(.subject("\(provider.rawValue)/\(linked.identity.subject)"))
                    )
                    writer.field("email", linked.email.map { style.text(.address($0.raw)) })
                }
                writer.field("provenAt", user.methodProofs[status.method].map { RFC3339.text($0.provenAt) })
                writer.field("proof", user.methodProofs[status.method]?.proof.rawValue)
            }
            writer.field("secondFactors", objects: user.secondFactors) { writer, factor in
                writer.field("kind", factor.kind.rawValue)
                writer.field("phoneNumber", factor.number.map { style.text(.number($0.rawValue)) })
                writer.field("enrolledAt", RFC3339.text(factor.enrolledAt))
            }
            writer.field("sessions", liveSessions(of: report))
            writer.field("conflicts", objects: report.snapshot.conflicts) { writer, conflicts in
                writer.field("provider", conflicts.provider.rawValue)
                writer.field("kind", conflicts.kind.rawValue)
                writer.field("count", conflicts.count)
                writer.field("live", conflicts.liveCount)
            }
            writer.field("refusals", objects: report.refusals) { writer, refusal in
                writer.field("firstAt", RFC3339.text(refusal.firstAt))
                writer.field("lastAt", RFC3339.text(refusal.lastAt))
                writer.field("reason", refusal.reason)
                writer.field("count", refusal.count)
            }
            writer.field("findings", array: report.findings) { writer, finding in
                writer.object { style.write(finding, to: &$0) }
            }
            writer.field("history", objects: report.history) { writer, entry in
                writer.field("occurredAt", RFC3339.text(entry.occurredAt))
                writer.field("kind", entry.kind)
                writer.field("rule", entry.rule)
                writer.field("sentence", entry.sentence)
            }
        }
    }

    /// Number of sessions that are not revoked.
    private static func liveSessions(of report: AccountReport) -> Int64 {
        report.snapshot.sessions.filter { $0.epoch == report.user.sessionEpoch }.reduce(0) { $0 + $1.count }
    }

    static func unreadable(_ id: UserID, _ columns: [String]) -> String {
        "account \(id.rawValue) holds an unreadable value in \(columns.joined(separator: ", "))"
    }

    static func report(_ report: AccountReport, _ style: Style) -> String {
        let user = report.user
        var lines = [("Account", user.id.rawValue + (user.isDisabled ? ", disabled" : ""))]
        if let email = user.email {
            let proof = email.proof.map {
                "verified by \($0.name)" + (user.emailProvenAt.map { " on \(day($0))" } ?? "")
            }
            lines.append(("Address", "\(style.text(.address(email.address.raw))), \(proof ?? "not verified")"))
        }
        if let initial = user.initialEmail { lines.append(("First address", style.text(.address(initial)))) }
        if let number = user.phoneNumber { lines.append(("Number", style.text(.number(number.rawValue)))) }
        let used = user.lastLoginAt.map { ", last signed in \(RFC3339.text($0))" } ?? ", never signed in"
        lines.append(("Created", RFC3339.text(user.createdAt) + used))
        lines += listed("Methods", report.statuses.map { method($0, user, style) }, none: "none")
        if !user.secondFactors.isEmpty {
            lines += listed(
                "Second factors",
                user.secondFactors.map { factor in
                    "\(factor.kind.rawValue)\(factor.number.map { " " + style.text(.number($0.rawValue)) } ?? ""), "
                        + "enrolled \(day(factor.enrolledAt))"
                }
            )
        }
        lines.append(("Sessions", grouped(liveSessions(of: report))))
        if !report.snapshot.conflicts.isEmpty {
            lines += listed(
                "Conflicts",
                report.snapshot.conflicts.map {
                    "\($0.provider.rawValue), \($0.kind.rawValue): \($0.count), of which \($0.liveCount) can be resolved"
                }
            )
        }
        if !report.refusals.isEmpty {
            lines += listed(
                "Refused sign-ins",
                report.refusals.map { "\(day($0.firstAt)): \($0.reason), \(grouped($0.count))" }
            )
        }
        if !report.findings.isEmpty {
            lines += listed(
                "Audit",
                report.findings.map { "\($0.severity.rawValue): \($0.rule) (\(style.found($0.evidence)))" }
            )
        }
        lines += listed(
            "History",
            report.history.map { entry in
                "\(RFC3339.text(entry.occurredAt))  \(entry.kind), \(Rule(rawValue: entry.rule)?.title ?? entry.rule): \(entry.sentence ?? "unknown")"
            },
            none: "nothing is stored"
        )
        return TextTable.text(lines)
    }

    /// The first item after its name, the others below it.
    private static func listed(_ name: String, _ items: [String], none: String = "") -> [(String, String)] {
        guard let first = items.first else { return [(name, none)] }
        return [(name, first)] + items.dropFirst().map { ("", $0) }
    }

    private static func method(_ status: MethodStatus, _ user: UserRecord, _ style: Style) -> String {
        var text = "\(status.method.name): \(status.obstacle.map { "does not work, \($0.rawValue)" } ?? "works")"
        if case .provider(let provider) = status.method, let linked = user.linkedProviders[provider] {
            text += ", \(style.text(.subject("\(provider.rawValue)/\(linked.identity.subject)")))"
            if let email = linked.email { text += ", \(style.text(.address(email.raw)))" }
        }
        if let proof = user.methodProofs[status.method] {
            text += ", since \(day(proof.provenAt)) by \(proof.proof.rawValue)"
        }
        return text
    }

    static func day(_ instant: Timestamp) -> String { String(RFC3339.text(instant).prefix(10)) }
}
