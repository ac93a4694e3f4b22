/// Fetches an issuer's documents. A port, so that tests can stand in for issuers.
package protocol HTTPFetching: Sendable {
    /// Fetches the document at `address`.
    ///
    /// - Parameters:
    ///   - address: a URL.
    ///   - deadline: when to give up.
    /// - Returns: the document, complete.
    /// - Throws: `ProviderUnavailable`, also for an address that may not be fetched.
    func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable)
        -> HTTPDocument
}

/// A document and how long its origin says it stays good.
package struct HTTPDocument: Sendable, Hashable {
    package var body: [UInt8]
    /// `max-age` of `Cache-Control` in seconds (RFC 9111 §5.2.2.1); 0 for `no-store` and `no-cache`; `nil` if unsaid.
    package var maxAgeSeconds: Int64?

    package init(body: [UInt8], maxAgeSeconds: Int64? = nil) {
        self.body = body
        self.maxAgeSeconds = maxAgeSeconds
    }

    /// Reads the values of `Cache-Control`.
    static func maxAgeSeconds(cacheControl values: [String]) -> Int64? {
        var seconds: Int64?
        for directive in values.joined(separator: ",").split(separator: ",") {
            let directive = directive.filter { $0 != " " && $0 != "\t" && $0 != "\"" }.lowercased()
            if directive == "no-store" || directive == "no-cache" { return 0 }
            if directive.hasPrefix("max-age=") { seconds = Int64(directive.dropFirst("max-age=".count)) }
        }
        return seconds.map { max($0, 0) }
    }
}
