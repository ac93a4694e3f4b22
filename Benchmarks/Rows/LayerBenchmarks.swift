import AccountLinking
import AccountOperations
import AccountStore
import Glibc
import Postgres
import Synchronization

extension Benchmark {
    /// The work of `pgbench -S`, with the client that serves all reads.
    static let pointLookup = Benchmark(
        "point-lookup",
        "Postgres layer, a row by its primary key",
        against: "point-lookup"
    ) { lab in
        let client = try await lab.openClient()
        return Measurement { seconds in
            try await lab.measurePointLookups(client, seconds: seconds)
        } end: {
            client.shutDown()
        }
    }

    /// The write of a sign-up with a password: user, claim, password, method, session and event.
    static let signUpWrite = Benchmark(
        "sign-up-write",
        "Postgres layer, a sign-up as one pipelined transaction",
        against: "sign-up"
    ) { lab in
        let client = try await lab.openClient()
        let store = AccountStore(client: client)
        let hash = lab.passwordHash
        return Measurement { seconds in
            try await measureCallers(lab, seconds: seconds) {
                guard try await store.apply(signUp(passwordHash: hash)) == .applied else {
                    throw BenchmarkFailure("a sign-up met another of the same name")
                }
            }
        } end: {
            client.shutDown()
        }
    }

    private static func signUp(passwordHash: String) throws -> AccountWrite {
        let now = Effects.system.now()
        let name = String(UInt64.random(in: .min ... .max), radix: 36)
        guard let id = UserID("product-\(name)"), let address = EmailAddress("p-\(name)@example.com") else {
            throw BenchmarkFailure("\(name) makes no account")
        }
        let bytes = Effects.system.randomBytes(48)
        var user = UserRecord(
            tenant: .project,
            id: id,
            sessionEpoch: Int64.random(in: 0...(1 << 52)),
            createdAt: now
        )
        user.email = AccountEmail(address: address, proof: nil)
        user.passwordUpdatedAt = now
        user.methodProofs[.password] = UserRecord.MethodProof(proof: .signUp, provenAt: now)
        user.lastLoginAt = now
        user.lastRefreshAt = now
        return AccountWrite(
            previous: nil,
            user: user,
            passwordHash: passwordHash,
            session: SessionRecord(
                tenant: .project,
                user: id,
                id: Array(bytes[..<16]),
                secretHash: Array(bytes[16...]),
                epoch: user.sessionEpoch,
                authTime: now,
                signInProvider: "password"
            ),
            event: AccountEvent(
                id: PostgresUUID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)),
                occurredAt: now,
                kind: .userCreated,
                rule: .signUpByPassword
            )
        )
    }
}

extension Lab {
    /// Reads rows by their keys, in random order.
    func measurePointLookups(_ client: PostgresClient, seconds: Double) async throws -> Sample {
        let users = UInt64(plan.users)
        let scatter = Scatter()
        return try await measureCallers(self, seconds: seconds) {
            let id = Int32(scatter.next() % users) + 1
            let rows = try await client.read(Balance.ofAccount(id))
            guard rows.count == 1 else { throw BenchmarkFailure("account \(id) is not there") }
        }
    }
}

/// Pseudorandom numbers (SplitMix64), without a system call for each, as in `pgbench`.
private final class Scatter: Sendable {
    private let count = Atomic<UInt64>(0)

    func next() -> UInt64 {
        var number = count.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
        number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        return number ^ (number >> 31)
    }
}

private struct Balance: RowDecodable {
    let account: Int32
    let value: Int32?

    init(row: inout RowDecoder) throws(PostgresError) {
        account = try row.next(Int32.self)
        value = try row.next(Int32?.self)
    }

    static func ofAccount(_ id: Int32) -> Query<Balance> {
        Query(keyColumn: 0, "SELECT aid, abalance FROM pgbench_accounts WHERE aid = ANY(\([id]))")
    }
}

/// Runs the plan's number of callers, each repeating `work`.
private func measureCallers(
    _ lab: Lab,
    seconds: Double,
    _ work: @escaping @Sendable () async throws -> Void
) async throws -> Sample {
    let before = (ProcessStatus(getpid())?.time ?? .zero, ProcessStatus.timeOfFamily(lab.postmaster))
    let end = nanoseconds() + UInt64(seconds * 1e9)
    var latencies = try await withThrowingTaskGroup(of: [UInt64].self) { group in
        for _ in 0..<lab.plan.clients {
            group.addTask {
                var latencies: [UInt64] = []
                latencies.reserveCapacity(1 << 14)
                var start = nanoseconds()
                while true {
                    try await work()
                    let now = nanoseconds()
                    guard now <= end else { return latencies }
                    latencies.append(now - start)
                    start = now
                }
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }
    }
    let after = (ProcessStatus(getpid())?.time ?? .zero, ProcessStatus.timeOfFamily(lab.postmaster))
    latencies.sort()
    return Sample(
        count: latencies.count,
        seconds: seconds,
        latencies: latencies,
        product: after.0 - before.0,
        postgres: after.1 - before.1,
        residentBytes: ProcessStatus.residentBytes(getpid())
    )
}
