import Crypto
import FoundationEssentials
import JSON

/// An issuer's keys, and the tokens and documents that it signs (OpenID Connect Core 1.0 §2, Discovery 1.0 §3).
struct Issuer: Sendable {
    private let published = P256.Signing.PrivateKey()
    private let signing: P256.Signing.PrivateKey
    private static let keyID = "demo-1"

    /// - Parameter signsWithUnpublishedKey: if `true`, signatures use another key than the published one, under its
    ///   name.
    init(signsWithUnpublishedKey: Bool) {
        signing = signsWithUnpublishedKey ? P256.Signing.PrivateKey() : published
    }

    static func discovery(url: String) -> JSONValue {
        .object([
            "issuer": .string(url),
            "jwks_uri": .string(url + "/jwks"),
            "token_endpoint": .string(url + "/token"),
            "response_types_supported": .array([.string("id_token")]),
            "subject_types_supported": .array([.string("public")]),
            "id_token_signing_alg_values_supported": .array([.string("ES256")]),
        ])
    }

    /// The public half of the published key (RFC 7517).
    var keySet: JSONValue {
        // An uncompressed point without its leading 4 is x and then y, 32 bytes each (SEC 1 §2.3.3).
        let point = published.publicKey.x963Representation.dropFirst()
        return .object([
            "keys": .array([
                .object([
                    "kty": .string("EC"),
                    "crv": .string("P-256"),
                    "use": .string("sig"),
                    "alg": .string("ES256"),
                    "kid": .string(Self.keyID),
                    "x": .string(Base64URL.encode(point.prefix(32))),
                    "y": .string(Base64URL.encode(point.suffix(32))),
                ])
            ])
        ])
    }

    /// Returns an ID token with `claims`, issued now for five minutes.
    func sign(_ claims: [String: JSONValue], url: String) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims = claims
        claims["iss"] = .string(url)
        claims["iat"] = .integer(now)
        claims["exp"] = .integer(now + 300)
        let header: JSONValue = .object([
            "alg": .string("ES256"), "kid": .string(Self.keyID), "typ": .string("JWT"),
        ])
        let input = [header, .object(claims)].map { Base64URL.encode($0.text.utf8) }.joined(separator: ".")
        let signature = try signing.signature(for: Array(input.utf8)).rawRepresentation
        return input + "." + Base64URL.encode(signature)
    }
}
