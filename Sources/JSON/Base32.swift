/// Base32 without padding (RFC 4648 §6), which people can type and authenticator apps accept.
package enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[Int(buffer >> bits & 0x1F)])
            }
            buffer &= 1 << bits - 1
        }
        if bits > 0 { text.append(alphabet[Int(buffer << (5 - bits) & 0x1F)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
