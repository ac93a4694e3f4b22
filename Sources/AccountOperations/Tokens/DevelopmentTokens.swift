import JSON

/// The form of ID tokens and session cookies in `concord dev`: unsigned for SDKs, signed for Concord.
///
/// The Admin SDK for Node, pointed at an emulator, calls `jwt.verify(token, undefined, { algorithms: ['none'] })`,
/// which refuses every token that has a signature. So the header of these tokens says `none`, and their third part is
/// empty (RFC 7519 §6.1). The last claim holds Concord's signature:
///
///     BASE64URL({"alg":"none","typ":"JWT"}) "." BASE64URL({…,"concord_signature":"KEY-ID.SIGNATURE"}) "."
///
/// `SIGNATURE` is the base64url text of the key's signature over the same header and payload without that claim:
///
///     BASE64URL({"alg":"none","typ":"JWT"}) "." BASE64URL({…})
///
/// Concord reads claims from these signed bytes alone. The header differs from that of every signed token, so that no
/// signature counts in both forms.
///
/// INVARIANT: only the `dev` command and tests construct it; `serve` cannot reach it.
package struct DevelopmentTokens: Sendable {
    static let algorithm = "none"
    /// Reserved in every token.
    static let claim = "concord_signature"

    private static let encodedHeader = Base64URL.encode(
        JSONWriter.object { writer in
            writer.field("alg", algorithm)
            writer.field("typ", "JWT")
        }
    )

    package init() {}

    /// - `payload`: the text of a JSON object with members.
    func mint(_ payload: [UInt8], signedBy key: SigningKey) throws -> String {
        let signature = Base64URL.encode(try key.signature(over: Self.signingInput(payload)))
        var sealed = Array(payload.dropLast())
        sealed += Self.claimStart(key)
        sealed += signature.utf8
        sealed += Self.claimEnd
        return "\(Self.encodedHeader).\(Base64URL.encode(sealed))."
    }

    /// The signed part of the payload, and its key; `nil` for other text.
    func verifiedPayload(of token: [UInt8], keys: [SigningKey]) -> (payload: [UInt8], key: SigningKey)? {
        let parts = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual(Self.encodedHeader.utf8), parts[2].isEmpty,
            let sealed = Base64URL.decode(parts[1]),
            // Key ids and signatures contain no comma.
            let comma = sealed.lastIndex(of: UInt8(ascii: ","))
        else { return nil }
        let claim = sealed[comma...]
        guard let key = keys.first(where: { claim.starts(with: Self.claimStart($0)) }),
            claim.suffix(Self.claimEnd.count).elementsEqual(Self.claimEnd)
        else { return nil }
        let payload = Array(sealed[..<comma]) + [UInt8(ascii: "}")]
        let text = claim.dropFirst(Self.claimStart(key).count).dropLast(Self.claimEnd.count)
        guard let signature = Base64URL.decode(text), key.verifies(signature, over: Self.signingInput(payload)) else {
            return nil
        }
        return (payload, key)
    }

    private static func signingInput(_ payload: [UInt8]) -> [UInt8] {
        Array("\(encodedHeader).\(Base64URL.encode(payload))".utf8)
    }

    private static func claimStart(_ key: SigningKey) -> [UInt8] { Array(",\"\(claim)\":\"\(key.id).".utf8) }

    private static let claimEnd = Array("\"}".utf8)
}
