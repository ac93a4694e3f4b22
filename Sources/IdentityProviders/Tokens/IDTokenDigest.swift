import Crypto

extension ProviderTokens {
    /// SHA-256 of the ID token, as far as its issuer signed it; `nil` without one.
    ///
    /// The signature is left out: a signature of ES256 has a second form that is as good, and base64url has several for
    /// one signature, so that a thief could write one token in several ways.
    package var idTokenDigest: [UInt8]? {
        guard let idToken else { return nil }
        let bytes = Array(idToken.utf8)
        // A made-up token in development is a JSON object.
        guard bytes.first != UInt8(ascii: "{"), let end = bytes.lastIndex(of: UInt8(ascii: ".")) else {
            return Array(SHA256.hash(data: bytes))
        }
        return Array(SHA256.hash(data: bytes[..<end]))
    }
}
