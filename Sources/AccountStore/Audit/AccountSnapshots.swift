package import AccountLinking
package import Postgres
import Synchronization

/// Reads accounts whole, many at once, as of one instant, without writing anything.
///
/// Several connections share one snapshot of the database, each on a thread of its own: while one waits for PostgreSQL another
/// works on what came. Memory is that of a few pages, however many accounts there are.
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

    /// How much is read of each.
    package enum Extent: Sendable {
        case everything
        /// What policy judges: no sessions, no codes, nothing of who owns what the account shows.
        case judged
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
    package struct Page {
        package enum Content {
            case accounts(AccountWalk)
            /// What has claims that may be nobody's: of these accounts there is what they show, and nothing else.
            case strayClaims([AccountSnapshot])
        }

        package var content: Content
        /// Where a later run can go on; `nil` for what stands outside the order.
        package var end: Place?
    }

    /// Accounts in one page, about.
    package static let pageSize = 1000

    private let readers: SnapshotReaders
    private let pageSize: Int
    /// Where what does not fit into memory goes while a run lasts.
    package let temporaryFolder: String

    /// - Parameters:
    ///   - configuration: the database.
    ///   - connections: how many pages are read and worked on at once.
    ///   - pageSize: accounts in one page, about.
    ///   - temporaryFolder: where what does not fit into memory goes while a run lasts, in files without names.
    ///   - applicationName: what the database calls the connections.
    package init(
        _ configuration: PostgresConfiguration,
        connections: Int,
        pageSize: Int = Self.pageSize,
        temporaryFolder: String,
        applicationName: String = "concord audit"
    ) {
        readers = SnapshotReaders(configuration, connections: connections, applicationName: applicationName)
        self.pageSize = pageSize
        self.temporaryFolder = temporaryFolder
    }

    /// About how many accounts there are, without counting them.
    /// - Throws: `PostgresError`.
    package func estimatedCount() async throws -> Int64 {
        try await readers.estimatedUserCount()
    }

    /// Reads the accounts of `selection`, runs `work` on each page of them, on several threads at once, and hands what came
    /// of it to `take`, one after the other in the order of the pages.
    ///
    /// Where all are read, their tables are read first, as they lie, and the accounts put together after that.
    /// - Parameters:
    ///   - selection: which accounts. Of all, each has its claims that may be nobody's with it.
    ///   - tenant: one tenant; all of them where it is `nil`.
    ///   - start: where to begin; what comes before it is left out.
    ///   - extent: how much is read of each.
    ///   - withStrayClaims: whether of some accounts the claims that may be nobody's are looked for, which reads whole
    ///     tables.
    ///   - now: what is still alive is judged by it.
    ///   - reading: told how far the tables are read, where all accounts are; throws to stop. Never beside itself.
    ///   - work: what is done with a page, beside other pages.
    ///   - take: what is done with what came of it, never twice at once.
    /// - Throws: what `reading`, `work` or `take` throws, at once; `PostgresError`, `SpillFailure`.
    package func read<Output: Sendable>(
        _ selection: Selection,
        tenant: TenantID?,
        after start: Place? = nil,
        extent: Extent = .everything,
        withStrayClaims: Bool = true,
        at now: Timestamp,
        reading: @escaping @Sendable (ScanProgress) throws -> Void = { _ in },
        work: @escaping @Sendable (Page) throws -> Output,
        take: @escaping @Sendable (Output) throws -> Void
    ) async throws {
        let order = InOrder(take)
        let tenants = Tenants(only: tenant, from: start?.tenant)
        switch selection {
        case .all:
            let scans = TableScans(tenants) { tenant, connection in
                try AuditScan(
                    tenant: tenant,
                    after: start?.tenant.rawValue == tenant ? start?.userID ?? "" : "",
                    extent: extent,
                    at: now,
                    rangeSize: pageSize,
                    readers: readers.count,
                    folder: temporaryFolder,
                    connection
                )
            }
            try await readers.run { connection, gate in
                var number = 0
                while let (scan, firstRange) = try scans.scan(number, connection) {
                    try scan.read(connection, gate, progress: reading)
                    while let range = scan.nextRange() {
                        try scan.forEachPage(ofRange: range, countMax: pageSize, connection) { accounts, end in
                            try gate.check()
                            let end = Place(tenant: TenantID(scan.tenant), userID: end)
                            let output = try work(Page(content: .accounts(accounts), end: end))
                            try order.deliver(firstRange + range, output, gate)
                        }
                        try order.finish(firstRange + range)
                    }
                    number += 1
                }
            }
        case .changed, .users:
            let walk = Walk(selection, tenants, after: start, withStrayClaims: withStrayClaims, pageSize: pageSize)
            try await readers.run { connection, gate in
                while let turn = try walk.next(connection) {
                    try gate.check()
                    let reader = PageReader(connection, tenant: turn.tenant, at: now)
                    let content: Page.Content =
                        switch turn.part {
                        case .accounts(let users): .accounts(AccountWalk(try reader.accounts(users)))
                        case .strayClaims(let ids): .strayClaims(try reader.strayClaims(of: ids, countMax: pageSize))
                        }
                    try order.deliver(turn.index, try work(Page(content: content, end: turn.end)), gate)
                    try order.finish(turn.index)
                }
            }
        }
    }
}

/// The tenants whose accounts are read, in order.
private struct Tenants: Sendable {
    let only: TenantID?
    let first: TenantID?

