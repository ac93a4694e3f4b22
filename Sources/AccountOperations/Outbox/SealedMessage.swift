import AccountLinking
import AccountStore
import Postgres

// Sealed content of outbox messages. The seal is bound to the message's id and tenant.

extension OutboxMessage {
    /// - `isWithheld`: the content is replaced by zeros of the same length, and the message is not sent.
    init(
        sealing plaintext: [UInt8],
        as kind: Kind,
        id: OutboxMessage.ID,
        tenant: TenantID,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        isWithheld: Bool = false,
        sealer: Sealer
    ) throws {
        let content = isWithheld ? [UInt8](repeating: 0, count: plaintext.count) : plaintext
        self.init(
            tenant: tenant,
            id: id,
            kind: kind,
            sealedPayload: try sealer.seal(content, context: Self.context(id, tenant)),
            createdAt: createdAt,
            expiresAt: expiresAt,
            isWithheld: isWithheld
        )
    }

    /// - Returns: `nil` if the content cannot be opened.
    static func plaintext(of sealed: [UInt8], id: OutboxMessage.ID, tenant: TenantID, sealer: Sealer) -> [UInt8]? {
        try? sealer.open(sealed, context: context(id, tenant))
    }

    private static func context(_ id: OutboxMessage.ID, _ tenant: TenantID) -> String {
        "outbox:\(tenant.rawValue):\(id.high):\(id.low)"
    }
}
