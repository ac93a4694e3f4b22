package import AccountLinking
package import AccountStore
import JSON
import Postgres

/// A message of the outbox as operators see it: nothing of what it says, and of its recipient no more than tells which kind of
/// address it is.
package struct ListedMessage: Sendable, Hashable {
    /// A UUID.
    package let id: String
    package let kind: OutboxMessage.Kind
    package let state: OutboxMessage.State
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let attempts: Int32
    /// While it is pending.
    package let nextAttemptAt: Timestamp
    /// Why the last attempt failed.
    package let reason: String?
    /// Masked: `a…@example.com`. `nil` where the message cannot be opened.
    package let recipient: String?
}

/// What operators do about the outbox, on the database alone.
package struct OutboxListing: Sendable {
    private static let retriedMax = 1000

    private let store: AccountStore
    /// `nil`: nobody's keys are at hand, and recipients are not shown.
    private let sealer: Sealer?

    package init(_ store: AccountStore, sealer: Sealer?) {
        self.store = store
        self.sealer = sealer
    }

    /// The oldest `countMax` in a state, the oldest first.
    package func messages(_ state: OutboxMessage.State, countMax: Int) async throws -> [ListedMessage] {
        try await store.outboxEntries(state, countMax: countMax).map { entry in
            ListedMessage(
                id: entry.id.text,
                kind: entry.kind,
                state: entry.state,
                createdAt: entry.createdAt,
                expiresAt: entry.expiresAt,
                attempts: entry.attempts,
                nextAttemptAt: entry.nextAttemptAt,
                reason: entry.reason,
                recipient: recipient(of: entry).map(maskedAddress)
            )
        }
    }

    /// Has messages that were given up sent after all, with all their attempts anew: those named, or every one where `ids` is
    /// `nil`. Those that have expired are not.
    /// - Returns: how many; `nil` where one of `ids` is no UUID.
    package func retry(_ ids: [String]?, at now: Timestamp) async throws -> Int? {
        let parsed = ids?.map { PostgresUUID(text: $0.lowercased()) }
        let named = parsed?.compactMap(\.self)
        guard named?.count == parsed?.count else { return nil }
        var total = 0
        while true {
            let count = try await store.retryMessages(named, at: now, countMax: Self.retriedMax)
            total += count
            if count < Self.retriedMax { return total }
        }
    }

    /// Whatever a message is, its content names its recipient so.
    private func recipient(of entry: OutboxEntry) -> String? {
        guard let sealer, let sealed = entry.sealedPayload,
            let content = OutboxMessage.plaintext(of: sealed, id: entry.id, tenant: entry.tenant, sealer: sealer)
        else { return nil }
        return (try? JSONValue(parsing: content))?["to"]?.string
    }
}

/// The first character of a mailbox and its domain; the beginning and the end of a number.
package func maskedAddress(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return "\(address.prefix(3))…\(address.suffix(2))" }
    return "\(address.prefix(1))…\(address[at...])"
}
