import AccountLinking
import JSON

/// The page to return to from an action page: an absolute `http` or `https` URL, stored exactly as given.
///
/// Its host decides whether it is allowed, and parsers disagree about user information, backslashes, blanks and control
/// characters, so these are refused. Browsers read `http://evil.example\@localhost/` as `evil.example`.
struct ContinueURL: Sendable, Hashable {
    let text: String
    let origin: WebOrigin
    /// The path as given, with its escapes; empty for the root.
    let path: String

    init?(_ text: String) {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "\\" }
        guard isPlain, text.utf8.count <= 8192, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return nil
        }
        let scheme = text[..<colon].lowercased()
        guard ["http", "https"].contains(scheme) else { return nil }
        let rest = text[text.utf8.index(after: colon)...]
        guard rest.hasPrefix("//") else { return nil }
        let authority = rest.dropFirst(2).prefix { !"/?#".contains($0) }
        guard let (host, port) = Self.hostAndPort(of: authority) else { return nil }
        self.text = text
        self.origin = WebOrigin(isSecure: scheme == "https", host: host, port: port)
        self.path = String(rest.dropFirst(2 + authority.count).prefix { !"?#".contains($0) })
    }

    /// The host in lower case, with an IPv6 address in brackets.
    private static func hostAndPort(of authority: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        let port: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[...end]
            port = authority[authority.index(after: end)...]
            let address = host.dropFirst().dropLast()
            guard !address.isEmpty, address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
        } else {
            host = authority.prefix { $0 != ":" }
            port = authority[host.endIndex...]
            let isName = host.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
            guard isName, !host.isEmpty else { return nil }
        }
        let digits = port.dropFirst()
        guard port.isEmpty || (port.first == ":" && digits.utf8.allSatisfy { (0x30...0x39).contains($0) }) else {
            return nil
        }
        if digits.isEmpty { return (host.lowercased(), nil) }
        guard let number = Int(digits), number <= 65_535 else { return nil }
        return (host.lowercased(), number)
    }
}

/// The `Location` for `continueURL` with `parameters`, which replace those of the same name, however it is escaped.
/// - Returns: `nil` if `continueURL` is no absolute `http` or `https` URL.
package func redirection(to continueURL: String, adding parameters: [(name: String, value: String)]) -> String? {
    guard let url = ContinueURL(continueURL) else { return nil }
    // Bytes, because a combining character after a delimiter makes another `Character` of it.
    let bytes = Array(url.text.utf8)
    let beforeFragment = bytes.prefix { $0 != UInt8(ascii: "#") }
    let path = beforeFragment.prefix { $0 != UInt8(ascii: "?") }
    let names = Set(parameters.map(\.name))
    var query = beforeFragment[path.endIndex...].dropFirst().split(separator: UInt8(ascii: "&"))
        .filter { pair in
            // A name with a malformed escape is none of these.
            let name = PercentEncoding.decode(pair.prefix { $0 != UInt8(ascii: "=") })
            return name.map { !names.contains($0) } ?? true
        }
        .map { String(decoding: $0, as: UTF8.self) }
    query += parameters.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
    let location =
        String(decoding: path, as: UTF8.self) + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        + String(decoding: bytes[beforeFragment.endIndex...], as: UTF8.self)
    // A header is ASCII. Existing percent-encoding is not changed.
    return location.unicodeScalars.map { $0.isASCII ? String($0) : PercentEncoding.encode(String($0)) }.joined()
}
