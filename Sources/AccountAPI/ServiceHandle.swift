package import AccountOperations
import Synchronization

/// The state of the server: it answers `/healthz` from the start, and everything else once it is ready.
package final class ServiceHandle: Sendable {
    package enum State: Sendable {
        /// Not ready; the reason is for an operator, and contains no secret.
        case starting(String)
        /// `checkDatabase`: the problem of the database, or of this server's clock compared with it, which `/readyz`
        /// asks for; `nil` if there is none.
        case ready(AccountOperations, checkDatabase: @Sendable () async -> String?)
        /// Finishing requests in flight.
        case draining
    }

    private let current = Mutex(State.starting("starting"))

    package init() {}

    package var state: State {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    /// The branding of pages; none while the server is not ready.
    var branding: Branding {
        guard case .ready(let operations, _) = state else { return .none }
        return operations.project.settings.branding
    }

    /// Returns true if the project offers the page of `file`. While the server is not ready, it offers every page.
    func offers(_ file: PageFile) -> Bool {
        guard file.isOfAccountPage, case .ready(let operations, _) = state else { return true }
        return operations.project.settings.offersAccountPage
    }

    /// The reason why the server is not ready; `nil` if it is ready.
    func reasonNotReady() async -> String? {
        switch state {
        case .starting(let reason): reason
        case .draining: "draining"
        case .ready(_, let checkDatabase): await checkDatabase()
        }
    }
}
