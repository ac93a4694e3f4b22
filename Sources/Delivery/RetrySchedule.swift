/// The pauses before a message that was not accepted is sent again.
package struct RetrySchedule: Sendable {
    /// The pauses in seconds.
    private let pauses: [Int64]

    /// Events: pauses from seconds to a day, nearly 3 days in all, because receivers may be down for as long.
    package static let webhooks = RetrySchedule(
        pauses: [5, 30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 72_000]
    )
    /// Mails and text messages: a person waits for them, so the first attempts are frequent; one day in all. A relay
    /// that accepts a mail retries it for longer.
    package static let messages = RetrySchedule(
        pauses: [5, 15, 60, 300, 900, 1800, 3600, 7200, 14_400, 28_800, 28_800]
    )

    /// Maximum number of attempts for one message.
    package var attemptsMax: Int { pauses.count + 1 }

    /// The pause after the attempt of this number, counted from 1; `nil` when it was the last.
    ///
    /// `jitter`: from 0 to 1; changes the pause by up to a quarter, so that messages that failed together are not
    /// retried together.
    package func pauseSeconds(after attempt: Int, jitter: Double) -> Int64? {
        guard pauses.indices.contains(attempt - 1) else { return nil }
        return Int64((Double(pauses[attempt - 1]) * (0.75 + 0.5 * jitter)).rounded())
    }
}
