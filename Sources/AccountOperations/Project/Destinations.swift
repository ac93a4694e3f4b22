import AccountLinking

extension AccountOperations {
    /// Returns true if codes and sessions of the project may go to the page at `url`.
    func authorizes(_ url: ContinueURL) -> Bool {
        project.settings.authorizedDomains.contains { $0.host == url.host }
    }

    /// Returns true if Concord's own pages may hand a code or a session to the page at `address`.
    ///
    /// The pages ask the server, so that there is one rule and one parser. Hosts below an authorized one count as well.
    package func authorizesPage(at address: String) -> Bool {
        guard let url = ContinueURL(address) else { return false }
        let isName = url.host.utf8.contains { !"0123456789.".utf8.contains($0) } && !url.host.hasPrefix("[")
        return project.settings.authorizedDomains.contains { domain in
            domain.host == url.host || (isName && url.host.hasSuffix("." + domain.host))
        }
    }
}

extension ProjectSettings {
    /// The hosts that client SDKs are shown as authorized (`spec/01` §3.7).
    ///
    /// SDKs for iOS take the first name below `firebaseapp.com` or `web.app` for the host of the handler's page, and fail
    /// without one. Where the project authorizes none they are shown one that Google gives to nobody: a browser that is
    /// sent there finds no certificate for two labels. It is shown and never a destination.
    package var shownDomains: [String] {
        let hosts = authorizedDomains.map(\.host)
        let hasHandler = hosts.contains { $0.hasSuffix(".firebaseapp.com") || $0.hasSuffix(".web.app") }
        return hasHandler ? hosts : hosts + [Self.shownHandlerHost]
    }

    /// No site of Google's hosting has two labels before `firebaseapp.com`.
    package static let shownHandlerHost = "not-a-destination.concord.firebaseapp.com"
}
