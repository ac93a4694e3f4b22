import AccountOperations
import AccountStore
import Crypto
import FoundationEssentials
import Glibc
import Postgres
import PostgresCluster

/// The environment of all benchmarks: the cluster with its accounts, the issuer, and functions that start servers.
struct Lab: Sendable {
    let plan: Plan
    let directory: String
    let binaries: String
    let issuer: Issuer
    let passwordHash: String
    private let cluster: PostgresCluster
    private let connection: ClusterConnection
    private let scripts: String

    private static let database = "concord"
    static let projectID = "demo-concord"
    static let apiKey = "concord-bench-key"
    /// The key-encryption key of every benchmark server.
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let keyID = "1"
    private static var keySetting: String { "\(keyID):\(Data(key).base64EncodedString())" }

    /// Starts cluster and issuer and loads the accounts.
    /// - Throws: if a step fails.
    static func open(_ plan: Plan, directory: String, binaries: String, scripts: String) async throws -> Lab {
        var settings = ClusterSettings.durable
        settings.endsWithOwner = true
        // Enough for four servers at once, each with the most read connections (64) and 12 others.
        settings.connectionsMax = 400
        // Memory for the tables of a million accounts, and no checkpoint during a measurement.
        settings.additional = [
            "shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "30min",
            "autovacuum_naptime": "10min",
        ]
        let cluster = PostgresCluster(dataDirectory: "\(directory)/postgres", settings: settings)
        let connection = try await cluster.start()
        _ = try await cluster.createDatabase(database)
        let lab = Lab(
            plan: plan,
            directory: directory,
            binaries: binaries,
            issuer: try await Issuer.start(binaries: binaries, directory: directory),
            passwordHash: try await hash(),
            cluster: cluster,
            connection: connection,
            scripts: scripts
        )
        do {
            try await lab.load()
        } catch {
            await lab.close()
            throw error
        }
        return lab
    }

    private static func hash() async throws -> String {
        let hasher = try PasswordHasher(threadCount: 1, queueMax: 1, randomBytes: Effects.system.randomBytes)
        let hash = try await hasher.hash(Accounts.password, for: .administrator)
        await hasher.shutDown()
        return hash
    }

    private func load() async throws {
        note("loading \(plan.users) users")
        let start = nanoseconds()
        try await prepare(databaseURL)
        try psql(
            "load",
            [
                "users": String(plan.users), "linked": String(plan.linked), "passwords": String(plan.passwords),
                "hash": passwordHash, "issuer": issuer.url,
            ]
        )
        note("  in \((Double(nanoseconds() - start) / 1e9).shown(0)) s")
    }

    /// Migrates a database and makes the project.
    private func prepare(_ url: String) async throws {
        _ = try ChildProcess.run(
            "\(binaries)/concord",
            ["migrate", "up"],
            environment: ["CONCORD_DATABASE_URL": url],
            output: "\(directory)/migrate.out"
        )
        try await withClient(url) { client in
            let project = ProjectRecord(
                projectID: Self.projectID,
                projectNumber: 12345,
                settings: ProjectSettings.developmentDefaults
            )
            _ = try await AccountStore(client: client).createProject(project, apiKey: Self.apiKey)
        }
    }

    func close() async {
        issuer.stop()
        try? await cluster.discard()
    }

