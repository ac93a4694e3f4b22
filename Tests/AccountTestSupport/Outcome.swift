package import AccountOperations

/// The ending of an operation: a result, or the "no" that it threw.
package enum Outcome<Value: Sendable>: Sendable {
    case success(Value)
    case denied(Denial)

    package var denial: Denial? {
        switch self {
        case .success: nil
        case .denied(let denial): denial
        }
    }
}

/// Catches the "no" of an operation, so that a test can look at it.
package func outcome<Value: Sendable>(
    _ operation: @autoclosure () async throws -> Value
) async throws -> Outcome<Value> {
    do {
        return .success(try await operation())
    } catch let denial as Denial {
        return .denied(denial)
    }
}
