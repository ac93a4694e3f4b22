package import AccountLinking
package import AccountStore
import JSON

/// A message of the outbox for operators. It shows no content, and of the recipient only enough to recognize the kind
/// of address.
package struct ListedMessage: Sendable, Hashable {
    /// A UUID.
    package let id: String
    package let kind: OutboxMessage.Kind
    package let state: OutboxMessage.State
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let attempts: Int32
    /// Time of the next attempt, while the message is pending.
    package let nextAttemptAt: Timestamp
    /// Reason why the last attempt failed.
    package let reason: String?
    /// Masked: `a…@example.com`. `nil` if the message cannot be opened.
    package let recipient: String?
}

/// Operators' actions on the outbox. They need only the database.
package struct OutboxListing: Sendable {
    /// Limit of the messages that one statement changes.
    private static let changedMax = 1000

    private let store: AccountStore
    /// `nil` if no keys are available. Recipients are then not shown.
    private let sealer: Sealer?

    package init(_ store: AccountStore, sealer: Sealer?) {
        self.store = store
        self.sealer = sealer
    }

    /// The oldest `countMax` messages in a state, oldest first.
    package func messages(_ state: OutboxMessage.State, countMax: Int) async throws -> [ListedMessage] {
        try await store.outboxEntries(state, countMax: countMax).map(listed)
    }

    /// The message with an id; `nil` if there is none. Sent messages are deleted when they expire.
    package func message(_ id: OutboxMessage.ID) async throws -> ListedMessage? {
        try await store.outboxEntry(id).map(listed)
    }

    /// The oldest `countMax` messages of a selection that can be discarded now, oldest first.
    package func discardable(
        _ selection: OutboxSelection,
        at now: Timestamp,
        countMax: Int
    ) async throws -> [ListedMessage] {
        try await store.discardableMessages(selection, at: now, countMax: countMax).map(listed)
    }

    /// Counts the messages of a selection that can be discarded now, and those that a worker has claimed.
    package func countDiscardable(_ selection: OutboxSelection, at now: Timestamp) async throws -> DiscardableMessages {
        try await store.countDiscardable(selection, at: now) ?? .nothing
    }

    /// Discards the messages of a selection that no worker has claimed, and erases their content. They are never sent.
    /// - Returns: number of discarded messages.
    package func discard(_ selection: OutboxSelection, at now: Timestamp) async throws -> Int64 {
        var total: Int64 = 0
        while true {
            let count = try await store.discardMessages(selection, at: now, countMax: Self.changedMax)
            total += Int64(count)
            if count < Self.changedMax { return total }
        }
    }

    /// Parses the ids; `nil` if one is not a UUID.
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

    /// Retries messages that were given up, with a full set of attempts: those in `ids`, or all if `ids` is `nil`.
    /// Expired messages are not retried.
    /// - Returns: number of messages; `nil` if one of `ids` is not a UUID.
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

    /// The content of every kind of message has the recipient in the member `to`.
    private func recipient(of entry: OutboxEntry) -> String? {
        guard let sealer, let sealed = entry.sealedPayload,
            let content = OutboxMessage.plaintext(of: sealed, id: entry.id, tenant: entry.tenant, sealer: sealer)
        else { return nil }
        return (try? JSONValue(parsing: content))?["to"]?.string
    }
}

/// Shows the first character of a mailbox and its domain, or the beginning and the end of a number.
package func maskedAddress(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@") else { return "\(address.prefix(3))…\(address.suffix(2))" }
    return "\(address.prefix(1))…\(address[at...])"
}
