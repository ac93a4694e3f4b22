import Crypto
import FoundationEssentials
import JSON

/// Signs requests for OAuth 1.0a, with HMAC-SHA1 (RFC 5849 §3). Pure: nonce and time are inputs.
struct OAuth1: Sendable {
    /// An identifier with its shared secret: the client's, a flow's temporary credentials, or an access token.
    struct Credentials: Sendable, Hashable {
        let identifier: String
        let secret: String
    }

    typealias Parameter = (name: String, value: String)

    let client: Credentials
    /// The user's token; `nil` for a request for temporary credentials.
    var token: Credentials?
    /// Unique among the requests of one client and token in one second (§3.3).
    let nonce: String
    let secondsSinceEpoch: Int64

    /// Returns `request` with the `Authorization` field that signs it (§3.5.1).
    ///
    /// `parameters`: those of the protocol beyond the ones that every request has, such as `oauth_verifier`.
    func authorizing(_ request: ProviderRequest, with parameters: [Parameter] = []) -> ProviderRequest {
        var parameters =
            parameters + [
                ("oauth_consumer_key", client.identifier), ("oauth_nonce", nonce),
                ("oauth_signature_method", "HMAC-SHA1"), ("oauth_timestamp", String(secondsSinceEpoch)),
                ("oauth_version", "1.0"),
            ]
        if let token { parameters.append(("oauth_token", token.identifier)) }
        let text = Self.baseString(of: request, with: parameters)
        parameters.append(("oauth_signature", Self.signature(of: text, client: client.secret, token: token?.secret)))
        let fields = parameters.sorted { $0.name < $1.name }
            .map { PercentEncoding.encode($0.name) + "=\"" + PercentEncoding.encode($0.value) + "\"" }
        return request.adding("authorization", "OAuth " + fields.joined(separator: ", "))
    }

    /// Returns the text to sign (§3.4.1): the method, the address, and every parameter of query, form and protocol.
    static func baseString(of request: ProviderRequest, with parameters: [Parameter]) -> String {
        let query = request.address.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
        let isForm = request.fields.contains {
            $0.name == "content-type" && $0.value == "application/x-www-form-urlencoded"
        }
        let all = parameters + pairs(Array(query)) + (isForm ? pairs(request.body) : [])
        // §3.4.1.3.2: sorted in encoded form, byte by byte.
        let normalized = all.map { (PercentEncoding.encode($0.name), PercentEncoding.encode($0.value)) }
            .sorted { $0 < $1 }
            .map { $0 + "=" + $1 }
            .joined(separator: "&")
        return [request.method.rawValue, baseAddress(request.address), normalized].map(PercentEncoding.encode)
            .joined(separator: "&")
    }

    /// §3.4.2.
    static func signature(of text: String, client secret: String, token tokenSecret: String?) -> String {
        let key = PercentEncoding.encode(secret) + "&" + PercentEncoding.encode(tokenSecret ?? "")
        let code = HMAC<Insecure.SHA1>.authenticationCode(
            for: Data(text.utf8),
            using: SymmetricKey(data: Data(key.utf8))
        )
        return Data(code).base64EncodedString()
    }

    /// §3.4.1.2: scheme and authority in lower case, without a default port and without the query.
    private static func baseAddress(_ address: String) -> String {
        let parts = address.prefix { $0 != "?" && $0 != "#" }.split(
            separator: "/",
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard parts.count >= 3 else { return address }
        let scheme = parts[0].lowercased()
        var authority = parts[2].lowercased()
        for usual in [("http:", ":80"), ("https:", ":443")] where scheme == usual.0 && authority.hasSuffix(usual.1) {
            authority.removeLast(usual.1.count)
        }
        return scheme + "//" + authority + "/" + (parts.count > 3 ? parts[3] : "")
    }

    /// Returns all pairs of a query or a form, decoded, with repeated names (§3.4.1.3.1).
    private static func pairs(_ text: [UInt8]) -> [Parameter] {
        text.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(halves[0], plusIsSpace: true),
                let value = PercentEncoding.decode(halves.count > 1 ? halves[1] : [], plusIsSpace: true)
            else { return nil }
            return (name, value)
        }
    }
}
