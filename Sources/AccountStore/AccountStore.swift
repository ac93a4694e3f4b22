package import Postgres
import Synchronization

/// The only way to account data: loads facts, applies decisions. Holds no state of its own but the times written behind,
/// and users that it need not read again while the database says that they are the same.
///
/// Loading goes in two steps, claims by their keys and then users by their ids, every statement with its shard key;
/// applying is one pipelined transaction guarded by primary keys and versions (docs/internals/adr/0003-version-guards.md).
package struct AccountStore: Sendable {
    let client: PostgresClient
    /// Sign-in and refresh times on their way to the database.
    package let activity: ActivityBuffer
    let userCache = UserCache()

    let observer: (any AccountStoreObserver)?
    let webhooks = WebhookSwitch()

    package init(client: PostgresClient, observer: (any AccountStoreObserver)? = nil) {
        self.client = client
        self.activity = ActivityBuffer()
        self.observer = observer
    }
}

/// Whether anybody is to be told of events, as this server knows.
final class WebhookSwitch: Sendable {
    let isOn = Atomic(false)
}

/// Learns of every decision that took effect. Called by whoever waited for it: return at once.
package protocol AccountStoreObserver: Sendable {
    func applied(_ event: AccountEvent)
}
