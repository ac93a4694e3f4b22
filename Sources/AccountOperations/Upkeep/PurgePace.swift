/// The number of rows in the next batch of one kind, and the rest after the last.
///
/// A batch should take about a tenth of a second: long enough to be worth its commit, and short enough that a request
/// that waits for one of its rows does not notice. The size follows the time that the last batch took, so a purge of a
/// fast database or of small rows is faster by itself.
package struct PurgePace: Sendable, Hashable {
    package static let target = Duration.milliseconds(100)
    /// Rows in the first batch, unless `rowsMax` is less.
    package static let rowsAtFirst = 1000
    /// Rows in a batch of a database that is slow.
    package static let rowsMin = 100

    package private(set) var rows: Int
    private let rowsMax: Int

    package init(rowsMax: Int) {
        self.rowsMax = rowsMax
        rows = min(Self.rowsAtFirst, rowsMax)
    }

    /// Takes notice of a full batch that took `time`.
    /// - Returns: the rest before the next batch. It is a quarter of the time if the batch kept the target. Otherwise the
    ///   database is busy, and the rest is as long as the batch.
    package mutating func rest(after time: Duration) -> Duration {
        if time < Self.target / 2 {
            rows = min(rows * 2, rowsMax)
        } else if time > Self.target * 2 {
            halve()
        }
        return time <= Self.target ? time / 4 : time
    }

    /// Takes notice of a batch that failed: perhaps it took too long.
    package mutating func failed() { halve() }

    private mutating func halve() { rows = min(max(rows / 2, Self.rowsMin), rowsMax) }
}
