package import AccountOperations

/// The end of an operation: a result, or the denial that it threw.
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

/// Catches the denial of an operation.
package func outcome<Value: Sendable>(
    _ operation: @autoclosure () async throws -> Value
) async throws -> Outcome<Value> {
    do {
        return .success(try await operation())
    } catch let denial as Denial {
        return .denied(denial)
    }
}
