/// How often a password may be guessed (NIST SP 800-63B-4 §3.2.2): a few times freely, then with growing waits, and at
/// most a hundred times in a row.
///
/// The rule counts wrong passwords since the last right one, for one address. It knows no account, so that an address
/// nobody has is guarded like any other.
package enum PasswordAttempts {
    /// Where an address stands after a wrong password.
    package struct Standing: Sendable, Hashable {
        /// No password is tried before then. Not later than `forgottenAt`.
        package var lockedUntil: Timestamp
        /// Without another wrong password, counting begins anew then.
        package var forgottenAt: Timestamp
    }

    /// Wrong passwords that cost no wait: more than a person mistypes.
    package static let freeMax = 9
    /// Wrong passwords in a row after which none is tried any more, until the password is set anew or the address has
    /// been left alone for `longMemorySeconds`.
    package static let failuresMax = 100

    package static let waitSecondsMin: Int64 = 60
    package static let waitSecondsMax: Int64 = 3600
    /// How long free guesses are remembered.
    package static let shortMemorySeconds: Int64 = 86_400
    /// How long more than that is remembered.
    package static let longMemorySeconds: Int64 = 30 * 86_400

    /// Where an address stands after its `failures`th wrong password in a row, at `now`. Total: below one counts as
    /// one, above `failuresMax` as `failuresMax`.
    package static func standing(afterFailures failures: Int, at now: Timestamp) -> Standing {
        guard failures > freeMax else {
            return Standing(lockedUntil: now, forgottenAt: now.adding(seconds: shortMemorySeconds))
        }
        let forgottenAt = now.adding(seconds: longMemorySeconds)
        guard failures < failuresMax else { return Standing(lockedUntil: forgottenAt, forgottenAt: forgottenAt) }
        return Standing(
            lockedUntil: now.adding(seconds: waitSeconds(afterFailures: failures)),
            forgottenAt: forgottenAt
        )
    }

    /// One minute, then twice as long each time, up to an hour.
    private static func waitSeconds(afterFailures failures: Int) -> Int64 {
        let doublings = failures - freeMax - 1
        // The longest wait is reached long before the shift could overflow.
        guard doublings < 16 else { return waitSecondsMax }
        return min(waitSecondsMin << Int64(doublings), waitSecondsMax)
    }
}
