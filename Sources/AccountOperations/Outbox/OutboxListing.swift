package import AccountLinking
package import AccountStore
import JSON

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
    /// Messages that one statement changes.
    private static let changedMax = 1000

    private let store: AccountStore
    /// `nil`: nobody's keys are at hand, and recipients are not shown.
    private let sealer: Sealer?

    package init(_ store: AccountStore, sealer: Sealer?) {
        self.store = store
        self.sealer = sealer
    }

    /// The oldest `countMax` in a state, the oldest first.
    package func messages(_ state: OutboxMessage.State, countMax: Int) async throws -> [ListedMessage] {
        try await store.outboxEntries(state, countMax: countMax).map(listed)
    }

    /// The oldest `countMax` messages of a selection that can be discarded now, the oldest first.
    package func discardable(
        _ selection: OutboxSelection,
        at now: Timestamp,
        countMax: Int
    ) async throws -> [ListedMessage] {
        try await store.discardableMessages(selection, at: now, countMax: countMax).map(listed)
    }

    /// How many messages of a selection can be discarded now, and how many a worker has.
    package func countDiscardable(_ selection: OutboxSelection, at now: Timestamp) async throws -> DiscardableMessages {
        try await store.countDiscardable(selection, at: now) ?? .nothing
    }

    /// Withdraws the messages of a selection that no worker has, and blanks them: they are never sent.
    /// - Returns: how many.
    package func discard(_ selection: OutboxSelection, at now: Timestamp) async throws -> Int64 {
        var total: Int64 = 0
        while true {
            let count = try await store.discardMessages(selection, at: now, countMax: Self.changedMax)
            total += Int64(count)
            if count < Self.changedMax { return total }
        }
    }

    /// The messages with `ids`; `nil` where one of them is no UUID.
    package static func named(_ ids: [String]) -> [OutboxMessage.ID]? {
        let parsed = ids.compactMap { OutboxMessage.ID(text: $0.lowercased()) }
        return parsed.count == ids.count ? parsed : nil
    }

    private func listed(_ entry: OutboxEntry) -> ListedMessage {
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

    /// Has messages that were given up sent after all, with all their attempts anew: those named, or every one where `ids` is
    /// `nil`. Those that have expired are not.
    /// - Returns: how many; `nil` where one of `ids` is no UUID.
    package func retry(_ ids: [String]?, at now: Timestamp) async throws -> Int? {
        var named: [OutboxMessage.ID]?
        if let ids {
            named = Self.named(ids)
            if named == nil { return nil }
        }
        var total = 0
        while true {
            let count = try await store.retryMessages(named, at: now, countMax: Self.changedMax)
            total += count
            if count < Self.changedMax { return total }
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
