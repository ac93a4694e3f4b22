import AccountLinking
import IdentityProviders
import Postgres

/// What an error that an operation threw means for its caller. "No" is never an error; these are all "could not".
package enum Failure: Sendable, Hashable {
    /// Nothing is wrong with the request: the database or a queue cannot take it now. Come back in a second.
    case unavailable
    /// The caller has gone away.
    case cancelled
    /// Ours.
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
    /// The description of an error that promises to quote nothing a client sent and nothing that is stored; `nil` for
    /// every other error. What a log may hold.
    package static func safeDescription(of error: any Error) -> String? {
        switch error {
        case let error as PostgresError: error.description
        case let error as UnexpectedDecision: "rule \(error.rule.rawValue)"
        case let error as PasswordHasher.HashingFailed: "code \(error.code)"
        default: nil
        }
    }
}
