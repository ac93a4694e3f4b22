/// Scheme, host and port of a web page (RFC 6454 §4).
package struct WebOrigin: Sendable, Hashable {
    /// True for `https`.
    package let isSecure: Bool
    /// In lower case; an IPv6 address in brackets.
    package let host: String
    /// The port of the URL, or the default of its scheme.
    package let port: Int

    package init(isSecure: Bool, host: String, port: Int?) {
        self.isSecure = isSecure
        self.host = host
        self.port = port ?? (isSecure ? Self.securePort : 80)
    }

    static let securePort = 443

    /// Returns true for a name or an address of the browser's own machine.
    package var isLoopback: Bool {
        let isIPv4 = host.hasPrefix("127.") && host.utf8.allSatisfy { "0123456789.".utf8.contains($0) }
        return isIPv4 || host == "[::1]" || host == "localhost" || host.hasSuffix(".localhost")
    }
}

/// The sender of a code or session to a web page.
package enum DestinationRequester: Sendable, Hashable, CaseIterable {
    /// An operation: a link in a mail, or the URL to which a provider redirects the browser.
    case operation
    /// One of Concord's own pages, in the browser.
    case page
}

extension LinkPolicy {
    /// Returns true if codes and sessions of the project, which authorizes `domains`, may go to a page of `origin`.
    ///
    /// Origins are compared exactly: an entry without a port means `https` on the default port. With `allowsLoopback`,
    /// in development only, pages of this machine may use `http` and any port.
    package func authorizes(
        _ origin: WebOrigin,
        by domains: [AuthorizedDomain],
        requester: DestinationRequester,
        allowsLoopback: Bool
    ) -> Bool {
        domains.contains { domain in
            guard domain.covers(origin.host, withSubdomains: takesSubdomains(requester)) else { return false }
            let isAnywhere = !requiresHTTPSContinueURLs || (allowsLoopback && origin.isLoopback)
            if let port = domain.port { return port == origin.port && (origin.isSecure || isAnywhere) }
            return isAnywhere || (origin.isSecure && origin.port == WebOrigin.securePort)
        }
    }

    /// Returns true if a native app that listens on `port` of 127.0.0.1 may receive the result of a provider's page
    /// (RFC 8252 §7.3).
    ///
    /// The project must name `127.0.0.1` itself: `localhost` may be another address, and names do not prove that the
    /// receiver is on this machine. The connection does not leave the machine, so it needs no `https`.
    package static func authorizesLoopback(port: Int, by domains: [AuthorizedDomain]) -> Bool {
        guard (1...65535).contains(port) else { return false }
        return domains.contains { domain in
            domain.covers("127.0.0.1", withSubdomains: false) && (domain.port == nil || domain.port == port)
        }
    }

    private func takesSubdomains(_ requester: DestinationRequester) -> Bool {
        switch requester {
        case .operation: false
        case .page: authorizesSubdomains
        }
    }
}