    /// Reports progress.
    func note(_ text: String) {
        let line = Array((text + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, line, line.count)
    }

    // MARK: PostgreSQL

    var databaseURL: String { connection.url(database: Self.database) }
    var postmaster: pid_t { pid_t(connection.processID) }
    /// The number of processors, which everything shares.
    var processors: Double { Double(sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Runs `body` with a client of default settings.
    func withClient<Output: Sendable>(
        _ url: String? = nil,
        _ body: (PostgresClient) async throws -> Output
    ) async throws -> Output {
        let client = PostgresClient(configuration: try PostgresConfiguration(connectionString: url ?? databaseURL))
        return try await withThrowingTaskGroup { group in
            group.addTask { await client.run() }
            defer { client.shutDown() }
            return try await body(client)
        }
    }

    /// Opens a client of default settings for the life of this process.
    func openClient() async throws -> PostgresClient {
        let client = PostgresClient(configuration: try PostgresConfiguration(connectionString: databaseURL))
        Task { await client.run() }
        return client
    }

    private func psql(_ script: String, _ variables: [String: String] = [:]) throws {
        try psql(script, variables, on: databaseURL)
    }

    /// Runs a script on another database.
    func psql(_ script: String, _ variables: [String: String] = [:], on url: String) throws {
        _ = try psql(
            ["--file=\(scripts)/\(script).sql"] + variables.map { "--set=\($0.key)=\($0.value)" },
            on: url
        )
    }

    /// Returns the output of `psql`, one value a line.
    func psql(_ arguments: [String], on url: String) throws -> String {
        try ChildProcess.run(
            "psql",
            ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"] + arguments + [url],
            output: "\(directory)/psql.out"
        )
    }

    /// A folder that the server can write to.
    private var serverFolder: String { "\(directory)/postgres" }

    /// Makes another migrated database with a project.
    func makeDatabase(_ name: String) async throws -> String {
        _ = try await cluster.createDatabase(name)
        let url = connection.url(database: name)
        try await prepare(url)
        return url
    }

    /// Runs `concord account`.
    func account(_ arguments: [String], _ url: String) throws {
        _ = try ChildProcess.run(
            "\(binaries)/concord",
            ["account"] + arguments,
            environment: ["CONCORD_DATABASE_URL": url, "CONCORD_KEYS_ENCRYPTION": Self.keySetting],
            output: "\(directory)/account.out"
        )
    }

    /// Copies the tables of accounts into files on the server.
    func copyOut(_ url: String) throws {
        try psql("copy-out", ["folder": serverFolder], on: url)
    }

    /// Copies these files into another database.
    func copyIn(_ url: String) throws {
        try psql("copy-in", ["folder": serverFolder], on: url)
    }

    /// Adds the number of expired conflicts in the plan.
    func addExpiredConflicts() throws {
        try psql("expired-conflicts", ["conflicts": String(plan.expiredConflicts), "users": String(plan.users)])
    }

    /// Deletes the messages of other benchmarks from the outbox.
    func emptyOutbox() throws {
        try psql("outbox-empty")
    }

    /// Makes all failed messages in the outbox due.
    func endPauses() throws {
        try psql("outbox-due")
    }

    /// Runs a script with `pgbench -M prepared` and as many clients.
    func pgbench(_ script: String) throws -> Reference {
        let before = ProcessStatus.timeOfFamily(postmaster)
        let output = try ChildProcess.run(
            "pgbench",
            [
                "--no-vacuum", "--protocol=prepared", "--client=\(plan.clients)", "--jobs=2",
                "--time=\(pgbenchSeconds)", "--file=\(scripts)/\(script).sql",
                "--define=users=\(plan.users)", "--define=linked=\(plan.linked)", "--define=hash=\(passwordHash)",
                databaseURL,
            ],
            output: "\(directory)/pgbench.out"
        )
        let line = output.split(separator: "\n").first { $0.hasPrefix("tps = ") }
        guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) else {
            throw BenchmarkFailure("pgbench says no rate:\n\(output)")
        }
        let count = rate * Double(pgbenchSeconds)
        let time = ProcessStatus.timeOfFamily(postmaster) - before
        return Reference(rate: rate, postgresMicroseconds: time.total / count * 1e6)
    }

    private var pgbenchSeconds: Int { max(1, Int(plan.seconds)) }

    // MARK: Servers

    /// Starts `concord serve` with default settings, except those in `environment`.
    /// - `output`: the name of its output file. Servers that run at the same time need different ones.
    func serve(_ environment: [String: String] = [:], output: String = "serve") async throws -> Server {
        let process = try ChildProcess(
            "\(binaries)/concord",
            ["serve"],
            environment: [
                "CONCORD_DATABASE_URL": databaseURL,
                "CONCORD_KEYS_ENCRYPTION": Self.keySetting,
                "CONCORD_LISTEN_PORT": "0",
            ].merging(environment) { _, given in given },
            output: "\(directory)/\(output).out"
        )
        let port = try await process.await("concord serve") { output in
            output.split(separator: "\n").first { $0.contains("ready") }.flatMap(Self.port)
        }
        return Server(process: process, port: port, postmaster: postmaster)
    }

    /// Starts `concord dev`, which accepts an issuer on this machine. `serve` requires HTTPS and a public address.
    func developmentServer() async throws -> Server {
        try write(Data(Self.key).base64EncodedString() + "\n", to: "\(directory)/key-encryption-key")
        let process = try ChildProcess(
            "\(binaries)/concord",
            ["dev", "--port", "0", "--data-dir", directory, "--database-url", databaseURL],
            output: "\(directory)/dev.out"
        )
        let port = try await process.await("concord dev") { output in
            output.split(separator: "\n").first { $0.contains(" URL ") }.flatMap(Self.port)
        }
        return Server(process: process, port: port, postmaster: postmaster)
    }

    /// Returns the number after the last colon of a line.
    private static func port(_ line: Substring) -> UInt16? {
        guard let colon = line.lastIndex(of: ":") else { return nil }
        return UInt16(line[line.index(after: colon)...].prefix { $0.isNumber })
    }

    /// Returns an authority that signs with the key of every benchmark server.
    func tokenAuthority() async throws -> TokenAuthority {
        guard let key = Sealer.Key(id: Self.keyID, bytes: Self.key) else {
            throw BenchmarkFailure("the key-encryption key is none")
        }
        return try await withClient { client in
            let keys = SigningKeys(
                store: AccountStore(client: client),
                sealer: Sealer(sealingKey: key),
                effects: .system,
                algorithm: .es256,
                projectID: Self.projectID
            )
            return TokenAuthority(projectID: Self.projectID, keys: try await keys.load(.idToken))
        }
    }
}

/// A running server.
struct Server: Sendable {
    let process: ChildProcess
    let port: UInt16
    let postmaster: pid_t

    var url: String { "http://127.0.0.1:\(port)" }

    /// Measures a load, with the processor time of the server, PostgreSQL and this process.
    func measure(_ load: () throws -> Sample) throws -> Sample { try [self].measure(load) }
}

/// Servers on the same database.
extension [Server] {
    /// Measures a load, with the processor time and memory of all servers together, and the processor time of
    /// PostgreSQL and this process.
    func measure(_ load: () throws -> Sample) throws -> Sample {
        guard let postmaster = first?.postmaster else { throw BenchmarkFailure("no server to measure") }
        func times() throws -> (product: CPUTime, postgres: CPUTime, load: CPUTime) {
            (try ownTime(), ProcessStatus.timeOfFamily(postmaster), ProcessStatus(getpid())?.time ?? .zero)
        }
        let before = try times()
        var sample = try load()
        let after = try times()
        sample.product = after.product - before.product
        sample.postgres = after.postgres - before.postgres
        sample.load = after.load - before.load
        sample.residentBytes = reduce(0) { $0 + ProcessStatus.residentBytes($1.process.processID) }
        return sample
    }

    private func ownTime() throws -> CPUTime {
        try reduce(.zero) { sum, server in
            guard let status = ProcessStatus(server.process.processID) else {
                throw BenchmarkFailure("the server has ended")
            }
            return sum + status.time
        }
    }
}

/// `concord-demo issuer`: an OpenID Connect provider in a separate process.
struct Issuer: Sendable {
    let url: String
    private let process: ChildProcess

    static func start(binaries: String, directory: String) async throws -> Issuer {
        let process = try ChildProcess("\(binaries)/concord-demo", ["issuer"], output: "\(directory)/issuer.out")
        let url = try await process.await("the issuer") { output in
            output.split(separator: "\n").first { $0.hasPrefix("issuer ready at ") }
                .map { String($0.dropFirst("issuer ready at ".count)) }
        }
        return Issuer(url: url, process: process)
    }

    var port: UInt16 { url.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

    func stop() { process.stop() }
}
