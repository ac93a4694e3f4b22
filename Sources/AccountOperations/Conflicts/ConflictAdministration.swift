package import AccountLinking
package import AccountStore
import IdentityProviders
import JSON

/// A conflict as operators see it: no token, no handle, and of an address no more than tells it from others.
package struct ReportedConflict: Sendable, Hashable {
    /// Names the conflict to operators. Unlike a handle it opens nothing.
    package let id: String
    /// The account that the conflict concerns.
    package let user: UserID
    package let state: ConflictFacts.ShownState
    package let kind: ConflictKind
    package let provider: ProviderID
    /// The address that the provider named: `a***@e***.com`. `nil` where it named none, or the keys are not at hand.
    package let maskedEmail: String?
    /// The ways into the account when the conflict was opened.
    package let accountMethod: MethodClass
    package let openedAt: Timestamp
    package let expiresAt: Timestamp
    package let closedAt: Timestamp?
    /// Proofs that were asked for.
    package let proofsStarted: Int32
    /// The proof that was asked for last; `nil` before the first, and for a conflict that has ended.
    package let proof: ConflictProofFacts?
    package let version: Int64

    init(_ conflict: ConflictRecord, sealer: Sealer?, at now: Timestamp) {
        id = ConflictID(of: conflict).text
        user = conflict.user
        state = conflict.facts.shownState(at: now)
        kind = conflict.kind
        provider = conflict.provider
        // What was sealed with a key that is gone is no reason to show nothing of the conflict.
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

/// The name of a conflict for operators: its id and the account that it concerns, so that its row is found by its key.
struct ConflictID: Sendable {
    private static let idBytes = 16

    let user: UserID
    let conflict: [UInt8]

    init(of conflict: ConflictRecord) {
        user = conflict.user
        self.conflict = conflict.id
    }

    /// Returns `nil` for text that is not an id.
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

/// Some conflicts, and where the list goes on.
package struct ConflictPage: Sendable {
    package let conflicts: [ReportedConflict]
    /// `nil` at the end of the list.
    package let next: String?
}

/// A conflict that an administrator has turned down.
package struct DeclinedConflict: Sendable {
    package let conflict: ReportedConflict
    /// Names the decision to an operator.
    package let decision: DecisionID
}

/// What operators do about conflicts, on the database alone.
package struct ConflictAdministration: Sendable {
    /// Conflicts of one page.
    package static let countMax = 500
    package static let countByDefault = 50

    private let store: AccountStore
    /// `nil`: nobody's keys are at hand, and no address is shown.
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

    /// The conflicts of a filter, the ones opened last first. One round trip.
    ///
    /// - `cursor`: where an earlier page ended.
    /// - `count`: of conflicts at most, up to `countMax`.
    /// - Returns: `nil` where the cursor is none.
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

    /// One conflict; `nil` where there is none with that id. One round trip.
    package func conflict(_ id: String, tenant: TenantID) async throws -> ReportedConflict? {
        guard let id = ConflictID(id),
            let conflict = try await store.conflict(id.conflict, of: id.user, tenant: tenant)
        else { return nil }
        return ReportedConflict(conflict, sealer: sealer, at: effects.now())
    }

    /// The "no" of a rule, counted.
    private func refused(_ denial: Denial, by rule: Rule) -> Denial {
        metrics.decided(rule)
        return denial
    }

    /// Turns a conflict down, without a handle: nobody can use its credential any more. Row J17.
    ///
    /// If a resolution, a decline by the holder or another administrator comes first, that one counts.
    ///
    /// `expectedVersion`: the version the caller has seen; `nil` accepts any.
    /// - Throws: `Contention`, or what the database could not do.
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
    /// Microseconds from 1970 to 9999: PostgreSQL refuses instants that are further away.
    private static let times: Range<Int64> = 0..<253_402_300_800_000_000

    /// The place as text that a caller hands back.
    fileprivate var cursor: String {
        let time = UInt64(bitPattern: openedAt.microsecondsSinceEpoch)
        let bytes = (0..<Self.timeBytes).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        return Base64URL.encode(bytes + id + Array(user.rawValue.utf8))
    }

    /// Returns `nil` for text that is not a cursor.
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
    /// What administrators do about conflicts, with this server's keys.
    package var conflicts: ConflictAdministration {
        ConflictAdministration(store: store, sealer: sealer, effects: effects, metrics: metrics)
    }
}
