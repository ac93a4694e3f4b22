package import Postgres
import Synchronization

/// The only access to account data: loads facts and applies decisions. In memory it has only times to be written later,
/// and cached users that the database confirms before use.
///
/// Loading takes two steps: claims by their keys, then users by their ids. Every statement has its shard key. Applying
/// is one pipelined transaction, guarded by primary keys and versions (docs/internals/adr/0003-version-guards.md).
package struct AccountStore: Sendable {
    let client: PostgresClient
    /// Answers reads that may be old; `nil` if there is none.
    package let replica: Replica?
    /// Sign-in and refresh times to be written to the database.
    package let activity: ActivityBuffer
    let userCache = UserCache()

    let observer: (any AccountStoreObserver)?
    let webhooks = WebhookSwitch()

    package init(
        client: PostgresClient,
        observer: (any AccountStoreObserver)? = nil,
        replica: Replica? = nil
    ) {
        self.client = client
        self.replica = replica
        self.activity = ActivityBuffer()
        self.observer = observer
    }
}

/// The server's cached knowledge whether webhook endpoints exist.
final class WebhookSwitch: Sendable {
    let isOn = Atomic(false)
}

/// Observes every decision that took effect. The waiting caller runs it, so it must return at once.
package protocol AccountStoreObserver: Sendable {
    func applied(_ event: AccountEvent)
}