    init(only: TenantID?, from first: TenantID?) {
        self.only = only
        self.first = first
    }

    func all(_ connection: PostgresConnection) throws(PostgresError) -> [String] {
        if let only { return [only.rawValue] }
        let first = first?.rawValue ?? ""
        return try connection.query(AuditedUserRow.tenants).map { $0 ?? "" }
            .filter { !$0.utf8.lexicographicallyPrecedes(first.utf8) }
    }
}

/// The scans of one tenant after the other; the readers are all at the same one, or at the next.
private final class TableScans: Sendable {
    private struct State {
        var tenants: [String]?
        var scans: [Int: (AuditScan, firstRange: Int)] = [:]
    }

    private let tenants: Tenants
    private let make: @Sendable (String, PostgresConnection) throws -> AuditScan
    private let state = Mutex(State())

    init(_ tenants: Tenants, _ make: @escaping @Sendable (String, PostgresConnection) throws -> AuditScan) {
        self.tenants = tenants
        self.make = make
    }

    /// The scan of the tenant at a place, and the number of its first page; `nil` after the last.
    func scan(_ number: Int, _ connection: PostgresConnection) throws -> (AuditScan, Int)? {
        try state.withLock { state in
            if let scan = state.scans[number] { return scan }
            let all = try state.tenants ?? tenants.all(connection)
            state.tenants = all
            guard number < all.count else { return nil }
            let before = state.scans[number - 1]
            let scan = try make(all[number], connection)
            let firstRange = before.map { $0.firstRange + $0.0.rangeCount } ?? 0
            state.scans[number] = (scan, firstRange)
            state.scans[number - 2] = nil
            return (scan, firstRange)
        }
    }
}

/// What a reader of some accounts does next.
private struct Turn {
    enum Part {
        /// Accounts that were read.
        case accounts(RawRows)
        /// The claims that may be nobody's: of some, or of all.
        case strayClaims(of: [String]?)
    }

    var index: Int
    var tenant: String
    var part: Part
    var end: AccountSnapshots.Place?
}

/// The walk through some of the accounts, which the readers take turns at.
private final class Walk: Sendable {
    private struct State {
        var tenants: [String]?
        var after = ""
        var pagesTaken = 0
        var claimsAreDue = false
    }

    private let selection: AccountSnapshots.Selection
    private let tenants: Tenants
    private let withStrayClaims: Bool
    private let pageSize: Int
    private let state: Mutex<State>

    init(
        _ selection: AccountSnapshots.Selection,
        _ tenants: Tenants,
        after start: AccountSnapshots.Place?,
        withStrayClaims: Bool,
        pageSize: Int
    ) {
        self.selection = selection
        self.tenants = tenants
        self.withStrayClaims = withStrayClaims
        self.pageSize = pageSize
        state = Mutex(State(after: start?.userID ?? ""))
    }

    /// The next turn, with its accounts read through `connection`; `nil` when none is left. Others wait meanwhile.
    func next(_ connection: PostgresConnection) throws(PostgresError) -> Turn? {
        try state.withLock { state throws(PostgresError) -> Turn? in try advance(&state, connection) }
    }

    private func advance(_ state: inout State, _ connection: PostgresConnection) throws(PostgresError) -> Turn? {
        if state.tenants == nil { state.tenants = try tenants.all(connection) }
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
        let end = users.texts(ofColumn: 0).last.map { AccountSnapshots.Place(tenant: TenantID(tenant), userID: $0) }
        state.after = last ?? ""
        if last == nil {
            if withStrayClaims { state.claimsAreDue = true } else { state.tenants?.removeFirst() }
        }
        return Turn(index: index, tenant: tenant, part: .accounts(users), end: end)
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
    ) throws(PostgresError) -> (RawRows, last: String?) {
        switch selection {
        case .all: preconditionFailure("all accounts are read as they lie")
        case .changed(let since):
            let users = try connection.rawRows(
                AuditedUserRow.changed(since: since, after: id, limit: Int64(pageSize), tenant: tenant)
            )
            return (users, users.count < pageSize ? nil : users.texts(ofColumn: 0).last)
        case .users(let ids):
            // In the order of the database, which compares bytes.
            let left = Set(ids.map(\.rawValue)).filter { id.utf8.lexicographicallyPrecedes($0.utf8) }
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            let next = Array(left.prefix(pageSize))
            let users = try connection.rawRows(AuditedUserRow.withIDs(next, tenant: tenant))
            return (users, left.count > next.count ? next.last : nil)
        }
    }
}

extension AccountStore {
    /// Whether there is anything of a tenant to look at. One round trip.
    package func hasTenant(_ tenant: TenantID) async throws(PostgresError) -> Bool {
        try await client.read(AuditedUserRow.hasTenant(tenant.rawValue)).first ?? false
    }

    /// Who owns each of `addresses`; those that nobody owns are left out. One round trip.
    package func owners(
        of addresses: [EmailAddress],
        tenant: TenantID
    ) async throws(PostgresError) -> [EmailAddress: UserID] {
        guard !addresses.isEmpty else { return [:] }
        let claims = try await client.read(
            OwnedClaimRow.on(addresses.map(\.canonical), kind: "email", tenant: tenant.rawValue)
        )
        let owners = Dictionary(claims.map { ($0.value, UserID($0.user)) }) { first, _ in first }
        return addresses.reduce(into: [:]) { found, address in
            found[address] = owners[address.canonical].flatMap(\.self)
        }
    }
}
