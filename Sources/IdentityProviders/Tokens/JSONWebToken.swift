import JSON

/// The decoded parts of a compact signed token (RFC 7515 §3.1), not verified.
struct JSONWebToken: Sendable {
    /// Maximum length of a token in bytes, far above that of tokens of providers.
    static let bytesMax = 16 * 1024

    let algorithmName: String
    let keyID: String?
    /// The payload; an object.
    let claims: JSONValue
    /// The signed bytes.
    let signingInput: [UInt8]
    let signature: [UInt8]

    enum Parsing: Sendable {
        case token(JSONWebToken)
        case invalid(InvalidCredential)
    }

    /// Parses `text`. Keys inside the token (`jwk`, `jku`, `x5c`, `x5u`) are never read.
    static func parse(_ text: String) -> Parsing {
        let bytes = Array(text.utf8)
        guard bytes.count <= bytesMax else { return .invalid(.tooLarge) }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = object(in: parts[0]),
            let claims = object(in: parts[1]),
            let signature = Base64URL.decode(String(decoding: parts[2], as: UTF8.self)),
            let algorithmName = header["alg"]?.string
        else { return .invalid(.malformed) }
        // Concord supports no critical extension (RFC 7515 §4.1.11).
        guard header["crit"] == nil else { return .invalid(.unacceptableType) }
        // Issuers sign access and logout tokens with the same keys. The type distinguishes them (RFC 8725 §3.11).
        if let type = header["typ"] {
            guard let name = type.string, name.lowercased() == "jwt" else { return .invalid(.unacceptableType) }
        }
        if let keyID = header["kid"], keyID.string == nil { return .invalid(.malformed) }
        return .token(
            JSONWebToken(
                algorithmName: algorithmName,
                keyID: header["kid"]?.string,
                claims: claims,
                signingInput: Array(bytes[..<parts[1].endIndex]),
                signature: signature
            )
        )
    }

    private static func object(in part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64URL.decode(String(decoding: part, as: UTF8.self)),
            let value = try? JSONValue(parsing: bytes, depthMax: 16),
            value.object != nil
        else { return nil }
        return value
    }
}
