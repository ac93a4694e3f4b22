/// Base64url without padding (RFC 4648 §5), the binary encoding of JOSE.
package enum Base64URL {
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        encode(Array(bytes))
    }

    /// The same for an array. Not generic, because every token uses it.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { encode($0, alphabet, isPadded: false) }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer, _ alphabet: [UInt8], isPadded: Bool) -> String {
        let length = (bytes.count * 4 + 2) / 3
        let capacity = (bytes.count + 2) / 3 * 4
        return String(unsafeUninitializedCapacity: capacity) { output in
            for group in 0..<(bytes.count + 2) / 3 {
                var triple = UInt32(bytes[group * 3]) << 16
                if group * 3 + 1 < bytes.count { triple |= UInt32(bytes[group * 3 + 1]) << 8 }
                if group * 3 + 2 < bytes.count { triple |= UInt32(bytes[group * 3 + 2]) }
                output[group * 4] = alphabet[Int(triple >> 18)]
                output[group * 4 + 1] = alphabet[Int(triple >> 12 & 0x3F)]
                output[group * 4 + 2] = alphabet[Int(triple >> 6 & 0x3F)]
                output[group * 4 + 3] = alphabet[Int(triple & 0x3F)]
            }
            guard isPadded else { return length }
            for place in length..<capacity { output[place] = UInt8(ascii: "=") }
            return capacity
        }
    }

    /// `nil` for a character outside the alphabet, padding, an impossible length or non-zero left-over bits. So a value
    /// has exactly one encoding, and a changed token never decodes to the same bytes.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8)[...])
    }

    /// The same for the bytes of a text. Not generic, because every request with a token uses it.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let values = values
        var output = [UInt8](repeating: 0, count: text.count * 3 / 4)
        var count = 0
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        var seen: UInt8 = 0
        for byte in text {
            let value = values[Int(byte)]
            seen |= value
            buffer = buffer << 6 | UInt32(value)
            bits += 6
            if bits >= 8 {
                bits -= 8
                output[count] = UInt8(truncatingIfNeeded: buffer >> bits)
                count += 1
            }
        }
        guard seen < 64, bits < 6, buffer & ((1 << bits) - 1) == 0 else { return nil }
        return output
    }

    /// Decodes base64 of either alphabet, padded or not, from other programs. `nil` for anything else.
    package static func decodeEitherAlphabet(_ text: some StringProtocol) -> [UInt8]? {
        var bytes = Array(text.utf8)
        for _ in 0..<2 where bytes.last == UInt8(ascii: "=") { bytes.removeLast() }
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "+"): bytes[index] = UInt8(ascii: "-")
            case UInt8(ascii: "/"): bytes[index] = UInt8(ascii: "_")
            default: break
            }
        }
        return decode(bytes[...])
    }

    /// Base64 in the alphabet of RFC 4648 §4, without padding.
    package static func encodeStandardAlphabet(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { encode($0, standardAlphabet, isPadded: false) }
    }

    /// The same with padding.
    package static func encodePadded(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { encode($0, standardAlphabet, isPadded: true) }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let standardAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, byte) in alphabet.enumerated() { values[Int(byte)] = UInt8(value) }
        return values
    }()
}
