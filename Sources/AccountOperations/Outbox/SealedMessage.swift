import AccountLinking
import AccountStore
import Postgres

// Sealed content of outbox messages. The seal is bound to the message's id and tenant.

/// The content of an outbox message of one kind.
protocol SealedContent {
    static var kind: OutboxMessage.Kind { get }

    var plaintext: [UInt8] { get }

    /// `nil` for bytes that `plaintext` did not make.
    init?(plaintext: [UInt8])
}

extension SealedContent {
    /// - `isWithheld`: the content is replaced by zeros of the same length, and the message is not sent.
    func message(
        id: OutboxMessage.ID,
        tenant: TenantID,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        isWithheld: Bool = false,
        sealer: Sealer
    ) throws -> OutboxMessage {
        let content = isWithheld ? [UInt8](repeating: 0, count: plaintext.count) : plaintext
        return OutboxMessage(
            tenant: tenant,
            id: id,
            kind: Self.kind,
            sealedPayload: try sealer.seal(content, context: OutboxMessage.context(id, tenant)),
            createdAt: createdAt,
            expiresAt: expiresAt,
            isWithheld: isWithheld
        )
    }

    /// - Returns: `nil` if the message does not open, or has another kind of content.
    init?(opening message: WaitingMessage, tenant: TenantID, sealer: Sealer) {
        let (sealed, id) = (message.sealedPayload, message.id)
        guard let plaintext = OutboxMessage.plaintext(of: sealed, id: id, tenant: tenant, sealer: sealer) else {
            return nil
        }
        self.init(plaintext: plaintext)
    }
}

extension OutboxMessage {
    /// - Returns: `nil` if the content cannot be opened.
    static func plaintext(of sealed: [UInt8], id: OutboxMessage.ID, tenant: TenantID, sealer: Sealer) -> [UInt8]? {
        try? sealer.open(sealed, context: context(id, tenant))
    }

    fileprivate static func context(_ id: OutboxMessage.ID, _ tenant: TenantID) -> String {
        SealingContext.message(tenant: tenant.rawValue, id: id)
    }
}
