import JSON

/// An issuer's algorithms, keys and metadata, as of one fetch.
struct IssuerKeys: Sendable {
    let algorithms: Set<SignatureAlgorithm>
    let keys: [VerificationKey]
    /// `nil` for an issuer that is known without discovery.
    let metadata: IssuerMetadata?
    /// The shortest `max-age` of the documents.
    let maxAgeSeconds: Int64?

    /// Maximum number of keys that are read from a set.
    private static let keysMax = 64

    /// Fetches the documents that `source` names.
    ///
    /// Runs outside the caller's isolation, because parsing takes milliseconds.
    @concurrent
    static func fetch(
        _ source: KeySource,
        by http: any HTTPFetching,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> IssuerKeys {
        let address: String
        let algorithms: Set<SignatureAlgorithm>
        var metadata: IssuerMetadata?
        var maxAgeSeconds: Int64?
        switch source.location {
        case .keySet(let known, let used):
            address = known
            algorithms = used
        case .discovery(let place, let elsewhere):
            let document = try await http.document(at: place, deadline: deadline)
            let statement = try object(in: document)
            guard statement["issuer"] == .string(source.issuer) else { throw .issuerMismatch }
            guard let keySet = elsewhere ?? statement["jwks_uri"]?.string else { throw .malformedAnswer }
            address = keySet
            algorithms = self.algorithms(of: statement)
            metadata = IssuerMetadata(statement)
            maxAgeSeconds = document.maxAgeSeconds
        }
        guard !algorithms.isEmpty else { throw .noUsableKeys }
        let document = try await http.document(at: address, deadline: deadline)
        guard let members = try object(in: document)["keys"]?.array else { throw .malformedAnswer }
        let keys = members.prefix(keysMax).compactMap { VerificationKey(jwk: $0) }
        guard !keys.isEmpty else { throw .noUsableKeys }
        return IssuerKeys(
            algorithms: algorithms,
            keys: keys,
            metadata: metadata,
            maxAgeSeconds: [maxAgeSeconds, document.maxAgeSeconds].compactMap { $0 }.min()
        )
    }

    /// The allowed algorithms with which the issuer signs ID tokens. RS256 if the issuer names none, because OpenID
    /// Connect Core 1.0 §15.1 requires everyone to support it.
    private static func algorithms(of statement: JSONValue) -> Set<SignatureAlgorithm> {
        guard let names = statement["id_token_signing_alg_values_supported"]?.array else { return [.rs256] }
        return Set(names.compactMap { $0.string.flatMap(SignatureAlgorithm.init(rawValue:)) })
    }

    private static func object(in document: HTTPDocument) throws(ProviderUnavailable) -> JSONValue {
        guard let value = try? JSONValue(parsing: document.body, depthMax: 16), value.object != nil else {
            throw .malformedAnswer
        }
        return value
    }

    /// Returns the key that verifies a signature by `algorithm`. A token without a key id needs a single key for its
    /// algorithm (OpenID Connect Core 1.0 §10.1).
    func key(named id: String?, for algorithm: SignatureAlgorithm) -> VerificationKey? {
        let fitting = keys.filter { $0.serves(algorithm) }
        if let id { return fitting.first { $0.id == id } }
        return fitting.count == 1 ? fitting[0] : nil
    }
}
