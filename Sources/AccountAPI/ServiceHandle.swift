package import AccountOperations
import Synchronization

/// The state of the server: it answers `/healthz` from the start, and everything else once it is ready.
package final class ServiceHandle: Sendable {
    package enum State: Sendable {
        /// Not ready; the reason is for an operator to read, and holds nothing secret.
        case starting(String)
        /// `checkDatabase`: what is wrong with the database, or with this server's clock beside it, asked by `/readyz`; `nil`
        /// when nothing is.
        case ready(AccountOperations, checkDatabase: @Sendable () async -> String?)
        /// Finishing what is under way.
        case draining
    }

    private let current = Mutex(State.starting("starting"))

    package init() {}

    package var state: State {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// Why the server is not ready; `nil` when it is.
    func reasonNotReady() async -> String? {
        switch state {
        case .starting(let reason): reason
        case .draining: "draining"
        case .ready(_, let checkDatabase): await checkDatabase()
        }
    }
}
