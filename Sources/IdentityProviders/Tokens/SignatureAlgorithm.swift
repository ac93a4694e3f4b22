/// The signature algorithms an ID token may use here (RFC 7518 §3.1, RFC 8037 §3.1).
///
/// INVARIANT: asymmetric ones only. `none` and the HMAC family are not spellable, so no configuration and no discovery
/// document can allow them, and a public key can never be taken for a shared secret (RFC 8725 §2.1).
enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
}
