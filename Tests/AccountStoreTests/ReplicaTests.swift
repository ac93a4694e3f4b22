import AccountLinking
import AccountTestSupport
import Postgres
import Synchronization
import Testing

@testable import AccountStore

/// The age of a replica, from positions in the log.
struct ReplicaProgressTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func primary(_ position: Int64) -> ServerPosition {
        ServerPosition(cluster: 1, isInRecovery: false, position: position)
    }

    private func standby(_ position: Int64, cluster: Int64 = 1) -> ServerPosition {
        ServerPosition(cluster: cluster, isInRecovery: true, position: position)
    }

    @Test func `a replica is used once it has what the primary had, and as long as it is young`() {
        var progress = ReplicaProgress(ageMax: .seconds(10))
        #expect(progress.problem(at: at(0)) == .tooOld(nil))
        progress.compare(replica: standby(90), primary: primary(100), at: at(0))
        #expect(progress.problem(at: at(0)) == .tooOld(nil))
        progress.compare(replica: standby(100), primary: primary(110), at: at(1))
        #expect(progress.currentUntil == at(0))
        #expect(progress.problem(at: at(10)) == nil)
        #expect(progress.problem(at: at(11)) == .tooOld(.seconds(11)))
    }

    @Test func `an idle primary does not make the replica old`() {
        var progress = ReplicaProgress(ageMax: .seconds(10))
        for second in 0..<100 {
            progress.compare(replica: standby(100), primary: primary(100), at: at(Double(second)))
            #expect(progress.currentUntil == at(Double(second)))
        }
    }

    @Test func `a paused replica becomes old, and young again once it has replayed`() {
        var progress = ReplicaProgress(ageMax: .seconds(10))
        progress.compare(replica: standby(100), primary: primary(100), at: at(0))
        for second in 1...30 {
            progress.compare(replica: standby(100), primary: primary(100 + Int64(second)), at: at(Double(second)))
        }
        #expect(progress.problem(at: at(30)) == .tooOld(.seconds(30)))
        progress.compare(replica: standby(129), primary: primary(131), at: at(31))
        #expect(progress.currentUntil == at(29))
        #expect(progress.problem(at: at(31)) == nil)
    }

    @Test func `a promoted server, another cluster and a server that is ahead are not used`() {
        var progress = ReplicaProgress(ageMax: .seconds(10))
        progress.compare(replica: primary(100), primary: primary(100), at: at(0))
        #expect(progress.problem(at: at(0)) == .noStandby)
        progress.compare(replica: standby(100, cluster: 2), primary: primary(100), at: at(1))
        #expect(progress.problem(at: at(1)) == .otherCluster)
        progress.compare(replica: standby(101), primary: primary(100), at: at(2))
        #expect(progress.problem(at: at(2)) == .diverged)
        progress.compare(replica: standby(100), primary: primary(100), at: at(3))
        #expect(progress.problem(at: at(3)) == nil)
    }

    @Test func `after a failure only the next comparison counts`() {
        var progress = ReplicaProgress(ageMax: .seconds(10))
        progress.compare(replica: standby(100), primary: primary(100), at: at(0))
        progress.fail(.failed("gone"))
        #expect(progress.problem(at: at(0)) == .failed("gone"))
        progress.compare(replica: standby(90), primary: primary(100), at: at(1))
        #expect(progress.problem(at: at(1)) == .tooOld(nil))
    }
}

/// A store that reads lists from a real standby.
@Suite(.timeLimit(.minutes(20)))
struct ReplicaTests {
    /// The servers that answered.
    private final class Answers: Sendable {
        private let servers = Mutex<[Replica.Server]>([])

        func append(_ server: Replica.Server) { servers.withLock { $0.append(server) } }
        var last: Replica.Server? { servers.withLock(\.last) }
    }

    private struct Scene: Sendable {
        let standby: Standby
        let client: PostgresClient
        let replica: Replica
        let store: AccountStore
        let answers: Answers

        /// Compares until the replica can be used, or until it cannot be.
        func compare(until isUsable: Bool) async throws {
            while true {
                await replica.compare(with: client)
                if (replica.problem == nil) == isUsable { return }
                try await Task.sleep(for: .milliseconds(50))
            }
        }

