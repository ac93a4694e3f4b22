package import AccountLinking
package import JSON
package import Postgres

/// One applied decision, written in the transaction that applied it. Holds no credential, address or number.
package struct AccountEvent: Sendable {
    /// What happened, in the past tense; a closed set.
    package enum Kind: String, Sendable, CaseIterable {
        case userCreated = "user-created"
        case signedIn = "signed-in"
        case methodLinked = "method-linked"
        case accountTakenOver = "account-taken-over"
        case conflictOpened = "conflict-opened"
        case conflictProofRequested = "conflict-proof-requested"
        case conflictProofFailed = "conflict-proof-failed"
        case conflictProven = "conflict-proven"
        case conflictResolved = "conflict-resolved"
        case conflictDeclined = "conflict-declined"
        case userUpdated = "user-updated"
        case sessionsRevoked = "sessions-revoked"
        case userDeleted = "user-deleted"
    }

    package typealias ID = PostgresUUID

    /// Made before the transaction, so that a commit whose answer was lost can be looked up.
    package var id: ID
    package var occurredAt: Timestamp
    package var kind: Kind
    package var rule: Rule
    package var details: JSONValue?

    package init(id: ID, occurredAt: Timestamp, kind: Kind, rule: Rule, details: JSONValue? = nil) {
        self.id = id
        self.occurredAt = occurredAt
        self.kind = kind
        self.rule = rule
        self.details = details
    }
}

struct AccountEventRow: RowDecodable {
    let id: PostgresUUID

    init(row: inout RowDecoder) throws(PostgresError) {
        id = try row.next(PostgresUUID.self)
    }

    static func insert(_ event: AccountEvent, of user: UserID, tenant: TenantID) -> SQL {
        """
        INSERT INTO account_events (tenant_id, user_id, event_id, occurred_at, kind, rule, details)
        VALUES (\(tenant.rawValue), \(user.rawValue), \(event.id), \(event.occurredAt.stored), \(event.kind.rawValue),
            \(event.rule.rawValue), \(event.details.map { JSONText($0.text) }))
        """
    }

    static func withID(_ id: PostgresUUID, of user: UserID, tenant: TenantID) -> Query<AccountEventRow> {
        Query(
            """
            SELECT event_id FROM account_events
            WHERE tenant_id = \(tenant.rawValue) AND user_id = \(user.rawValue) AND event_id = \(id)
            """
        )
    }
}
