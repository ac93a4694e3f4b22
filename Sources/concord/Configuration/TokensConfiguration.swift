/// The settings for signing the tokens that this service issues.
struct TokensConfiguration: Sendable, Hashable {
    /// A JWS algorithm (RFC 7518, section 3.1).
    enum SigningAlgorithm: String, Sendable, Hashable, CaseIterable {
        // swift-format-ignore: AlwaysUseLowerCamelCase
        case ES256
        /// For verifiers that require it. Signing takes 10 times as long.
        // swift-format-ignore: AlwaysUseLowerCamelCase
        case RS256
    }

    /// The algorithm of new keys; tokens signed by earlier keys stay valid.
    let signingAlgorithm: SigningAlgorithm
}

extension TokensConfiguration {
    static let entries: [ConfigurationEntry] = [signingAlgorithmKey.entry]

    private static let signingAlgorithmKey = ConfigurationKey(
        "tokens.signing_algorithm",
        .choice,
        default: SigningAlgorithm.ES256,
        "Algorithm that signs ID tokens and session cookies; RS256 for verifiers without ES256"
    )

    /// Reads the `tokens` keys. The reader records mistakes.
    init(reading reader: inout ConfigurationReader) {
        signingAlgorithm = reader.value(Self.signingAlgorithmKey)
    }
}
