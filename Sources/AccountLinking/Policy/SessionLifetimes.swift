/// The times by which a session is judged.
package struct SessionTimes: Sendable, Hashable {
    /// When the user signed in. A session that goes on from another without a new sign-in has the other's time, so that
    /// no change of the account makes an old session young.
    package var startedAt: Timestamp
    /// When the session last refreshed, as it was noted: up to `SessionLifetimes.usePrecisionSeconds` too early.
    package var lastUsedAt: Timestamp

    package init(startedAt: Timestamp, lastUsedAt: Timestamp) {
        self.startedAt = startedAt
        self.lastUsedAt = lastUsedAt
    }
}

/// The longest that a session may stay unused, and the oldest it may become (NIST SP 800-63B-4 §2.1.3, §2.2.3, §2.3.3).
/// Neither has a limit unless the project sets one, as in production.
package struct SessionLifetimes: Sendable, Hashable {
    /// `nil`: a session may stay unused for good.
    package var inactivitySeconds: Int64?
    /// `nil`: a session may become as old as it likes.
    package var absoluteSeconds: Int64?

    package init(inactivitySeconds: Int64? = nil, absoluteSeconds: Int64? = nil) {
        self.inactivitySeconds = inactivitySeconds
        self.absoluteSeconds = absoluteSeconds
    }

    package static let unlimited = SessionLifetimes()

    package var isLimited: Bool { inactivitySeconds != nil || absoluteSeconds != nil }

    /// The precision of `SessionTimes.lastUsedAt`: a use is written only if the one on record is older than this.
    package var usePrecisionSeconds: Int64 {
        guard let inactivitySeconds else { return Self.coarsePrecisionSeconds }
        return min(inactivitySeconds / 10, Self.coarsePrecisionSeconds)
    }

    private static let coarsePrecisionSeconds: Int64 = 86_400

    /// The rule by which a session is over at `now`; `nil` while it goes on. A session is over at the very instant.
    func ending(of session: SessionTimes, at now: Timestamp) -> Rule? {
        if let absoluteSeconds, now >= session.startedAt.adding(seconds: absoluteSeconds) { return .sessionTooOld }
        if let inactivitySeconds, now >= session.lastUsedAt.adding(seconds: inactivitySeconds) { return .sessionUnused }
        return nil
    }

    /// Returns true if the project's limits have ended the session by `now`.
    package func haveEnded(_ session: SessionTimes, at now: Timestamp) -> Bool { ending(of: session, at: now) != nil }

    /// The seconds from `now` for which a session that is used now goes on without being used again; `nil` for no limit.
    package func secondsLeft(of session: SessionTimes, usedAt now: Timestamp) -> Int64? {
        let untilTooOld = absoluteSeconds.map {
            session.startedAt.adding(seconds: $0).secondsSinceEpoch - now.secondsSinceEpoch
        }
        return [untilTooOld, inactivitySeconds].compactMap(\.self).min()
    }
}
