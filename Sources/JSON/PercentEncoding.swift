/// Percent-encoding (RFC 3986 §2.1), and the form encoding that adds `+` for a space.
package enum PercentEncoding {
    /// Everything but the unreserved characters (RFC 3986 §2.3) as `%XX` of its UTF-8.
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// `name=value` pairs, in order, as a form or a query.
    package static func form(_ pairs: some Sequence<(name: String, value: String)>) -> String {
        pairs.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// `address` with `pairs` at the end of its query. It has no fragment.
    package static func adding(_ pairs: some Sequence<(name: String, value: String)>, to address: String) -> String {
        address + (address.contains("?") ? "&" : "?") + form(pairs)
    }

    /// `nil` when an escape is cut short, or the result is not UTF-8.
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

    /// The decoded `name=value` pairs of a query or a form; of repeated names the first wins, and what cannot be decoded
    /// is left out.
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

    /// The pairs of a form as browsers read it (URL Standard §5.1): of repeated names the last wins, a malformed escape
    /// stands for itself, and what is not UTF-8 is repaired.
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
