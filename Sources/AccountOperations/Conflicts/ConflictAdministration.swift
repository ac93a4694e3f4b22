package import AccountLinking
package import AccountStore
import IdentityProviders
import JSON

/// A conflict as operators see it, with a masked address, without tokens and handles.
package struct ReportedConflict: Sendable, Hashable {
    /// The operators' id of the conflict. Unlike a handle it authorizes nothing.
    package let id: String
    /// The account that the conflict is about.
    package let user: UserID
    package let state: ConflictFacts.ShownState
    package let kind: ConflictKind
    package let provider: ProviderID
    /// Address from the provider, as `a***@e***.com`. `nil` if it named none, or the keys are unavailable.
    package let maskedEmail: String?
    /// The account's sign-in methods when the conflict was opened.
    package let accountMethod: MethodClass
    package let openedAt: Timestamp
    package let expiresAt: Timestamp
    package let closedAt: Timestamp?
    /// Number of proofs that were requested.
    package let proofsStarted: Int32
    /// The latest proof; `nil` before the first, and after the conflict has ended.
    package let proof: ConflictProofFacts?
    package let version: Int64

    init(_ conflict: ConflictRecord, sealer: Sealer?, at now: Timestamp) {
        id = ConflictID(of: conflict).text
        user = conflict.user
        state = conflict.facts.shownState(at: now)
        kind = conflict.kind
        provider = conflict.provider
        // If the sealing key is gone, show the rest of the conflict.
        maskedEmail =
            sealer
            .flatMap { try? PendingCredential(opening: conflict, sealer: $0) }?
            .credential.incoming.email.address?.masked
        accountMethod = conflict.accountMethod
        openedAt = conflict.openedAt
        expiresAt = conflict.expiresAt
        closedAt = conflict.closedAt
        proofsStarted = conflict.proofsStarted
        let isLive = conflict.state.isLive && now < conflict.expiresAt
        proof = isLive ? conflict.proof?.facts : nil
        version = conflict.version
    }
}

/// The operators' id of a conflict. Contains the account, so that the row is found by its key.
struct ConflictID: Sendable {
    private static let idBytes = 16

    let user: UserID
    let conflict: [UInt8]

    init(of conflict: ConflictRecord) {
        user = conflict.user
        self.conflict = conflict.id
    }

    /// `nil` for text that is not an id.
    init?(_ text: String) {
        guard let bytes = Base64URL.decode(text) else { return nil }
        self.init(bytes: bytes[...])
    }

    fileprivate init?(bytes: ArraySlice<UInt8>) {
        guard bytes.count > Self.idBytes,
            let user = String(validating: bytes.dropFirst(Self.idBytes), as: UTF8.self).flatMap(UserID.init)
        else { return nil }
        self.user = user
        conflict = Array(bytes.prefix(Self.idBytes))
    }

    var text: String { Base64URL.encode(conflict + Array(user.rawValue.utf8)) }
}

/// A page of a list of conflicts.
package struct ConflictPage: Sendable {
    package let conflicts: [ReportedConflict]
    /// `nil` at the end of the list.
    package let next: String?
}

/// A conflict that an administrator has declined.
package struct DeclinedConflict: Sendable {
    package let conflict: ReportedConflict
    /// The operators' id of the decision.
    package let decision: DecisionID
}

