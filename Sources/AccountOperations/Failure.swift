import AccountLinking
import IdentityProviders
import Postgres

/// The meaning of an operation's error for its caller. A refusal is a `Denial`; a failure means that there is no
/// answer.
package enum Failure: Sendable, Hashable {
    /// The request is fine, but the database or a queue cannot take it now. Retry after a second.
    case unavailable
    /// The caller disconnected.
    case cancelled
    /// A fault of Concord.
    case bug

    package init(_ error: any Error) {
        switch error {
        case is PasswordHasher.Overloaded, is Contention, is ProviderUnavailable: self = .unavailable
        case is CancellationError: self = .cancelled
        case let error as PostgresError: self.init(error)
        default: self = .bug
        }
    }

    private init(_ error: PostgresError) {
        switch error.code {
        case .connectionLost, .commitOutcomeUnknown, .unavailable, .queueFull, .queueTimeout, .statementTimeout,
            .shutDown:
            self = .unavailable
        case .cancelled:
            self = .cancelled
        case .server(let state):
            // 08 connection, 53 resources, 57 operator intervention, 40 and 55 contention.
            let isUnavailable = ["08", "40", "53", "55", "57"].contains(state.errorClass) || error.refusesWrites
            self = isUnavailable ? .unavailable : .bug
        case .decoding, .tooManyRows, .valueTooLarge, .rolledBack, .configuration, .misuse:
            self = .bug
        }
    }
}

extension Failure {
    /// The description of an error that quotes nothing that was sent or stored, for logs; `nil` for every other error.
    package static func safeDescription(of error: any Error) -> String? {
        switch error {
        case let error as PostgresError: error.description
        case let error as UnexpectedDecision: "rule \(error.rule.rawValue)"
        case let error as PasswordHasher.HashingFailed: "code \(error.code)"
        default: nil
        }
    }
}
