import EmbeddedFiles

/// The 10,000 commonest passwords of at least `WeakPassword.lengthMin` characters, which a guesser tries first
/// (NIST SP 800-63B-4 §3.1.1.2): those of `common-passwords.txt`, in lower case, one on a line.
enum CommonPasswords {
    /// Ignores case: attackers try both.
    static func contains(_ password: String) -> Bool {
        set.contains(Array(password.lowercased().utf8)[...])
    }

    /// Every entry, in the order of the list.
    static var all: [String] { lines.map { String(decoding: $0, as: UTF8.self) } }

    /// By their bytes: strings are the same in Swift where Unicode says that they are equivalent.
    private static let set = Set(lines)

    private static var lines: [ArraySlice<UInt8>] {
        EmbeddedFile.bytes(of: "Sources/AccountOperations/Passwords/common-passwords.txt")
            .split(separator: UInt8(ascii: "\n"))
    }
}
