/// Percent-encoding (RFC 3986 §2.1), and the form encoding that adds `+` for a space.
package enum PercentEncoding {
    /// Encodes all bytes except unreserved characters (RFC 3986 §2.3) as `%XX`.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns true for letters, digits, `-`, `.`, `_` and `~` (RFC 3986 §2.3).
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// `name=value` pairs, in order, as a form or a query.
    package static func form(_ pairs: some Sequence<(name: String, value: String)>) -> String {
        pairs.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// Returns `address`, which must have no fragment, with `pairs` at the end of its query.
    package static func adding(_ pairs: some Sequence<(name: String, value: String)>, to address: String) -> String {
        address + (address.contains("?") ? "&" : "?") + form(pairs)
    }

    /// Decodes escapes. `nil` if an escape is malformed or the result is not UTF-8.
    package static func decode(_ text: ArraySlice<UInt8>, plusIsSpace: Bool = false) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = bytes.next().flatMap(Hexadecimal.value),
                    let low = bytes.next().flatMap(Hexadecimal.value)
                else { return nil }
                decoded.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: decoded.append(UInt8(ascii: " "))
            default: decoded.append(byte)
            }
        }
        return String(ifUTF8: decoded)
    }

    /// Decodes the `name=value` pairs of a query or a form. The first of repeated names wins. Malformed pairs are
    /// omitted.
    package static func pairs(_ text: [UInt8], plusIsSpace: Bool) -> [String: String] {
        var pairs: [String: String] = [:]
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let value = equals.map { pair[pair.index(after: $0)...] }
            guard let name = decode(pair[..<(equals ?? pair.endIndex)], plusIsSpace: plusIsSpace), pairs[name] == nil,
                let value = value.map({ decode($0, plusIsSpace: plusIsSpace) }) ?? ""
            else { continue }
            pairs[name] = value
        }
        return pairs
    }

    /// Decodes the pairs of a form as browsers do (URL Standard §5.1). The last of repeated names wins. Malformed
    /// escapes are unchanged, and bytes that are not UTF-8 become U+FFFD.
    package static func pairsAsInBrowsers(_ text: [UInt8]) -> [String: String] {
        var pairs: [String: String] = [:]
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            pairs[unescape(Array(halves[0]))] = halves.count > 1 ? unescape(Array(halves[1])) : ""
        }
        return pairs
    }

    private static func unescape(_ escaped: [UInt8]) -> String {
        var plain: [UInt8] = []
        plain.reserveCapacity(escaped.count)
        var index = 0
        while index < escaped.count {
            let byte = escaped[index]
            if byte == UInt8(ascii: "+") {
                plain.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), index + 2 < escaped.count,
                let high = Hexadecimal.value(of: escaped[index + 1]),
                let low = Hexadecimal.value(of: escaped[index + 2])
            {
                plain.append(high << 4 | low)
                index += 2
            } else {
                plain.append(byte)
            }
            index += 1
        }
        return String(decoding: plain, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
}
