/// The recent mails that asked the owner of one account for a proof.
///
/// A caller who enters an address can open any number of conflicts about it, so a limit for each conflict would not
/// protect the mailbox. Each mail takes one of ten places for an hour.
package struct ProofMails: Sendable, Hashable {
    package static let countMax = 10
    /// Seconds for which a mail takes its place.
    package static let windowSeconds: Int64 = 3600

    /// Time at which each taken place becomes free. Places are numbered from 1.
    package var freeAt: [Int: Timestamp]

    package init(freeAt: [Int: Timestamp] = [:]) {
        self.freeAt = freeAt
    }

    /// The first place that is free at `now`; `nil` if all are taken.
    func freePlace(at now: Timestamp) -> Int? {
        (1...Self.countMax).first { place in freeAt[place].map { $0 <= now } ?? true }
    }

    /// Whole seconds until a place is free, at least 1.
    func secondsUntilFree(at now: Timestamp) -> Int64 {
        let next = freeAt.values.min() ?? now
        let microseconds = next.microsecondsSinceEpoch - now.microsecondsSinceEpoch
        return max(1, (microseconds + 999_999) / 1_000_000)
    }
}