        /// Creates an account, and returns the number of accounts in the store's answer.
        func count(afterCreating create: Bool = false) async throws -> Int64 {
            if create {
                let write = AccountWrite(previous: nil, user: .blank(), event: event(.userCreated))
                #expect(try await store.apply(write) == .applied)
            }
            return try await store.userCount(exactMax: 1000, sharedMax: 1000, tenant: .project)
        }
    }

    private func with(ageMax: Duration, _ body: (Scene) async throws -> Void) async throws {
        try await Standby.with { standby in
            let answers = Answers()
            let client = PostgresClient(configuration: standby.primary.configuration)
            let ofReplica = PostgresClient(configuration: try standby.configuration)
            let replica = Replica(client: ofReplica, ageMax: ageMax) { answers.append($0) }
            try await withThrowingTaskGroup { group in
                group.addTask { await client.run() }
                group.addTask { await ofReplica.run() }
                defer {
                    client.shutDown()
                    ofReplica.shutDown()
                }
                let store = AccountStore(client: client, replica: replica)
                try await body(
                    Scene(standby: standby, client: client, replica: replica, store: store, answers: answers)
                )
            }
        }
    }

    @Test func `the replica answers lists, and the primary while the replica is paused, promoted or gone`()
        async throws
    {
        try await with(ageMax: .seconds(2)) { scene in
            #expect(try await scene.count(afterCreating: true) == 1)
            #expect(scene.answers.last == .primary, "the replica was not compared yet")
            try await scene.compare(until: true)
            #expect(try await scene.count() == 1)
            #expect(scene.answers.last == .replica)

            try await scene.standby.pause()
            _ = try await scene.count(afterCreating: true)
            try await scene.compare(until: false)
            #expect(try await scene.count() == 2)
            #expect(scene.answers.last == .primary)
            try await scene.standby.execute("SELECT pg_wal_replay_resume()")
            try await scene.compare(until: true)
            #expect(try await scene.count() == 2)
            #expect(scene.answers.last == .replica)

            try await scene.standby.execute("SELECT pg_promote()")
            try await scene.compare(until: false)
            #expect(scene.replica.problem == .noStandby)
            #expect(try await scene.count(afterCreating: true) == 3)
            #expect(scene.answers.last == .primary)

            try await scene.standby.stop()
            try await scene.compare(until: false)
            #expect(try await scene.count() == 3)
            #expect(scene.answers.last == .primary)
        }
    }

    @Test func `if the replica disappears during a read, the primary answers it`() async throws {
        try await with(ageMax: .seconds(600)) { scene in
            _ = try await scene.count(afterCreating: true)
            try await scene.compare(until: true)
            try await scene.standby.stop()
            #expect(try await scene.count() == 1)
            #expect(scene.answers.last == .primary)
            #expect(scene.replica.problem != nil)
        }
    }

    @Test func `only lists read password hashes from the replica`() async throws {
        try await with(ageMax: .seconds(600)) { scene in
            try await scene.compare(until: true)
            #expect(try await scene.store.passwordHashes([.nobody], tenant: .project).isEmpty)
            #expect(scene.answers.last == nil)
            #expect(try await scene.store.listedPasswordHashes([.nobody], tenant: .project).isEmpty)
            #expect(scene.answers.last == .replica)
        }
    }

    @Test func `a lookup of one account never reads from the replica`() async throws {
        try await with(ageMax: .seconds(600)) { scene in
            try await scene.compare(until: true)
            try await scene.standby.pause()
            let write = AccountWrite(previous: nil, user: .blank(), event: event(.userCreated))
            #expect(try await scene.store.apply(write) == .applied)
            let id = write.user.id
            #expect(try await scene.store.user(id, tenant: .project)?.id == id)
            #expect(try await scene.store.users([id], tenant: .project).map(\.id) == [id])
            // The list is as old as the replica.
            #expect(try await scene.store.userCount(exactMax: 1000, sharedMax: 1000, tenant: .project) == 0)
        }
    }
}
