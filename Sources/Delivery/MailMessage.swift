package import AccountLinking
import Glibc

/// A mail in plain text and in HTML (RFC 5322, RFC 2045 and 2046).
package struct MailMessage: Sendable, Hashable {
    /// The id of the mail, the same in each attempt, so that a receiver recognizes duplicates: `id@domain`, both
    /// dot-atoms.
    package var id: String
    package var createdAt: Timestamp
    package var from: Mailbox
    package var replyTo: Mailbox?
    package var to: EmailAddress
    package var subject: String
    /// A BCP 47 tag.
    package var language: String
    package var text: String
    package var html: String

    package init(
        id: String,
        createdAt: Timestamp,
        from: Mailbox,
        replyTo: Mailbox?,
        to: EmailAddress,
        subject: String,
        language: String,
        text: String,
        html: String
    ) {
        self.id = id
        self.createdAt = createdAt
        self.from = from
        self.replyTo = replyTo
        self.to = to
        self.subject = subject
        self.language = language
        self.text = text
        self.html = html
    }

    /// The bytes on the wire: they depend only on the fields, so that each attempt sends the same. ASCII, unless the
    /// recipient's local part is not (RFC 6532).
    package var bytes: [UInt8] {
        // No line of quoted-printable text contains "=_".
        let boundary = "=_\(id.prefix { $0 != "@" })"
        var fields = [
            "Date: \(Self.date(createdAt))",
            "From: \(HeaderText.mailbox(from))",
        ]
        if let replyTo { fields.append("Reply-To: \(HeaderText.mailbox(replyTo))") }
        fields += [
            "To: \(to.forTransport)",
            "Subject: \(HeaderText.unstructured(subject))",
            "Message-ID: <\(id)>",
            // Machines do not answer an automatic mail (RFC 3834 §5). The second field is for Exchange.
            "Auto-Submitted: auto-generated",
            "X-Auto-Response-Suppress: All",
            "Content-Language: \(language)",
            "MIME-Version: 1.0",
            "Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"",
        ]
        // The best form comes last (RFC 2046 §5.1.4).
        let parts = [("plain", text), ("html", html)].map { kind, content in
            """
            --\(boundary)\r
            Content-Type: text/\(kind); charset=utf-8\r
            Content-Transfer-Encoding: quoted-printable\r
            \r
            \(QuotedPrintable.encode(content))\r

            """
        }
        return Array("\(fields.joined(separator: "\r\n"))\r\n\r\n\(parts.joined())--\(boundary)--\r\n".utf8)
    }

    /// RFC 5322 §3.3, in UTC.
    static func date(_ instant: Timestamp) -> String {
        var seconds = time_t(instant.secondsSinceEpoch)
        var date = tm()
        gmtime_r(&seconds, &date)
        let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(date.tm_wday)]
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][
            Int(date.tm_mon)
        ]
        let time = [date.tm_hour, date.tm_min, date.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        return "\(day), \(date.tm_mday) \(month) \(1900 + Int(date.tm_year)) \(time) +0000"
    }
}

/// RFC 2045 §6.7.
enum QuotedPrintable {
    private static let lineBytesMax = 76

    /// `text` in lines of ASCII with CR LF between them. Every kind of line end in `text` ends a line.
    static func encode(_ text: String) -> String {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(line).joined(separator: "\r\n")
    }

    private static func line(_ text: Substring) -> String {
        var lines: [[UInt8]] = [[]]
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            let isLast = index == bytes.count - 1
            let isSpace = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain = (0x21..<0x7F).contains(byte) && byte != UInt8(ascii: "=") || isSpace && !isLast
            let written = isPlain ? [byte] : Array("=".utf8) + hexadecimal(byte)
            // Reserves space for the soft line break, even if none follows.
            if lines[lines.count - 1].count + written.count >= lineBytesMax {
                lines[lines.count - 1].append(UInt8(ascii: "="))
                lines.append([])
            }
            lines[lines.count - 1] += written
        }
        return lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\r\n")
    }

    private static func hexadecimal(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
    }
}
