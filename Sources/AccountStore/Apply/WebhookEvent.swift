package import AccountLinking
import JSON
import Postgres

/// One webhook event, written in the transaction of the change that it announces.
///
/// Events about methods are derived from the changes of an `AccountWrite`. Events about conflicts come with the
/// statements that change them. So no operation can omit one.
package struct WebhookEvent: Sendable, Hashable {
    /// Type of the event on the wire. Never rename one: stored rows contain it.
    package enum Kind: String, Sendable, CaseIterable {
        case conflictOpened = "conflict.opened"
        case conflictProven = "conflict.proven"
        case conflictResolved = "conflict.resolved"
        case conflictDeclined = "conflict.declined"
        case methodLinked = "method.linked"
        case methodUnlinked = "method.unlinked"
        case methodQuarantined = "method.quarantined"
        case methodRestored = "method.restored"
        /// All changes of sign-in methods in one event: the owner was mailed, a password was replaced, or a mailed code
        /// undid changes.
        case methodsChanged = "methods.changed"
        /// The receiver may veto the merge.
        case mergePrepared = "merge.prepared"
        case mergeCommitted = "merge.committed"
        case mergeAborted = "merge.aborted"
        case mergeUndone = "merge.undone"
        case sessionEnded = "session.ended"
        case sessionsRevoked = "session.revoked"
        // Add new kinds here.
    }

    package let kind: Kind
    package let conflict: [UInt8]?
    /// The method that was linked or unlinked, or that the conflict is about; `nil` for events about the account alone.
    package let method: SignInMethod?
    /// Members of a `methodsChanged` event: a JSON object.
    let changes: JSONValue?

    private init(_ kind: Kind, conflict: [UInt8]? = nil, method: SignInMethod? = nil, changes: JSONValue? = nil) {
        self.kind = kind
        self.conflict = conflict
        self.method = method
        self.changes = changes
    }

    static func about(_ conflict: ConflictRecord, _ kind: Kind) -> WebhookEvent {
        WebhookEvent(kind, conflict: conflict.id, method: .provider(conflict.provider))
    }

    static func about(_ method: SignInMethod, _ kind: Kind) -> WebhookEvent {
        WebhookEvent(kind, method: method)
    }

    static func about(_ changes: MethodChanges, isMailed: Bool) -> WebhookEvent {
        func names(_ methods: [SignInMethod]) -> JSONValue { .array(methods.map { .string($0.name) }) }
        let members: JSONValue = .object([
            "added": names(changes.added), "removed": names(changes.removed),
            "replaced": names(changes.replacesPassword ? [.password] : []), "ownerMailed": .bool(isMailed),
        ])
        return WebhookEvent(.methodsChanged, changes: members)
    }

    static func ofAccount(_ kind: Kind) -> WebhookEvent {
        WebhookEvent(kind)
    }
}

extension AccountWrite {
    /// The write's events, in the order in which they are sent. The first methods of a new account are not announced.
    /// `WebhookMessageRow.insert` finds out if a linked provider had been suspended.
    var announcements: [WebhookEvent] {
        var announced = sideWrites.flatMap(\.announcements)
        if event.kind == .sessionsRevoked { announced.append(.ofAccount(.sessionsRevoked)) }
        guard let previous else { return announced }
        let (before, after) = (previous.methodOwners, user.methodOwners)
        func changed(_ from: [SignInMethod: String], _ to: [SignInMethod: String]) -> [SignInMethod] {
            from.filter { $0.value != to[$0.key] }.keys.sorted { $0.name < $1.name }
        }
        let suspended = quarantinedMethods
        return changed(before, after).map {
            .about($0, suspended.contains($0) ? .methodQuarantined : .methodUnlinked)
        }
            + changed(after, before).map { .about($0, event.kind == .methodRestored ? .methodRestored : .methodLinked) }
            + announced
    }
}

extension AccountEvent.Kind {
    /// The webhook event for a change of a conflict that is recorded as this kind.
    var announcement: WebhookEvent.Kind? {
        switch self {
        case .conflictOpened: .conflictOpened
        case .conflictProven: .conflictProven
        case .conflictDeclined: .conflictDeclined
        case .conflictResolved: .conflictResolved
        case .userCreated, .userImported, .signedIn, .methodLinked, .accountTakenOver, .conflictProofRequested,
            .conflictProofFailed,
            .refused, .userUpdated, .secondFactorsChanged, .methodRestored, .quarantineDiscarded,
            .sessionHandedOver, .sessionEnded,
            .sessionsRevoked, .userDeleted, .mergePrepared, .mergeAborted, .accountsMerged, .mergedAway, .mergeUndone,
            .accountRepaired,
            .repairUndone:
            nil
        }
    }
}

extension UserRecord {
    /// The sign-in methods, each with its owner at the provider. Another subject or number is another method.
    fileprivate var methodOwners: [SignInMethod: String] {
        var owners: [SignInMethod: String] = [:]
        for method in account.signInMethods {
            switch method {
            case .provider(let provider): owners[method] = linkedProviders[provider]?.identity.subject
            case .phone: owners[method] = phoneNumber?.rawValue
            case .password, .emailLink: owners[method] = ""
            }
        }
        return owners
    }
}

extension AccountStore {
    /// Adds the webhook events of a decision to its batch. Adds none if there are no endpoints.
    func announce(
        _ announcements: @autoclosure () -> [WebhookEvent],
        as event: AccountEvent,
        of user: UserID,
        tenant: TenantID,
        in batch: inout WriteBatch
    ) {
        guard hasWebhooks else { return }
        for (index, announcement) in announcements().enumerated() {
            // Ids are random, so the ids that follow an event's are free.
            let id = PostgresUUID(high: event.id.high, low: event.id.low ^ UInt64(index))
            batch.append(
                WebhookMessageRow.insert(
                    announcement,
                    id: id,
                    rule: event.rule,
                    of: user,
                    tenant: tenant,
                    at: event.occurredAt
                )
            )
        }
    }
}
