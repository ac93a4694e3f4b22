import AccountLinking
import AccountTestSupport
import Glibc
import Synchronization
import Testing

@testable import AccountStore
@testable import Postgres

struct EventMonthTests {
    @Test func `a month contains exactly the instants from its start to its end`() {
        for year in 1970...2110 as ClosedRange<Int64> {
            for month in 1...12 {
                let days = month == 2 ? (year.isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
                let name = "\(year)-\(month < 10 ? "0" : "")\(month)"
                let found = EventMonth(containing: Self.start(year, month))
                #expect(found.description == name)
                #expect(found.start == Self.start(year, month))
                #expect(found.end == found.start.adding(seconds: Int64(days) * 86_400))
                #expect(EventMonth(containing: found.end.adding(seconds: -1)) == found)
                #expect(EventMonth(containing: found.end) == found.advanced(by: 1))
            }
        }
    }

    private static func start(_ year: Int64, _ month: Int) -> Timestamp {
        var days: Int64 = 0
        for past in 1970..<year { days += past.isLeap ? 366 : 365 }
        for past in 1..<month { days += past == 2 ? (year.isLeap ? 29 : 28) : [4, 6, 9, 11].contains(past) ? 30 : 31 }
        return Timestamp(secondsSinceEpoch: days * 86_400)
    }

    @Test(
        arguments: [
            ("DEFAULT", nil),
            ("FOR VALUES FROM (MINVALUE) TO ('019b76da-a800-0000-0000-000000000000')", ("", "019b76da-a800")),
            (
                "FOR VALUES FROM ('019b76da-a800-0000-0000-000000000000') TO ('019c1680-5c00-0000-0000-000000000000')",
                ("019b76da-a800", "019c1680-5c00")
            ),
            ("FOR VALUES FROM ('019c1680-5c00-0000-0000-000000000000') TO (MAXVALUE)", ("019c1680-5c00", "g")),
        ] as [(String, (String, String)?)]
    )
    func `the bounds of a partition are read from its expression`(_ text: String, _ expected: (String, String)?) {
        let bounds = EventPartition.Bounds(expression: text)
        #expect((bounds == nil) == (expected == nil))
        #expect(bounds.map { String($0.from.prefix(13)) } == expected?.0)
        #expect(bounds.map { String($0.to.prefix(13)) } == expected?.1)
    }
}

extension Int64 {
    fileprivate var isLeap: Bool { self % 4 == 0 && (self % 100 != 0 || self % 400 == 0) }
}

/// A transaction that reads the events for as long as the test needs.
private final class Backup: Sendable {
    let isReading = Atomic(false)
    let isDone = Atomic(false)
}

struct EventPartitionTests {
    /// After the bound of the first partition of a new database.
    private static let now = Timestamp(secondsSinceEpoch: 1_790_000_000)
    private static let months = ["2026-09", "2026-10", "2026-11"]

    private static func at(_ instant: Timestamp, _ number: UInt64) -> AccountEvent {
        AccountEvent(
            id: PostgresUUID(high: AccountEvent.ID(firstAt: instant).high, low: number),
            occurredAt: instant,
            kind: .signedIn,
            rule: .signInByPassword
        )
    }

