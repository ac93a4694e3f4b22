import AccountStore

/// Another request changed a fact that a decision was taken on. `retrying` catches it: load and decide again.
struct FactsMoved: Error, Sendable {}

/// Facts kept moving while a decision was taken, again and again: another client changes the same account as fast.
package struct Contention: Error, Sendable {}

/// Number of attempts before the caller has to come back. In each round one of the writers that meet is applied, so this
/// many can stand in line; the waits add up to four seconds.
private let attemptsMax = 64

/// Runs `attempt` until it does not throw `FactsMoved`.
///
/// Everything that must not differ between attempts, such as ids, secrets and the time, is made before.
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
