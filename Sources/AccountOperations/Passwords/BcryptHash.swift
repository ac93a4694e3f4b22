import CCrypt

/// A hash by bcrypt, as crypt(3) writes it: `$2b$10$…`, 60 characters.
package struct BcryptHash: Sendable, Hashable {
    let text: String

    /// Logarithms of the work. Higher ones would occupy a core for seconds.
    static let costs = 4...14

    /// `nil` for another algorithm, or a cost outside `costs`.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(text.prefix(4)), bytes[6] == UInt8(ascii: "$"),
            let cost = Int(text.dropFirst(4).prefix(2)), Self.costs.contains(cost),
            bytes[7...].allSatisfy({ Self.alphabet.contains($0) })
        else { return nil }
        self.text = text
    }

    private static let alphabet = Set("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    func matches(_ password: [UInt8]) throws(PasswordHasher.HashingFailed) -> Bool {
        // bcrypt uses 72 bytes, and libxcrypt refuses a phrase of 512.
        let phrase = password.prefix(72).map { CChar(bitPattern: $0) } + [0]
        var data = crypt_data()
        let size = Int32(MemoryLayout<crypt_data>.size)
        guard let output = crypt_rn(phrase, text, &data, size) else {
            throw PasswordHasher.HashingFailed(code: Int32(size))
        }
        return Array(String(cString: output).utf8).equalsInConstantTime(Array(text.utf8))
    }
}
