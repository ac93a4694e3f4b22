/// Where the keys of an issuer come from. Equal sources share one cache entry.
struct KeySource: Sendable, Hashable {
    enum Location: Sendable, Hashable {
        /// A discovery document, which must name the issuer, and the key set it points to.
        case discovery(String)
        /// A key set at a known place, and the algorithms its issuer is known to use.
        case keySet(String, Set<SignatureAlgorithm>)
    }

    let issuer: String
    let location: Location

    /// The source of an issuer that is found by discovery, unless `configuration` says where its key set is.
    init(issuer: String, configuration: ProviderConfiguration) {
        self.issuer = issuer
        if let keySet = configuration.keySetURL.nonEmpty {
            self.location = .keySet(keySet, Set(SignatureAlgorithm.allCases))
        } else {
            let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
            self.location =
                .discovery(configuration.discoveryURL.nonEmpty ?? base + "/.well-known/openid-configuration")
        }
    }

    /// The source of an issuer whose key set and algorithms are known, unless `configuration` says otherwise.
    init(
        issuer: String,
        configuration: ProviderConfiguration,
        keySetURL: String,
        algorithms: Set<SignatureAlgorithm>
    ) {
        self.issuer = issuer
        if let discovery = configuration.discoveryURL.nonEmpty {
            self.location = .discovery(discovery)
        } else {
            self.location = .keySet(configuration.keySetURL.nonEmpty ?? keySetURL, algorithms)
        }
    }
}
