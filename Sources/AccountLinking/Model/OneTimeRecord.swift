/// A code or challenge that is used once, until it expires, within a number of attempts.
package protocol OneTimeRecord {
    /// Number of attempts before the record is dead.
    static var attemptsMax: Int32 { get }

    var expiresAt: Timestamp { get }
    var consumedAt: Timestamp? { get }
    var attempts: Int32 { get }
}

package enum OneTimeRecordState: Sendable, Hashable {
    case usable
    /// Used or void. Callers get the same answer as for an unknown record.
    case consumed
    case expired
    /// Presented wrongly too often.
    case locked
}

extension OneTimeRecord {
    package func state(at now: Timestamp) -> OneTimeRecordState {
        if consumedAt != nil { return .consumed }
        if now >= expiresAt { return .expired }
        return attempts < Self.attemptsMax ? .usable : .locked
    }
}
