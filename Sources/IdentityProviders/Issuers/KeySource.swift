/// The source of an issuer's keys. Equal sources share one cache entry.
struct KeySource: Sendable, Hashable {
    enum Location: Sendable, Hashable {
        /// A discovery document, which must name the issuer, and the key set it points to, or one elsewhere.
        case discovery(String, keySet: String?)
        /// A key set at a known place, and the algorithms its issuer is known to use.
        case keySet(String, Set<SignatureAlgorithm>)
    }

    let issuer: String
    let location: Location

    /// The source of an issuer that is found by discovery, with its keys elsewhere if it is said where.
    init(discovering issuer: String, keySetURL: String? = nil) {
        self.issuer = issuer
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        self.location = .discovery(base + "/.well-known/openid-configuration", keySet: keySetURL)
    }

    /// The source of an issuer whose key set and algorithms are known.
    init(issuer: String, keySetURL: String, algorithms: Set<SignatureAlgorithm>) {
        self.issuer = issuer
        self.location = .keySet(keySetURL, algorithms)
    }
}