/// Operations on conflicts for operators. They need the database only.
package struct ConflictAdministration: Sendable {
    /// Maximum number of conflicts in a page.
    package static let countMax = 500
    package static let countByDefault = 50

    private let store: AccountStore
    /// `nil` if no keys are available; then no address is shown.
    private let sealer: Sealer?
    private let effects: Effects
    private let metrics: OperationMetrics

    package init(
        store: AccountStore,
        sealer: Sealer?,
        effects: Effects,
        metrics: OperationMetrics = OperationMetrics()
    ) {
        self.store = store
        self.sealer = sealer
        self.effects = effects
        self.metrics = metrics
    }

    /// The conflicts of a filter, newest first. One round trip.
    ///
    /// - `cursor`: the end of an earlier page.
    /// - `count`: maximum number of conflicts, up to `countMax`.
    /// - Returns: `nil` if the cursor is invalid.
    package func conflicts(
        _ filter: ConflictFilter,
        after cursor: String?,
        count: Int,
        tenant: TenantID
    ) async throws -> ConflictPage? {
        var place: ConflictCursor?
        if let cursor {
            place = ConflictCursor(cursor: cursor)
            if place == nil { return nil }
        }
        let now = effects.now()
        let found = try await store.conflicts(filter, after: place, tenant: tenant, at: now, countMax: count + 1)
        let shown = found.prefix(count)
        return ConflictPage(
            conflicts: shown.map { ReportedConflict($0, sealer: sealer, at: now) },
            next: found.count > count ? shown.last.map { ConflictCursor(of: $0).cursor } : nil
        )
    }

    /// The conflict with an id; `nil` if there is none. One round trip.
    package func conflict(_ id: String, tenant: TenantID) async throws -> ReportedConflict? {
        guard let id = ConflictID(id),
            let conflict = try await store.conflict(id.conflict, of: id.user, tenant: tenant)
        else { return nil }
        return ReportedConflict(conflict, sealer: sealer, at: effects.now())
    }

    /// Counts a rule's refusal, and returns it.
    private func refused(_ denial: Denial, by rule: Rule) -> Denial {
        metrics.decided(rule)
        return denial
    }

    /// Declines a conflict without a handle (rule J17). Its credential can no longer be used.
    ///
    /// If a resolution, the holder or another administrator closes the conflict first, that wins.
    ///
    /// - `expectedVersion`: the version that the caller has read; `nil` accepts any.
    /// - Throws: `Contention`, or the database's error.
    package func decline(
        _ id: String,
        expectedVersion: Int64?,
        tenant: TenantID
    ) async throws -> DeclinedConflict {
        guard let id = ConflictID(id) else { throw Denial.conflict(.unknown) }
        let (now, event) = (effects.now(), effects.newEventID())
        return try await retrying(effects) {
            let conflict = try await store.conflict(id.conflict, of: id.user, tenant: tenant)
            if let conflict, let expectedVersion, conflict.version != expectedVersion {
                throw Denial.versionMismatch
            }
            let verdict = decideDeclineConflict(
                conflict: conflict?.facts,
                handleTenant: tenant,
                by: .administrator,
                now: now
            )
            if let refusal = verdict.decision { throw refused(.conflict(refusal), by: verdict.rule) }
            guard let conflict else { throw Denial.conflict(.unknown) }
            let declined = conflict.closed(as: .declined, at: now)
            try await store.change(
                declined,
                at: now,
                event: AccountEvent(id: event, occurredAt: now, kind: .conflictDeclined, rule: verdict.rule)
            ).requireApplied()
            return DeclinedConflict(
                conflict: ReportedConflict(declined.raised, sealer: sealer, at: now),
                decision: DecisionID(event)
            )
        }
    }
}

extension ConflictCursor {
    private static let timeBytes = 8
    /// Microseconds from 1970 to 9999. PostgreSQL refuses instants outside.
    private static let times: Range<Int64> = 0..<253_402_300_800_000_000

    /// The place as text that a caller returns.
    fileprivate var cursor: String {
        let time = UInt64(bitPattern: openedAt.microsecondsSinceEpoch)
        let bytes = (0..<Self.timeBytes).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        return Base64URL.encode(bytes + id + Array(user.rawValue.utf8))
    }

    /// `nil` for text that is not a cursor.
    fileprivate init?(cursor: String) {
        guard let bytes = Base64URL.decode(cursor), let id = ConflictID(bytes: bytes.dropFirst(Self.timeBytes)) else {
            return nil
        }
        let time = Int64(bitPattern: bytes.prefix(Self.timeBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        guard Self.times.contains(time) else { return nil }
        self.init(
            openedAt: Timestamp(microsecondsSinceEpoch: time),
            user: id.user,
            id: id.conflict
        )
    }
}

extension AccountOperations {
    /// Operations on conflicts for administrators, with this server's keys.
    package var conflicts: ConflictAdministration {
        ConflictAdministration(store: store, sealer: sealer, effects: effects, metrics: metrics)
    }
}
