import AccountStore

/// Another request changed a fact that a decision used. `retrying` catches it, loads and decides again.
struct FactsMoved: Error, Sendable {}

/// The facts changed in every attempt: another client changes the same account as fast.
package struct Contention: Error, Sendable {}

/// Number of attempts before the caller must repeat the request. In each round one of the colliding writers succeeds,
/// so 64 writers can queue. The waits add up to at most 4 seconds.
private let attemptsMax = 64

/// Runs `attempt` until it does not throw `FactsMoved`.
///
/// Make everything that must not differ between attempts before: ids, secrets, the time.
/// - Throws: `Contention` after too many attempts, or the error of `attempt`.
func retrying<Output: Sendable>(
    _ effects: Effects,
    _ attempt: () async throws -> Output
) async throws -> Output {
    for number in 1...attemptsMax {
        do {
            return try await attempt()
        } catch is FactsMoved {
            // Two writers that collided once should not collide again in step.
            let millisecondsMax = UInt64(1 << min(number, 7))
            let bytes = effects.randomBytes(2)
            let jitter = (UInt64(bytes[0]) << 8 | UInt64(bytes[1])) % (millisecondsMax * 1000)
            try await Task.sleep(for: .microseconds(jitter))
        }
    }
    throw Contention()
}

extension AccountStore.Applied {
    /// - Throws: `FactsMoved` unless the write took effect.
    func requireApplied() throws(FactsMoved) {
        guard self == .applied else { throw FactsMoved() }
    }
}