    /// The text of the first id of an instant.
    private static func firstID(_ instant: Timestamp) -> String {
        let digits = String(AccountEvent.ID(firstAt: instant).high, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + String(repeating: "0", count: 16)
    }

    /// The partitions of the stored events with their numbers.
    private static func places(_ scene: StoreScene) async throws -> [String] {
        var places: [String] = []
        for name in try await scene.client.read(EventPartition.all).map(\.name) {
            let count = try await scene.database.count(Query<Int64?>(SQL(text: "SELECT count(*) FROM \(name)")))
            if count > 0 { places.append("\(name) \(count)") }
        }
        return places
    }

    private static func partitions(_ scene: StoreScene) async throws -> [String] {
        try await scene.client.read(EventPartition.all).compactMap { $0.month?.description }
    }

    @Test func `an event without partition is stored, and moves to its month once that is created`() async throws {
        try await StoreScene.with { scene in
            let user = userID("ada")
            for number in 0..<3 as Range<UInt64> {
                try await scene.store.keep(Self.at(Self.now, number), of: user, tenant: .project)
            }
            // A server whose clock is years ahead.
            try await scene.store.keep(
                Self.at(Self.now.adding(seconds: 1_000_000_000), 9),
                of: user,
                tenant: .project
            )
            #expect(try await Self.places(scene) == ["account_events_default 4"])
            #expect(
                try await scene.store.monthsWithoutPartition(at: Self.now).map(\.description) == Self.months
            )
            let changes = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            #expect(changes.created.map(\.description) == Self.months && changes.postponed == [])
            #expect(try await Self.places(scene) == ["account_events_2026_09 3", "account_events_default 1"])
            #expect(try await scene.store.monthsWithoutPartition(at: Self.now) == [])
            try await scene.store.keep(Self.at(Self.now, 4), of: user, tenant: .project)
            #expect(try await Self.places(scene) == ["account_events_2026_09 4", "account_events_default 1"])
            #expect(
                try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
                    == AccountStore.EventMonthChanges()
            )
            #expect(
                try await scene.store.events(of: user, tenant: .project, before: nil, countMax: 10).map(\.id.low)
                    == [9, 4, 2, 1, 0]
            )
        }
    }

    @Test func `an event that waits while its month is created is stored in that month`() async throws {
        try await StoreScene.with { scene in
            let month = EventMonth(containing: Self.now)
            let (first, end) = (Self.firstID(month.start), Self.firstID(month.end))
            let creation = Backup()
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                        defer { creation.isReading.store(true, ordering: .sequentiallyConsistent) }
                        try connection.execute(script: "BEGIN")
                        try connection.execute(
                            script: "CREATE TABLE account_events_2026_09 (LIKE account_events INCLUDING ALL)"
                        )
                        try connection.execute(
                            script: """
                                ALTER TABLE account_events ATTACH PARTITION account_events_2026_09
                                    FOR VALUES FROM ('\(first)') TO ('\(end)')
                                """
                        )
                        creation.isReading.store(true, ordering: .sequentiallyConsistent)
                        while !creation.isDone.load(ordering: .sequentiallyConsistent) { usleep(1000) }
                        try connection.execute(script: "COMMIT")
                    }
                }
                defer { creation.isDone.store(true, ordering: .sequentiallyConsistent) }
                while !creation.isReading.load(ordering: .sequentiallyConsistent) {
                    try await Task.sleep(for: .milliseconds(1))
                }
                group.addTask { try await scene.store.keep(Self.at(Self.now, 1), of: userID("ada"), tenant: .project) }
                // It has chosen the default partition.
                let waiting: Query<Int64?> = """
                    SELECT count(*) FROM pg_locks
                    WHERE NOT granted AND relation = 'account_events_default'::regclass
                    """
                while try await scene.database.count(waiting) == 0 {
                    try await Task.sleep(for: .milliseconds(1))
                }
                creation.isDone.store(true, ordering: .sequentiallyConsistent)
                try await group.waitForAll()
            }
            #expect(try await Self.places(scene) == ["account_events_2026_09 1"])
        }
    }

    @Test func `of many servers that create months at once, each month is created once, and no sign-in fails`()
        async throws
    {
        try await StoreScene.with { scene in
            let changes = try await withThrowingTaskGroup(of: AccountStore.EventMonthChanges?.self) { group in
                for number in 0..<16 as Range<UInt64> {
                    group.addTask { try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil) }
                    group.addTask {
                        try await scene.store.keep(Self.at(Self.now, number), of: userID("ada"), tenant: .project)
                        return nil
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }.compactMap(\.self)
            }
            // An event that arrives during an attempt postpones it.
            _ = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            #expect(try await Self.partitions(scene) == Self.months)
            let created = changes.flatMap(\.created)
            #expect(Set(created).count == created.count)
            #expect(try await Self.places(scene) == ["account_events_2026_09 16"])
        }
    }

    @Test func `a month is dropped once its last event is past the retention, while sign-ins go on`() async throws {
        try await StoreScene.with { scene in
            let user = userID("ada")
            _ = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            try await scene.store.keep(Self.at(Self.now, 1), of: user, tenant: .project)
            let later = Self.now.adding(seconds: 40 * 86_400)
            let end = EventMonth(containing: Self.now).end
            let early = try await scene.store.maintainEventPartitions(now: later, keepSince: end.adding(seconds: -1))
            #expect(early.dropped == [] && early.created.map(\.description) == ["2026-12"])
            let dropped = try await withThrowingTaskGroup(of: [EventMonth].self) { group in
                for number in 0..<200 as Range<UInt64> {
                    group.addTask {
                        try await scene.store.keep(Self.at(later, number), of: user, tenant: .project)
                        return []
                    }
                    if number.isMultiple(of: 50) {
                        group.addTask {
                            try await scene.store.maintainEventPartitions(now: later, keepSince: end).dropped
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(dropped.map(\.description)) == ["2026-09"])
            #expect(try await Self.partitions(scene) == ["2026-10", "2026-11", "2026-12"])
            #expect(try await Self.places(scene) == ["account_events_2026_10 200"])
        }
    }

    /// Events in the default partition, in a month that no test reaches.
    private static func fillDefault(_ scene: StoreScene, count: Int64) async throws {
        try await scene.database.execute(
            """
            INSERT INTO account_events (user_id, event_id, occurred_at, kind, rule)
                SELECT 'ada', ('f0000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, now(), 'signed-in', 'P1'
                FROM generate_series(1, \(count)) AS n
            """
        )
    }

    private static func checks(_ scene: StoreScene) async throws -> [String] {
        try await scene.client.read(EventPartition.checks)
    }

    @Test(.notOnCitus("each shard has its own default partition there"))
    func `beside many events in the default partition, only months that begin later are created`() async throws {
        try await StoreScene.with { scene in
            let count = AccountStore.movedEventsMax + 1
            try await Self.fillDefault(scene, count: count)
            let changes = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            #expect(changes.created.map(\.description) == Array(Self.months.dropFirst()))
            #expect(changes.postponed.map(\.description) == [Self.months[0]])
            #expect(try await Self.checks(scene) == [])
            let next = EventMonth(containing: Self.now).end
            for (number, instant) in [Self.now, next].enumerated() {
                try await scene.store.keep(Self.at(instant, UInt64(number)), of: userID("ada"), tenant: .project)
            }
            #expect(
                try await Self.places(scene) == ["account_events_2026_10 1", "account_events_default \(count + 1)"]
            )
            // A month is not created in the day before it begins: a check could refuse its first events.
            let lastDay = EventMonth(containing: Self.now).advanced(by: 2).end.adding(seconds: -3600)
            let late = try await scene.store.maintainEventPartitions(now: lastDay, keepSince: nil)
            #expect(late.created.map(\.description) == ["2027-01"])
            #expect(late.postponed.map(\.description) == ["2026-12"])
        }
    }

    @Test func `a check that an interrupted creation of a month left is dropped before it refuses a sign-in`()
        async throws
    {
        try await StoreScene.with { scene in
            try await Self.fillDefault(scene, count: AccountStore.movedEventsMax + 1)
            let check = "without_account_events_2026_09"
            try await scene.database.execute(
                """
                ALTER TABLE account_events_default ADD CONSTRAINT \(check) CHECK (
                    event_id < '01900000-0000-0000-0000-000000000000'
                        OR event_id >= '01b00000-0000-0000-0000-000000000000'
                ) NOT VALID
                """
            )
            #expect(try await Self.checks(scene) == [check])
            await #expect(throws: PostgresError.self) {
                try await scene.store.keep(Self.at(Self.now, 1), of: userID("ada"), tenant: .project)
            }
            _ = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            #expect(try await Self.checks(scene) == [])
            try await scene.store.keep(Self.at(Self.now, 1), of: userID("ada"), tenant: .project)
        }
    }

    @Test(.notOnCitus("every node would need the role"))
    func `a role that does not own the table stores events without creating a month`() async throws {
        try await StoreScene.with { scene in
            let role = "reader_\(nextNumber())_\(UInt32.random(in: 0 ... .max))"
            try await scene.database.execute(
                "CREATE ROLE \(role); GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO \(role)"
            )
            let url = scene.database.url
            let limited = url + (url.contains("?") ? "&" : "?") + "options=-c%20role%3D\(role)"
            let configuration = try PostgresConfiguration(connectionString: limited)
            try await TestDatabase(configuration: configuration, url: limited).withClient { client in
                let store = AccountStore(client: client)
                let changes = try await store.maintainEventPartitions(now: Self.now, keepSince: nil)
                #expect(changes.created == [] && changes.postponed.map(\.description) == Self.months)
                try await store.keep(Self.at(Self.now, 1), of: userID("ada"), tenant: .project)
            }
            #expect(try await Self.places(scene) == ["account_events_default 1"])
            try await scene.database.execute("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
    }

    @Test func `while a backup reads the events, a drop is postponed and no sign-in waits for it`() async throws {
        try await StoreScene.with { scene in
            _ = try await scene.store.maintainEventPartitions(now: Self.now, keepSince: nil)
            let end = EventMonth(containing: Self.now).end
            let later = end.adding(seconds: 1)
            let backup = Backup()
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                        defer { backup.isReading.store(true, ordering: .sequentiallyConsistent) }
                        try connection.execute(script: "BEGIN")
                        try connection.execute(script: "LOCK TABLE account_events IN ACCESS SHARE MODE")
                        backup.isReading.store(true, ordering: .sequentiallyConsistent)
                        while !backup.isDone.load(ordering: .sequentiallyConsistent) { usleep(1000) }
                        try connection.execute(script: "COMMIT")
                    }
                }
                defer { backup.isDone.store(true, ordering: .sequentiallyConsistent) }
                while !backup.isReading.load(ordering: .sequentiallyConsistent) {
                    try await Task.sleep(for: .milliseconds(1))
                }
                let changes = try await scene.store.maintainEventPartitions(now: later, keepSince: end)
                // A month to create waits too, for the default partition.
                #expect(changes.created == [] && changes.dropped == [])
                #expect(changes.postponed.map(\.description) == ["2026-12", "2026-09"])
                try await scene.store.keep(Self.at(later, 1), of: userID("ada"), tenant: .project)
                backup.isDone.store(true, ordering: .sequentiallyConsistent)
                try await group.waitForAll()
            }
            let changes = try await scene.store.maintainEventPartitions(now: later, keepSince: end)
            #expect(changes.dropped.map(\.description) == ["2026-09"])
        }
    }
}
