import Foundation

/// A value that one thread at a time may touch. `Synchronization.Mutex` needs newer systems than this package.
///
/// `with` runs its body under the lock. The body must not await, call out to an app, or lock the same value again.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    func with<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
