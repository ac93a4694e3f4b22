import AccountLinking
import AccountStore
import Postgres

// What a message of the outbox says, sealed. The seal is bound to the message's id and tenant.

extension OutboxMessage {
    /// `isWithheld`: everything is done but nothing is kept to be sent.
    init(
        sealing plaintext: [UInt8],
        as kind: Kind,
        id: PostgresUUID,
        tenant: TenantID,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        isWithheld: Bool = false,
        sealer: Sealer
    ) throws {
        let sealed = try sealer.seal(plaintext, context: Self.context(id, tenant))
        self.init(
            tenant: tenant,
            id: id,
            kind: kind,
            sealedPayload: isWithheld ? nil : sealed,
            createdAt: createdAt,
            expiresAt: expiresAt
        )
    }

    /// - Returns: `nil` for what does not open.
    static func plaintext(of sealed: [UInt8], id: PostgresUUID, tenant: TenantID, sealer: Sealer) -> [UInt8]? {
        try? sealer.open(sealed, context: context(id, tenant))
    }

    private static func context(_ id: PostgresUUID, _ tenant: TenantID) -> String {
        "outbox:\(tenant.rawValue):\(id.high):\(id.low)"
    }
}
