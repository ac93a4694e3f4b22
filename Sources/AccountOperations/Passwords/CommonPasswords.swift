/// The 10,000 most common passwords of at least `WeakPassword.lengthMin` characters (NIST SP 800-63B-4 §3.1.1.2). A
/// constant that is searched in place: no time at start, no heap memory.
enum CommonPasswords {
    /// Ignores case: attackers try both.
    static func contains(_ password: String) -> Bool {
        let wanted = Array(password.lowercased().utf8)
        // A separator in the password would match across two entries.
        guard !wanted.isEmpty, !wanted.contains(where: isSeparator) else { return false }
        return list.withUTF8Buffer { list in
            var start = 0
            var end = list.count
            while start < end {
                let middle = start + (end - start) / 2
                let first = list[..<middle].lastIndex(where: isSeparator).map { $0 + 1 } ?? 0
                let last = list[first...].firstIndex(where: isSeparator) ?? list.count
                let entry = list[first..<last]
                if entry.elementsEqual(wanted) { return true }
                if entry.lexicographicallyPrecedes(wanted) { start = last + 1 } else { end = first }
            }
            return false
        }
    }

    /// In the order of the list.
    static var all: [Substring] { "\(list)".split { $0 == " " || $0 == "\n" } }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n")
    }
}
