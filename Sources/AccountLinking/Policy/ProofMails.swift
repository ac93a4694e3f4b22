/// The mails that asked the owner of one account for a proof, as far as they still count.
///
/// Whoever names an address can open conflicts over it without end, so that a bound for each conflict keeps nobody from
/// filling its owner's mailbox. Each mail takes one of ten places for an hour.
package struct ProofMails: Sendable, Hashable {
    package static let countMax = 10
    /// How long a mail keeps its place.
    package static let windowSeconds: Int64 = 3600

    /// When each place that was taken is free again; places are numbered from 1.
    package var freeAt: [Int: Timestamp]

    package init(freeAt: [Int: Timestamp] = [:]) {
        self.freeAt = freeAt
    }

    /// The first place that is free at `now`; `nil` when all are taken.
    func freePlace(at now: Timestamp) -> Int? {
        (1...Self.countMax).first { place in freeAt[place].map { $0 <= now } ?? true }
    }

    /// Whole seconds until the first place is free, at least one.
    func secondsUntilFree(at now: Timestamp) -> Int64 {
        let next = freeAt.values.min() ?? now
        let microseconds = next.microsecondsSinceEpoch - now.microsecondsSinceEpoch
        return max(1, (microseconds + 999_999) / 1_000_000)
    }
}
