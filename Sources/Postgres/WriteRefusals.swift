import Synchronization

/// Whether the server takes writes, as far as what was written last can tell.
///
/// An episode begins with a write that was refused for being one. It ends with a write that was done, once none has been
/// refused for a while: on a full disk some still find room, and of two connections one may have begun before the
/// database was made read-only.
final class WriteRefusals: Sendable {
    private struct Episode {
        var error: PostgresError
        var refusedAt: Instant
    }

    private let quiet: Duration
    private let episode = Mutex<Episode?>(nil)
    private let isEpisode = Atomic(false)

    /// `quiet`: for how long none must have been refused.
    init(quiet: Duration) {
        self.quiet = quiet
    }

    /// Whether an episode is under way; what every write can afford to ask.
    var isUnderWay: Bool { isEpisode.load(ordering: .relaxed) }

    /// Why the last write was refused, while that is news.
    func error(now: Instant) -> PostgresError? {
        guard isUnderWay else { return nil }
        return episode.withLock { $0.flatMap { now < $0.refusedAt + quiet ? $0.error : nil } }
    }

    /// Notes a refused write; whether an episode begins with it.
    func refused(_ error: PostgresError, now: Instant) -> Bool {
        episode.withLock { episode in
            defer {
                episode = Episode(error: error, refusedAt: now)
                isEpisode.store(true, ordering: .relaxed)
            }
            return episode == nil
        }
    }

    /// Notes a write that was done; whether an episode ends with it.
    ///
    /// `changedRows`: what changed nothing shows that the server can be written to, but not that its disk has room.
    func taken(changedRows: Bool, now: Instant) -> Bool {
        episode.withLock { episode in
            guard let current = episode, current.refusedAt + quiet <= now,
                changedRows || current.error.sqlState == .readOnlyTransaction
            else { return false }
            episode = nil
            isEpisode.store(false, ordering: .relaxed)
            return true
        }
    }
}
