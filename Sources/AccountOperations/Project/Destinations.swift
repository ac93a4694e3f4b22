import AccountLinking
import IdentityProviders

extension AccountOperations {
    /// Returns true if the project's codes and sessions may be sent to the page at `url`.
    ///
    /// Concord's own pages may also send them to each other: the sign-in page to the account page, for example. Mails
    /// and other operations may not, because a link there would lead to no app.
    func authorizes(_ url: ContinueURL, requester: DestinationRequester = .operation) -> Bool {
        if requester == .page, isOwnPage(url) { return true }
        return policy.authorizes(
            url.origin,
            by: project.settings.authorizedDomains,
            requester: requester,
            allowsLoopback: providers.isForDevelopment
        )
    }

    /// Returns true if a session of the sign-in page may be handed to the page at `url`: that of an app, or the account
    /// page. Hosts below an authorized one do not count. Concord's other pages do not either: the handler page passes
    /// its query on to apps, also to those on such hosts.
    func authorizesReturn(to url: ContinueURL) -> Bool {
        authorizes(url) || (project.settings.offersAccountPage && mailLinks.isAccountPage(url))
    }

    /// Returns true if this service serves the page.
    private func isOwnPage(_ url: ContinueURL) -> Bool { mailLinks.areOn(url.origin) }

    /// Returns true if Concord's own pages may send a code or a session to the page at `address`.
    ///
    /// The pages ask the server, so that there is one rule and one parser.
    package func authorizesPage(at address: String) -> Bool {
        ContinueURL(address).map { authorizes($0, requester: .page) } ?? false
    }

    /// Returns true if the handler page may send a result to the native app that listens on `port` of 127.0.0.1.
    package func authorizesLoopback(port: String) -> Bool {
        guard port.utf8.count <= 5, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(port) else {
            return false
        }
        return LinkPolicy.authorizesLoopback(port: port, by: project.settings.authorizedDomains)
    }
}

extension ProjectSettings {
    /// The hosts that client SDKs see as authorized, without ports and wildcards. Web SDKs compare names, and treat
    /// hosts below an authorized one as authorized.
    ///
    /// SDKs for iOS use the first name below `firebaseapp.com` or `web.app` as host of the handler's page, and fail
    /// without one. If the project authorizes none, they see a host that Google never assigns: it has two labels, for
    /// which a browser finds no certificate. Concord shows this host but never sends a browser there.
    package var shownDomains: [String] {
        var seen: Set<String> = []
        let hosts = authorizedDomains.map(\.host).filter { seen.insert($0).inserted }
        let hasHandler = hosts.contains { $0.hasSuffix(".firebaseapp.com") || $0.hasSuffix(".web.app") }
        return hasHandler ? hosts : hosts + [Self.shownHandlerHost]
    }

    /// No site of Google's hosting has two labels before `firebaseapp.com`.
    package static let shownHandlerHost = "not-a-destination.concord.firebaseapp.com"
}
