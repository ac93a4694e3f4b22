import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import Migrations
import Postgres
import Testing

@testable import concord

/// The checks of `concord doctor`, and how they run.
struct DoctorTests {
    private struct Broken: Error, CustomStringConvertible {
        let description = "broken"
    }

    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    @Test func `a check that fails or hangs stops no other, and the order stays`() async {
        let findings = await DoctorCheck.run(
            [
                DoctorCheck("first") {
                    // Like a name server that does not answer: cancelling does not end it.
                    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                    return []
                },
                DoctorCheck("second") { throw Broken() },
                DoctorCheck("third") { [.ok("third", "well"), .warning("third", "soon", "Do it")] },
            ],
            timeout: .milliseconds(200)
        )
        #expect(
            findings == [
                .failure("first", "no answer within 0 s"), .failure("second", "broken"), .ok("third", "well"),
                .warning("third", "soon", "Do it"),
            ]
        )
    }

    @Test func `a table without a place on Citus is a failure with its remedy`() {
        let users = DistributionTable(name: "users", place: "by user_id", statement: "")
        func finding(_ found: PlacedTable...) -> Diagnosis {
            DatabaseChecks.distribution(DistributionState(of: [users], found: found))
        }
        #expect(
            finding()
                == .failure(
                    "distribution",
                    "table users is not distributed on Citus; run `concord migrate distribute`"
                )
        )
        #expect(
            finding(PlacedTable(name: "users", place: "by user_id"))
                == .ok("distribution", "every table has its place on Citus")
        )
    }

    @Test func `a finding is one line, with the next step behind it`() throws {
        let findings: [Diagnosis] = [.ok("clock", "0.1 s apart"), .failure("mail", "relay: login", "Check mail.user")]
        #expect(
            DoctorCommand.text(findings) == """
                ok       clock  0.1 s apart
                failure  mail   relay: login. Check mail.user
                """
        )
        let json = try JSONValue(parsing: Array(try DoctorCommand.json(findings).utf8))
        #expect(json.array?.count == 2)
        #expect(json.array?.last?["status"] == "failure" && json.array?.last?["remedy"] == "Check mail.user")
    }

    @Test func `every mistake of the configuration is a failure`() {
        let sources = ConfigurationSources(
            file: nil,
            environment: ["CONCORD_DATABASE_URL": "postgresql:///d", "CONCORD_LISTEN_PORT": "x"],
            readFile: { _ in nil }
        )
        let configuration = DoctorConfiguration(sources)
        let findings = DoctorCommand.findings(about: configuration.mistakes)
        #expect(findings.count == 2 && findings.allSatisfy { $0.status == .failure }, "\(findings)")
        #expect(configuration.database != nil, "the other checks continue")
    }

    @Test func `a clock is a warning after 5 seconds and a failure after 2 minutes`() {
        func status(_ seconds: Int64) -> Diagnosis.Status {
            let own = Self.now.adding(seconds: seconds)
            return DatabaseChecks.clock(ClockComparison(before: own, database: Self.now, after: own)).status
        }
        #expect(status(0) == .ok && status(-5) == .ok)
        #expect(status(6) == .warning && status(-100) == .warning)
        #expect(status(121) == .failure)
    }

    @Test func `connections are counted against the limit of PostgreSQL`() {
        func status(_ max: Int64, open: Int64, hosts: Int64 = 1) -> Diagnosis.Status {
            DatabaseChecks.connections(max, open: open, hosts: hosts, ofServer: 14).status
        }
        #expect(status(97, open: 20) == .ok)
        #expect(status(97, open: 80) == .warning)
        #expect(status(20, open: 0) == .failure)
        // Servers at rest hold few connections. Under load they open all.
        #expect(status(97, open: 12, hosts: 6) == .ok)
        #expect(status(97, open: 14, hosts: 7) == .warning)
    }

    @Test func `a replica is a standby of the same cluster that has caught up`() {
        func position(_ position: Int64, _ isInRecovery: Bool = true, cluster: Int64 = 1) -> ServerPosition {
            ServerPosition(cluster: cluster, isInRecovery: isInRecovery, position: position)
        }
        func finding(_ own: ServerPosition) -> Diagnosis? {
            DatabaseChecks.replica(own, of: position(100, false), now: position(110, false), at: "standby")
        }
        #expect(finding(position(99)) == nil, "it is still behind")
        #expect(finding(position(100))?.status == .ok && finding(position(110))?.status == .ok)
        #expect(finding(position(111))?.finding == "\(ReplicaProblem.diverged)")
        #expect(finding(position(100, false))?.finding == "\(ReplicaProblem.noStandby)")
        #expect(finding(position(100, cluster: 2))?.finding == "\(ReplicaProblem.otherCluster)")
    }

    @Test func `a replica over a network needs verified TLS`() throws {
        func finding(_ url: String) throws -> Diagnosis? {
            let postgres = try PostgresConfiguration(connectionString: url)
            let replica = DatabaseConfiguration.Replica(postgres: postgres, ageMax: .seconds(10))
            return DatabaseChecks.replicaTransport(replica, environment: [:])
        }
        let unverified = try #require(try finding("postgresql://db.example.com/concord"))
        #expect(unverified.check == "replica-tls" && unverified.status == .warning)
        #expect(unverified.finding.contains("database.replica_url"))
        #expect(try finding("postgresql://db.example.com/concord?sslmode=verify-full") == nil)
        #expect(try finding("postgresql://127.0.0.1/concord") == nil)
    }

    @Test func `a replica that does not answer is a failure that names it`() async throws {
        try await TestDatabase.with { database in
            // Holds up connections, because no one accepts them.
            let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(silent) }
            let port = try freePort()
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
            let bound = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(silent, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            #expect(bound == 0 && listen(silent, 8) == 0)
            let postgres = try PostgresConfiguration(connectionString: "postgresql://127.0.0.1:\(port)/concord")
            let replica = DatabaseConfiguration.Replica(postgres: postgres, ageMax: .seconds(10))
            let findings = await DoctorCheck.run([
                DoctorCheck("replica") { [try await DatabaseChecks.replica(replica, of: database.configuration)] }
            ])
            #expect(findings.map(\.status) == [.failure])
            #expect(findings.first?.finding.contains("127.0.0.1:\(port)") == true, "\(findings)")
        }
    }

    @Test(.notOnCitus("the test locks the catalogue of extensions"))
    func `the position of a server that accepts the connection and does not answer is an error`() async throws {
        try await TestDatabase.with { database in
            let holder = try PostgresConnection(database.configuration)
            try holder.execute(script: "BEGIN; LOCK pg_extension")
            var configuration = database.configuration
            configuration.connectTimeout = .seconds(2)
            let impatient = configuration
            await #expect(throws: PostgresError.self) { try await ServerPosition.read(impatient) }
            try holder.execute(script: "ROLLBACK")
            #expect(try await ServerPosition.read(database.configuration).position > 0)
        }
    }

    @Test func `a pooler that ignores the session settings is a failure that names them once`() {
        #expect(DatabaseChecks.sessionSettings(withoutEffect: []).status == .ok)
        let jit = PostgresSessionSetting(name: "jit", value: "off")
        let timeout = PostgresSessionSetting(name: "lock_timeout", value: "2000")
        let finding = DatabaseChecks.sessionSettings(withoutEffect: [jit, jit, timeout])
        #expect(finding.status == .failure && finding.finding == "without effect: jit, lock_timeout")
    }

    @Test func `an older key is named with what needs it, a missing one is a failure`() {
        let values = [
            SealedValues.Use(column: .hashKey, keyID: "1", count: 1),
            SealedValues.Use(column: .hashKey, keyID: "2", count: 2),
        ]
        let known = StoredChecks.olderKeys(values, sealing: "1", configured: ["1", "2", "3"])
        #expect(
            known == [
                .ok("older-keys", "key 2 is needed for 2 in hash_keys.sealed_key"),
                .ok("older-keys", "nothing stored needs key 3: it can be removed, unless it is the next key"),
            ]
        )
        let unknown = StoredChecks.olderKeys(values, sealing: "1", configured: ["1"])
        #expect(unknown.map(\.status) == [.failure], "\(unknown)")
    }

    @Test func `a signing key that no server replaces is a warning`() {
        func diagnosis(_ days: Int64) -> Diagnosis {
            let key = SigningKeyRecord(
                id: "key",
                purpose: .idToken,
                generation: 2,
                algorithm: "ES256",
                sealedPrivateKey: [],
                certificate: [],
                createdAt: Self.now,
                signsFrom: Self.now.adding(seconds: -days * 86_400)
            )
            return StoredChecks.signingKeys(.idToken, [key], at: Self.now)
        }
        #expect(diagnosis(29) == .ok("signing-keys", "id-token: ES256, generation 2, 29 days in use"))
        #expect(diagnosis(32).status == .warning)
        #expect(StoredChecks.signingKeys(.idToken, [], at: Self.now).status == .ok)
    }

    private func machine(_ environment: [String: String]) async -> [Diagnosis] {
        let sources = ConfigurationSources(file: nil, environment: environment, readFile: { _ in nil })
        return await DoctorCheck.run(
            MachineChecks(configuration: DoctorConfiguration(sources), testRecipient: nil).all,
            timeout: .seconds(60)
        )
    }

    @Test func `a missing relay, public URL or folder of the admin socket is named`() async {
        let findings = await machine(["CONCORD_LISTEN_ADMIN_SOCKET": "/nowhere/at/all/a.sock"])
        func status(_ check: String) -> Diagnosis.Status? { findings.first { $0.check == check }?.status }
        #expect(status("mail") == .warning && status("public-url") == .warning, "\(findings)")
        #expect(status("sms") == .ok && status("apns") == .ok)
        #expect(
            findings.contains(
                .failure("admin-socket", "/nowhere/at/all does not exist", "Create it: mkdir -p /nowhere/at/all")
            )
        )
    }

    @Test func `a relay is asked without a mail`() async throws {
        try await LocalRelay.run { relay in
            let findings = await machine([
                "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": "\(relay.port)",
                "CONCORD_MAIL_SECURITY": "none", "CONCORD_MAIL_FROM": "no-reply@example.com",
            ])
            #expect(findings.contains(.ok("mail", "127.0.0.1:\(relay.port) accepts connections")), "\(findings)")
            #expect(relay.mails.isEmpty)
        }
    }

    @Test func `a refused login is found without a mail`() async throws {
        try await LocalRelay.run(["--tls", "starttls", "--login"]) { relay in
            func mail(_ password: String) async -> Diagnosis? {
                let environment = [
                    "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": "\(relay.port)",
                    "CONCORD_MAIL_FROM": "no-reply@example.com", "CONCORD_MAIL_USER": LocalRelay.user,
                    "CONCORD_MAIL_PASSWORD": password, "CONCORD_MAIL_CERTIFICATE_AUTHORITIES": relay.certificatePath,
                ]
                let sources = ConfigurationSources(
                    file: nil,
                    environment: environment,
                    readFile: { path in (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init) }
                )
                let checks = MachineChecks(configuration: DoctorConfiguration(sources), testRecipient: nil)
                return await DoctorCheck.run(checks.all, timeout: .seconds(60)).first { $0.check == "mail" }
            }
            #expect(await mail(LocalRelay.password) == .ok("mail", "127.0.0.1:\(relay.port) accepts TLS and login"))
            let refused = try #require(await mail("wrong"))
            #expect(refused.status == .failure && refused.remedy == "Check mail.user and mail.password", "\(refused)")
            #expect(relay.mails.isEmpty)
        }
    }

    @Test func `a relay that does not listen is a failure`() async throws {
        let port = try freePort()
        let findings = await machine([
            "CONCORD_MAIL_HOST": "127.0.0.1", "CONCORD_MAIL_PORT": "\(port)", "CONCORD_MAIL_SECURITY": "none",
            "CONCORD_MAIL_FROM": "no-reply@example.com",
        ])
        let mail = try #require(findings.first { $0.check == "mail" })
        #expect(mail.status == .failure && mail.finding == "127.0.0.1:\(port): unreachable", "\(mail)")
    }
}
