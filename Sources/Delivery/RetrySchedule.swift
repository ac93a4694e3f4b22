/// When what was not taken is sent again: after growing pauses, and in the end no more.
package struct RetrySchedule: Sendable {
    /// In seconds.
    private let pauses: [Int64]

    /// Events: from moments to a day, nearly three days in all. Receivers are away for as long.
    package static let webhooks = RetrySchedule(
        pauses: [5, 30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 72_000]
    )
    /// Mails and text messages: a person waits for them, so the first attempts are frequent; one day in all. A relay
    /// that accepts a mail retries it for longer.
    package static let messages = RetrySchedule(
        pauses: [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 28_800]
    )

    /// Attempts before a message is given up.
    package var attemptsMax: Int { pauses.count + 1 }

    /// The pause after the attempt of this number, counted from 1; `nil` when it was the last.
    ///
    /// `jitter`: from 0 to 1; spreads the pause by a quarter to either side, so that what failed together does not come
    /// back together.
    package func pauseSeconds(after attempt: Int, jitter: Double) -> Int64? {
        guard pauses.indices.contains(attempt - 1) else { return nil }
        return Int64((Double(pauses[attempt - 1]) * (0.75 + 0.5 * jitter)).rounded())
    }
}
