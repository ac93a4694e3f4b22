/// The times that determine whether a session has expired.
package struct SessionTimes: Sendable, Hashable {
    /// Time of the sign-in. A session that continues another without a new sign-in has the other's time, so no change
    /// of the account makes an old session young.
    package var startedAt: Timestamp
    /// Time of the last refresh, as stored: up to `SessionLifetimes.usePrecisionSeconds` too early.
    package var lastUsedAt: Timestamp

    package init(startedAt: Timestamp, lastUsedAt: Timestamp) {
        self.startedAt = startedAt
        self.lastUsedAt = lastUsedAt
    }
}

/// Limits on the inactivity and the age of a session (NIST SP 800-63B-4 §2.1.3, §2.2.3, §2.3.3). There is none unless
/// the project sets it; a new project sets one.
package struct SessionLifetimes: Sendable, Hashable {
    /// `nil`: no limit on inactivity.
    package var inactivitySeconds: Int64?
    /// `nil`: no limit on age.
    package var absoluteSeconds: Int64?

    package init(inactivitySeconds: Int64? = nil, absoluteSeconds: Int64? = nil) {
        self.inactivitySeconds = inactivitySeconds
        self.absoluteSeconds = absoluteSeconds
    }

    package static let unlimited = SessionLifetimes()

    package var isLimited: Bool { inactivitySeconds != nil || absoluteSeconds != nil }

    /// The precision of `SessionTimes.lastUsedAt`: a use is stored only if the stored one is older than this.
    package var usePrecisionSeconds: Int64 {
        guard let inactivitySeconds else { return Self.coarsePrecisionSeconds }
        return min(inactivitySeconds / 10, Self.coarsePrecisionSeconds)
    }

    /// Seconds after its last use in which every session ends; `nil` without a limit. A session is not used after it has
    /// ended, so a limit on its age also limits the time since its last use.
    package var sweepSeconds: Int64? { [inactivitySeconds, absoluteSeconds].compactMap(\.self).min() }

    /// Returns true if unused sessions end sooner than under `other`.
    package func limitsInactivityMore(than other: SessionLifetimes) -> Bool {
        guard let inactivitySeconds else { return false }
        return other.inactivitySeconds.map { inactivitySeconds < $0 } ?? true
    }

    private static let coarsePrecisionSeconds: Int64 = 86_400

    /// The rule by which the session has expired at `now`; `nil` while it has not. A limit of n seconds expires after
    /// exactly n seconds.
    func ending(of session: SessionTimes, at now: Timestamp) -> Rule? {
        if let absoluteSeconds, now >= session.startedAt.adding(seconds: absoluteSeconds) { return .sessionTooOld }
        if let inactivitySeconds, now >= session.lastUsedAt.adding(seconds: inactivitySeconds) { return .sessionUnused }
        return nil
    }

    /// Returns true if the project's limits have ended the session by `now`.
    package func haveEnded(_ session: SessionTimes, at now: Timestamp) -> Bool { ending(of: session, at: now) != nil }

    /// Seconds from `now` until a session that is used now expires if it is not used again; `nil` without a limit.
    package func secondsLeft(of session: SessionTimes, usedAt now: Timestamp) -> Int64? {
        let untilTooOld = absoluteSeconds.map {
            session.startedAt.adding(seconds: $0).secondsSinceEpoch - now.secondsSinceEpoch
        }
        return [untilTooOld, inactivitySeconds].compactMap(\.self).min()
    }
}
