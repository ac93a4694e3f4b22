package import AccountLinking
import Glibc
package import Postgres
import Synchronization

/// Reads accounts whole, many at once, as of one instant, without writing anything.
///
/// Several connections share one snapshot of the database and take turns at pages of it, each on a thread of its own: while
/// one waits for PostgreSQL another works on what came. Memory is that of a few pages, however many accounts there are.
package struct AccountSnapshots: Sendable {
    /// Which accounts are read.
    package enum Selection: Sendable {
        /// Every one, and whatever rows name an id without an account.
        case all
        /// Those that something happened to since then.
        case changed(since: Timestamp)
        /// Those of them that there are.
        case users([UserID])
    }

    /// A place in the order of all accounts: by tenant, then by id.
    package struct Place: Sendable, Hashable {
        package var tenant: TenantID
        /// Empty before the first.
        package var userID: String

        package init(tenant: TenantID, userID: String) {
            self.tenant = tenant
            self.userID = userID
        }
    }

    /// Some accounts, in the order of their ids, and where they end.
    package struct Page: Sendable {
        package enum Content: Sendable {
            case accounts([AccountSnapshot])
            /// What has claims that may be nobody's: nothing else of it is there.
            case strayClaims([AccountSnapshot])
        }

        package var content: Content
        /// Where a later run can go on; `nil` for what stands outside the order.
        package var end: Place?
    }

    /// Accounts in one page.
    package static let pageSize = 1000

    private let configuration: PostgresConfiguration
    private let connections: Int
    private let pageSize: Int

    /// - `connections`: how many pages are read and worked on at once.
    package init(_ configuration: PostgresConfiguration, connections: Int, pageSize: Int = Self.pageSize) {
        var configuration = configuration
        configuration.applicationName = "concord audit"
        self.configuration = configuration
        self.connections = max(1, connections)
        self.pageSize = pageSize
    }

    /// About how many accounts there are, without counting them.
    /// - Throws: `PostgresError`.
    package func estimatedCount() async throws -> Int64 {
        try await PostgresConnection.withConnection(configuration) { connection in
            max(0, try connection.query(AuditTransaction.userEstimate).first.flatMap(\.self) ?? 0)
        }
    }

    /// Reads all pages, runs `work` on each, on several threads at once, and hands what came of it to `take`, one after
    /// the other in the order of the pages.
    ///
    /// - Parameters:
    ///   - selection: which accounts.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - start: where to begin; what comes before it is not read.
    ///   - withStrayClaims: whether the claims that may be nobody's are looked for, which reads whole tables.
    ///   - now: what is still alive is judged by it.
    ///   - work: what is done with a page, beside other pages.
    ///   - take: what is done with what came of it, never twice at once.
    /// - Throws: what `work` or `take` throws, at once; `PostgresError`.
    package func read<Output: Sendable>(
        _ selection: Selection,
        tenant: TenantID?,
        after start: Place? = nil,
        withStrayClaims: Bool = true,
        at now: Timestamp,
        work: @escaping @Sendable (Page) throws -> Output,
        take: @escaping @Sendable (Output) throws -> Void
    ) async throws {
        let walk = Walk(
            selection,
            tenant: tenant,
            after: start,
            withStrayClaims: withStrayClaims,
            pageSize: pageSize
        )
        let order = InOrder(take)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            // The first shows the others what it sees, and stays until they all have seen it.
            for index in 0..<connections {
                group.addTask {
                    do {
                        try await PostgresConnection.withConnection(configuration) { connection in
                            try begin(connection, index == 0, gate)
                            while let turn = try walk.next(connection) {
                                let reader = PageReader(connection, turn, now, strayClaimsMax: pageSize)
                                let page = try reader.page()
                                try order.deliver(turn.index, try work(page))
                            }
                            _ = try connection.execute(AuditTransaction.end)
                        }
                    } catch {
                        gate.fail()
                        walk.stop()
                        throw error
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func begin(_ connection: PostgresConnection, _ isFirst: Bool, _ gate: Gate) throws {
        try connection.execute(AuditTransaction.begin)
        if isFirst {
            gate.open(with: try connection.query(AuditTransaction.exportSnapshot).first.flatMap(\.self) ?? "")
            gate.wait(until: { $0.followers == connections - 1 })
        } else {
            guard let snapshot = gate.snapshot() else { throw CancellationError() }
            try connection.execute(script: try AuditTransaction.adopt(snapshot))
            gate.follow()
        }
        try connection.execute(AuditTransaction.goByIndexes)
    }
}

/// Where the readers wait for one another at the start.
private final class Gate: Sendable {
    struct State: Sendable {
        var snapshot: String?
        var followers = 0
        var hasFailed = false
    }

    private static let pollMicroseconds: useconds_t = 1000
    private let state = Mutex(State())

    func open(with snapshot: String) { state.withLock { $0.snapshot = snapshot } }
    func follow() { state.withLock { $0.followers += 1 } }
    func fail() { state.withLock { $0.hasFailed = true } }

    /// Blocks until `condition` holds or a reader has failed.
    func wait(until condition: (State) -> Bool) {
        while !state.withLock({ $0.hasFailed || condition($0) }) { usleep(Self.pollMicroseconds) }
    }

    /// Blocks until there is one; `nil` when a reader has failed.
    func snapshot() -> String? {
        wait(until: { $0.snapshot != nil })
        return state.withLock { $0.hasFailed ? nil : $0.snapshot }
    }
}

/// What a reader does next.
struct Turn {
    enum Part {
        /// Accounts that were read, and what else there is of them and between them.
        case accounts([AuditedUserRow], AuditScope)
        /// The claims of a tenant that may be nobody's.
        case strayClaims(of: [String]?)
    }

    var index: Int
    var tenant: String
    var part: Part
    var end: AccountSnapshots.Place?
}

/// The walk through all accounts, which the readers take turns at.
private final class Walk: Sendable {
    private struct State {
        var tenants: [String]?
        var after = ""
        var pagesTaken = 0
        var claimsAreDue = false
        var isStopped = false
    }

    private let selection: AccountSnapshots.Selection
    private let tenant: TenantID?
    private let start: AccountSnapshots.Place?
    private let withStrayClaims: Bool
    private let pageSize: Int
    private let state: Mutex<State>

    init(
        _ selection: AccountSnapshots.Selection,
        tenant: TenantID?,
        after start: AccountSnapshots.Place?,
        withStrayClaims: Bool,
        pageSize: Int
    ) {
        self.selection = selection
        self.tenant = tenant
        self.start = start
        self.withStrayClaims = withStrayClaims
        self.pageSize = pageSize
        state = Mutex(State(after: start?.userID ?? ""))
    }

    func stop() { state.withLock { $0.isStopped = true } }

    /// The next turn, with its accounts read through `connection`; `nil` when none is left. Others wait meanwhile.
    func next(_ connection: PostgresConnection) throws(PostgresError) -> Turn? {
        try state.withLock { state throws(PostgresError) -> Turn? in try advance(&state, connection) }
    }

    private func advance(_ state: inout State, _ connection: PostgresConnection) throws(PostgresError) -> Turn? {
        if state.isStopped { return nil }
        if state.tenants == nil {
            if let tenant {
                state.tenants = [tenant.rawValue]
            } else {
                let first = start?.tenant.rawValue ?? ""
                state.tenants = try connection.query(AuditedUserRow.tenants).map { $0 ?? "" }
                    .filter { !$0.utf8.lexicographicallyPrecedes(first.utf8) }
            }
        }
        guard let tenant = state.tenants?.first else { return nil }
        let index = state.pagesTaken
        state.pagesTaken += 1
        if state.claimsAreDue {
            state.claimsAreDue = false
            state.after = ""
            state.tenants?.removeFirst()
            return Turn(index: index, tenant: tenant, part: .strayClaims(of: chosen), end: nil)
        }
        let (users, last) = try users(after: state.after, tenant: tenant, connection)
        let scope: AuditScope =
            switch selection {
            case .all: .range(after: state.after, through: last)
            case .changed, .users: .ids(users.map(\.id))
            }
        let end = users.last.map { AccountSnapshots.Place(tenant: TenantID(tenant), userID: $0.id) }
        state.after = last ?? ""
        if last == nil {
            if withStrayClaims { state.claimsAreDue = true } else { state.tenants?.removeFirst() }
        }
        return Turn(index: index, tenant: tenant, part: .accounts(users, scope), end: end)
    }

    /// The ids that were chosen, where they were.
    private var chosen: [String]? {
        guard case .users(let ids) = selection else { return nil }
        return ids.map(\.rawValue)
    }

    /// The next accounts, and after which id the ones after them come; `nil` when these are the last.
    private func users(
        after id: String,
        tenant: String,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> ([AuditedUserRow], last: String?) {
        let users: [AuditedUserRow]
        switch selection {
        case .all:
            users = try connection.query(AuditedUserRow.after(id, limit: Int64(pageSize), tenant: tenant))
        case .changed(let since):
            users = try connection.query(
                AuditedUserRow.changed(since: since, after: id, limit: Int64(pageSize), tenant: tenant)
            )
        case .users(let ids):
            // In the order of the database, which compares bytes.
            let left = Set(ids.map(\.rawValue)).filter { id.utf8.lexicographicallyPrecedes($0.utf8) }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let next = Array(left.prefix(pageSize))
            users = try connection.query(AuditedUserRow.withIDs(next, tenant: tenant))
            return (users, left.count > next.count ? next.last : nil)
        }
        return (users, users.count < pageSize ? nil : users.last?.id)
    }
}

/// Hands on what comes out of order, in order.
private final class InOrder<Output: Sendable>: Sendable {
    private struct State {
        var next = 0
        var early: [Int: Output] = [:]
        /// Taken nothing more: whoever takes has thrown.
        var isOver = false
    }

    private let state = Mutex(State())
    private let take: @Sendable (Output) throws -> Void

    init(_ take: @escaping @Sendable (Output) throws -> Void) {
        self.take = take
    }

    func deliver(_ index: Int, _ output: Output) throws {
        try state.withLock { state in
            if state.isOver { return }
            state.early[index] = output
            state.isOver = true
            while let output = state.early.removeValue(forKey: state.next) {
                state.next += 1
                try take(output)
            }
            state.isOver = false
        }
    }
}

extension AccountStore {
    /// Who owns each of `addresses`; those that nobody owns are left out. One round trip.
    package func owners(
        of addresses: [EmailAddress],
        tenant: TenantID
    ) async throws(PostgresError) -> [EmailAddress: UserID] {
        guard !addresses.isEmpty else { return [:] }
        let claims = try await client.read(
            AuditedClaimRow.on(addresses.map(\.canonical), kind: "email", tenant: tenant.rawValue)
        )
        let owners = Dictionary(claims.map { ($0.value, UserID($0.user)) }) { first, _ in first }
        return addresses.reduce(into: [:]) { found, address in
            found[address] = owners[address.canonical].flatMap(\.self)
        }
    }
}
