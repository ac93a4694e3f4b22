import Synchronization

/// What several threads share, made by the one that comes first; the others wait meanwhile.
final class Shared<Value: Sendable>: Sendable {
    private let made = Mutex<Value?>(nil)

    func value(_ make: () throws -> Value) throws -> Value {
        try made.withLock { made in
            if let made { return made }
            let value = try make()
            made = value
            return value
        }
    }
}
