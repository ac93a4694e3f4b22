import Crypto

extension ProviderTokens {
    /// The SHA-256 of the signed part of the ID token; `nil` without an ID token.
    ///
    /// The signature is not included: an ES256 signature has a second valid form, and base64url several encodings, so
    /// that a thief could present the same token again in another form.
    package var idTokenDigest: [UInt8]? {
        guard let idToken else { return nil }
        let bytes = Array(idToken.utf8)
        // A fake token of development is a JSON object.
        guard bytes.first != UInt8(ascii: "{"), let end = bytes.lastIndex(of: UInt8(ascii: ".")) else {
            return Array(SHA256.hash(data: bytes))
        }
        return Array(SHA256.hash(data: bytes[..<end]))
    }
}
