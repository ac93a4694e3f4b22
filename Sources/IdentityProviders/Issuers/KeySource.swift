/// The source of an issuer's keys. Equal sources share one cache entry.
struct KeySource: Sendable, Hashable {
    enum Location: Sendable, Hashable {
        /// A discovery document, which must name the issuer, and its key set or another one.
        case discovery(String, keySet: String?)
        /// A key set with a known URL and known algorithms.
        case keySet(String, Set<SignatureAlgorithm>)
    }

    let issuer: String
    let location: Location

    /// Returns the source of an issuer with discovery. `keySetURL` replaces the URL of its keys.
    init(discovering issuer: String, keySetURL: String? = nil) {
        self.issuer = issuer
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        self.location = .discovery(base + "/.well-known/openid-configuration", keySet: keySetURL)
    }

    /// Returns the source of an issuer whose key set and algorithms are known.
    init(issuer: String, keySetURL: String, algorithms: Set<SignatureAlgorithm>) {
        self.issuer = issuer
        self.location = .keySet(keySetURL, algorithms)
    }
}
