/// The allowed signature algorithms of ID tokens (RFC 7518 §3.1, RFC 8037 §3.1).
///
/// INVARIANT: all are asymmetric. `none` and HMAC are not representable, so no configuration and no discovery document
/// can allow them, and a public key is never used as a shared secret (RFC 8725 §2.1).
enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
}
