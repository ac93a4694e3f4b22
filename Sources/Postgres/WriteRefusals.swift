import Synchronization

/// Detects a server that refuses all writes, by the results of writes.
///
/// An episode begins with a refused write. It ends with an accepted write, if none has been refused for a while: on a
/// full disk some writes still find room, and of two connections one may predate the database's switch to read-only.
final class WriteRefusals: Sendable {
    private struct Episode {
        var error: PostgresError
        var refusedAt: Instant
    }

    private let quiet: Duration
    private let episode = Mutex<Episode?>(nil)
    private let isEpisode = Atomic(false)

    /// - Parameter quiet: the time without refused writes that ends an episode.
    init(quiet: Duration) {
        self.quiet = quiet
    }

    /// `true` during an episode. Cheap enough for every write.
    var isUnderWay: Bool { isEpisode.load(ordering: .relaxed) }

    /// Returns the reason of the last refusal, while it is recent.
    func error(now: Instant) -> PostgresError? {
        guard isUnderWay else { return nil }
        return episode.withLock { $0.flatMap { now < $0.refusedAt + quiet ? $0.error : nil } }
    }

    /// Records a refused write. Returns `true` if an episode begins.
    func refused(_ error: PostgresError, now: Instant) -> Bool {
        episode.withLock { episode in
            defer {
                episode = Episode(error: error, refusedAt: now)
                isEpisode.store(true, ordering: .relaxed)
            }
            return episode == nil
        }
    }

    /// Records an accepted write. Returns `true` if an episode ends.
    ///
    /// `changedRows`: `false` if the write changed nothing. It then shows that the server is writable, but not that its
    /// disk has room.
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
