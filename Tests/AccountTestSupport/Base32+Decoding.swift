package import JSON

extension Base32 {
    /// Decodes a secret, as an authenticator app does.
    package static func decoded(_ text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var bytes: [UInt8] = []
        var buffer = 0
        var bits = 0
        for character in text.utf8 {
            buffer = (buffer & 0xFFFF) << 5 | (alphabet.firstIndex(of: character) ?? 0)
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(buffer >> bits & 0xFF))
            }
        }
        return bytes
    }
}
