/// The ticks on which answers leave that must not reveal by their time whether an address has an account (ADR 0126).
///
/// Equal reads and writes still differ by some 30 µs: a row that exists is copied, one that does not is not. So the
/// server holds such an answer until the next tick after its request began. An answer that takes longer than one tick,
/// on a busy machine, leaves on a later one: there too a difference of 30 µs moves 3 of 1,000 answers.
///
/// A held answer costs a timer. It holds no connection to the database, no lock and no transaction.
package struct AnswerTick: Sendable {
    /// Returns on the next tick after the given beginning of a request, or at once if the client has left.
    let wait: @Sendable (ContinuousClock.Instant) async -> Void

    package static let standard = AnswerTick { beginning in
        let departure = departure(after: beginning.duration(to: .now))
        try? await Task.sleep(until: beginning + departure, clock: .continuous)
    }

    static let length: Duration = .milliseconds(10)

    /// The time from the beginning of a request to the tick on which its answer leaves.
    ///
    /// - `elapsed`: the time that the answer took, at least 0.
    static func departure(after elapsed: Duration) -> Duration {
        length * (Int(elapsed / length) + 1)
    }
}
