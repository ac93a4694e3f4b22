import AccountLinking
import IdentityProviders

extension AccountOperations {
    /// Returns true if codes and sessions of the project may go to the page at `url`.
    func authorizes(_ url: ContinueURL, requester: DestinationRequester = .operation) -> Bool {
        policy.authorizes(
            url.origin,
            by: project.settings.authorizedDomains,
            requester: requester,
            allowsLoopback: providers.isForDevelopment
        )
    }

    /// Returns true if Concord's own pages may hand a code or a session to the page at `address`.
    ///
    /// The pages ask the server, so that there is one rule and one parser.
    package func authorizesPage(at address: String) -> Bool {
        ContinueURL(address).map { authorizes($0, requester: .page) } ?? false
    }
}

extension ProjectSettings {
    /// The hosts that client SDKs are shown as authorized, without ports and wildcards: web SDKs compare names, and
    /// take hosts below one for authorized.
    ///
    /// SDKs for iOS take the first name below `firebaseapp.com` or `web.app` for the host of the handler's page, and fail
    /// without one. Where the project authorizes none they are shown one that Google gives to nobody: a browser that is
    /// sent there finds no certificate for two labels. It is shown and never a destination.
    package var shownDomains: [String] {
        var seen: Set<String> = []
        let hosts = authorizedDomains.map(\.host).filter { seen.insert($0).inserted }
        let hasHandler = hosts.contains { $0.hasSuffix(".firebaseapp.com") || $0.hasSuffix(".web.app") }
        return hasHandler ? hosts : hosts + [Self.shownHandlerHost]
    }

    /// No site of Google's hosting has two labels before `firebaseapp.com`.
    package static let shownHandlerHost = "not-a-destination.concord.firebaseapp.com"
}
