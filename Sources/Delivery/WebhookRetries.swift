/// When a webhook that was not taken is sent again.
package enum WebhookRetries {
    /// Growing pauses, in seconds: from moments to a day, nearly three days in all.
    private static let pauses: [Int64] = [5, 30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 72_000]

    /// Attempts before a message is given up.
    package static let attemptsMax = pauses.count + 1
    /// An endpoint that has failed for longer is sent nothing any more: five days.
    package static let failingSecondsMax: Int64 = 5 * 86_400

    /// The pause after the attempt of this number, counted from 1; `nil` when it was the last.
    ///
    /// `jitter`: from 0 to 1; spreads the pause by a quarter to either side, so that what failed together does not come
    /// back together.
    package static func pauseSeconds(after attempt: Int, jitter: Double) -> Int64? {
        guard pauses.indices.contains(attempt - 1) else { return nil }
        return Int64((Double(pauses[attempt - 1]) * (0.75 + 0.5 * jitter)).rounded())
    }
}
