package import AccountLinking
package import AccountStore
import JSON

/// A duty that one server at a time has for all servers, such as the purge.
///
/// The server that has it renews it in the database. If it dies, another server takes the duty over once it has run
/// out. For a moment two servers can have a duty, if one of them stood still: the work must stay correct then.
package struct Duty: Sendable {
    private let name: String
    private let holder: String
    private let seconds: Int64
    private let store: AccountStore
    private var heldUntil: Timestamp?

    /// - `seconds`: time from a renewal until another server may take the duty over.
    package init(_ name: String, store: AccountStore, effects: Effects, seconds: Int64) {
        self.name = name
        self.store = store
        self.seconds = seconds
        holder = Hexadecimal.encode(effects.randomBytes(16))
    }

    /// Takes or renews the duty. Asks the database only if less than half of the time is left.
    /// - `now`: the database's time.
    /// - Returns: `false` if another server has the duty.
    package mutating func hold(at now: Timestamp) async throws -> Bool {
        if let heldUntil, heldUntil.seconds(since: now) > seconds / 2 { return true }
        heldUntil = nil
        let end = now.adding(seconds: seconds)
        guard try await store.claimDuty(name, for: holder, until: end, at: now) else { return false }
        heldUntil = end
        return true
    }

    /// Gives the duty back, so that another server takes it at once.
    package mutating func release() async throws {
        guard heldUntil != nil else { return }
        heldUntil = nil
        try await store.releaseDuty(name, of: holder)
    }
}
