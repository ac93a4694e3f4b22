/// A store that ends with the process: for tests, and for apps that must leave nothing behind.
public final class InMemorySessionStore: SessionStore {
    private let state = Locked<StoredState?>(nil)

    public init() {}

    public func read() throws -> StoredState? { state.with { $0 } }

    public func replace(_ expected: StoredState.Version?, with new: StoredState) throws -> Bool {
        state.with { state in
            guard state?.version == expected else { return false }
            state = new
            return true
        }
    }

    public func discard() throws { state.with { $0 = nil } }
}
