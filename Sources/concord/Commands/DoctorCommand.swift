import AccountLinking
import AccountOperations
import AccountStore
import ArgumentParser
import FoundationEssentials
import Migrations
import Postgres

/// `concord doctor`: checks everything that a server needs.
struct DoctorCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check configuration, database, keys, mail, providers and this machine.",
        discussion: """
            Prints one line for each check: ok, warning or failure, the finding and the next step. Each check takes at \
            most 5 seconds. Changes nothing, and sends nothing unless --send-test is given. Exits with 0 if all is \
            well, with 1 after a warning, and with 2 after a failure.

            EXAMPLES
              concord doctor
              concord doctor --send-test ada@example.com
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var directory: MigrationDirectoryOptions

    @Option(help: ArgumentHelp("Send a test mail to this address.", valueName: "address"))
    var sendTest: String?

    @Option(help: "Output format.")
    var format: OutputFormat = .text

    func validate() throws {
        if let sendTest, EmailAddress(sendTest) == nil { throw ValidationError("--send-test: give an e-mail address") }
    }

    func perform() async throws {
        let findings = await diagnose()
        switch format {
        case .text: try say(Self.text(findings))
        case .json: try say(try Self.json(findings))
        }
        if findings.contains(where: { $0.status == .failure }) { throw ExitCode.failureFound }
        if findings.contains(where: { $0.status == .warning }) { throw ExitCode.answerIsNo }
    }

    private func diagnose() async -> [Diagnosis] {
        let sources: ConfigurationSources
        do throws(ConfigurationMistakes) {
            sources = try options.sources()
        } catch {
            return Self.findings(about: error)
        }
        let configuration = DoctorConfiguration(sources)
        let machine = MachineChecks(configuration: configuration, testRecipient: sendTest.flatMap { EmailAddress($0) })
        async let ofMachine = DoctorCheck.run(machine.all)
        let ofDatabase = await database(configuration)
        return Self.findings(about: configuration.mistakes) + ofDatabase + (await ofMachine)
    }

    static func findings(about mistakes: ConfigurationMistakes) -> [Diagnosis] {
        mistakes.all.isEmpty
            ? [.ok("configuration", "complete")]
            : mistakes.description.split(separator: "\n").map { .failure("configuration", String($0)) }
    }

    /// Checks the stored data only if the schema can be served.
    private func database(_ configuration: DoctorConfiguration) async -> [Diagnosis] {
        guard var postgres = configuration.database?.postgres else { return [] }
        let checks: DatabaseChecks
        do {
            checks = DatabaseChecks(postgres: postgres, migrations: try directory.read())
        } catch {
            return [.failure("schema-files", "\(error)")]
        }
        var findings: [Diagnosis]
        switch await within(DoctorCheck.timeout, { try await namingDatabase(checks.postgres, checks.findings) }) {
        case .success((let found, isUsable: true)): findings = found
        case .success((let found, isUsable: false)): return found
        case .failure(let error): return [.failure("database", words(for: error))]
        case nil:
            return [
                .failure(
                    "database",
                    "\(postgres.place ?? "the database") does not answer within 5 s",
                    "Check host and port in database.url, and whether a firewall is in between"
                )
            ]
        }
        if let database = configuration.database, let replica = database.replica {
            let environment = ProcessInfo.processInfo.environment
            findings += [DatabaseChecks.replicaTransport(replica, environment: environment)].compactMap(\.self)
            findings += await DoctorCheck.run([
                DoctorCheck("replica") { [try await DatabaseChecks.replica(replica, of: database.postgres)] }
            ])
        }
        (postgres.readConnections, postgres.writeConnections, postgres.leasedConnections) = (2, 1, 1)
        let client = postgres
        // Longer than each of its checks, which run at once.
        let stored = await within(DoctorCheck.timeout * 2) {
            try await withClient(client) { client in
                let store = AccountStore(client: client)
                return await DoctorCheck.run(
                    StoredChecks(store: store, configuration: configuration, now: Effects.system.now()).all
                )
            }
        }
        switch stored {
        case .success(let found): findings += found
        case .failure(let error): findings.append(.failure("database", words(for: error)))
        case nil: findings.append(.failure("database", "stored data was not read in time"))
        }
        return findings
    }

    /// A line for each finding.
    static func text(_ findings: [Diagnosis]) -> String {
        TextTable.text(
            findings.map { finding in
                [
                    finding.status.rawValue, finding.check,
                    finding.finding + (finding.remedy.map { ". \($0)" } ?? ""),
                ]
            }
        )
    }

    /// An array of objects with `check`, `status`, `finding` and `remedy`.
    static func json(_ findings: [Diagnosis]) throws -> String {
        struct Row: Encodable {
            let check: String
            let status: String
            let finding: String
            let remedy: String?
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let rows = findings.map { finding in
            Row(
                check: finding.check,
                status: finding.status.rawValue,
                finding: finding.finding,
                remedy: finding.remedy
            )
        }
        return String(decoding: try encoder.encode(rows), as: UTF8.self)
    }
}
