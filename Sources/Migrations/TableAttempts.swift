import Glibc
import Postgres

/// Attempts of a transaction that needs a table which others use.
///
/// A statement that waits for a table blocks all later statements on it. So each attempt waits only shortly
/// (`lock_timeout`). In the pause after it, the requests that queued behind it are served.
enum TableAttempts {
    private static let pauseMicroseconds: useconds_t = 500_000
    private static let pauseMicrosecondsMax: useconds_t = 8_000_000

    /// Runs `attempt` until it gets its tables.
    ///
    /// - `wait`: the time after which no further attempt begins.
    /// - `onWait`: called before each further attempt.
    /// - Throws: the error of the last attempt.
    static func run<Output>(
        for wait: Duration,
        attempt: () throws(PostgresError) -> Output,
        onWait: () -> Void = {}
    ) throws(PostgresError) -> Output {
        let start = ContinuousClock.now
        var pause = pauseMicroseconds
        while true {
            do throws(PostgresError) {
                return try attempt()
            } catch {
                guard error.meansTableInUse, ContinuousClock.now - start < wait else { throw error }
                onWait()
                usleep(pause)
                pause = min(2 * pause, pauseMicrosecondsMax)
            }
        }
    }
}

extension PostgresError {
    /// True if other transactions held a table for longer than `lock_timeout`, or waited for this one.
    var meansTableInUse: Bool { sqlState == .lockNotAvailable || sqlState == .deadlockDetected }
}
