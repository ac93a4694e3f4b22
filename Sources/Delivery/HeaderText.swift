import FoundationEssentials

/// Text for the head of a mail: one line, for any input.
enum HeaderText {
    /// Bytes of UTF-8 in one encoded word, so that a line with its field name has at most 76 characters (RFC 2047 §2).
    private static let wordBytesMax = 39
    private static let plainBytesMax = 60

    /// `text` in one line: line ends and direction marks become spaces, and spaces around the text are removed.
    static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format, .surrogate: " " as Unicode.Scalar
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
    }

    /// `text` as unstructured text (RFC 5322 §3.2.5): unchanged if it is short ASCII, else in encoded words (RFC 2047),
    /// one on each line.
    static func unstructured(_ text: String) -> String {
        let line = line(text)
        let isPlain = line.utf8.count <= plainBytesMax && line.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        return isPlain && !line.contains("=?") ? line : encoded(line)
    }

    /// A mailbox: its name as a quoted string or in encoded words, its address in angle brackets.
    static func mailbox(_ mailbox: Mailbox) -> String {
        let address = mailbox.address.forTransport
        let name = line(mailbox.name ?? "")
        guard !name.isEmpty else { return address }
        let isPlain = name.utf8.count <= plainBytesMax && name.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        guard isPlain, !name.contains("=?") else { return "\(encoded(name))\r\n <\(address)>" }
        let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(quoted)\" <\(address)>"
    }

    private static func encoded(_ line: String) -> String {
        var words: [[UInt8]] = [[]]
        // An encoded word never ends inside a character (RFC 2047 §5).
        for scalar in line.unicodeScalars {
            let bytes = Array(String(scalar).utf8)
            if words[words.count - 1].count + bytes.count > wordBytesMax { words.append([]) }
            words[words.count - 1] += bytes
        }
        return words.map { "=?utf-8?B?\(Data($0).base64EncodedString())?=" }.joined(separator: "\r\n ")
    }
}
