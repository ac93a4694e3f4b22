import AccountLinking
import AccountTestSupport
import Testing

@testable import Delivery

/// The bytes of a mail. `SMTPRelayTests` reads them with an independent parser.
struct MailMessageTests {
    private let golden = GoldenFiles()

    @Test func `the bytes of a mail match the golden file`() throws {
        let text = String(decoding: try mail().bytes, as: UTF8.self)
        try golden.expect(text.replacing("\r\n", with: "␍\n"), matches: "mail.txt")
    }

    @Test func `every line of a mail is ASCII, at most 76 characters long and ends with CR LF`() throws {
        var mail = try mail()
        mail.subject = String(repeating: "ทดสอบ", count: 40)
        mail.text = "\u{0}\u{1B}a\rb\nc\u{2028}d" + String(repeating: "long ", count: 400) + "\n. \n.\nlast "
        mail.html = String(repeating: "文", count: 300)
        mail.from = try mailbox(String(repeating: "é", count: 60) + " <no-reply@example.com>")
        let bytes = mail.bytes
        #expect(bytes.allSatisfy { $0 < 0x7F })
        var line: [UInt8] = []
        for byte in bytes {
            line.append(byte)
            #expect(line.suffix(2).first != 0x0D || byte == 0x0A || line.count == 1)
            guard byte == 0x0A else { continue }
            #expect(line.count <= 78 && line.suffix(2) == [0x0D, 0x0A])
            // Relays may strip white space at the end of a line.
            #expect(line.dropLast(2).last != 0x20)
            line = []
        }
    }

    @Test(arguments: [
        "Ada\r\nBcc: all@example.com", "Ada\nX: y", "Ada\u{0B}\u{0C}\u{85}\u{2028}\u{2029}Bcc: x", "\u{202E}adA",
    ])
    func `a name with line breaks adds no header field`(_ name: String) throws {
        var mail = try mail()
        mail.subject = name
        mail.from = Mailbox(name: name, address: mail.from.address)
        mail.replyTo = mail.from
        let head = String(decoding: mail.bytes, as: UTF8.self).split(separator: "\r\n\r\n")[0]
        let names = head.split(separator: "\r\n").filter { !$0.hasPrefix(" ") }.map { $0.prefix { $0 != ":" } }
        #expect(
            names == [
                "Date", "From", "Reply-To", "To", "Subject", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress",
                "Content-Language", "MIME-Version", "Content-Type",
            ]
        )
    }

    @Test(arguments: [
        ("short", "short"), ("a =?utf-8?Q?b?=", "=?utf-8?B?YSA9P3V0Zi04P1E/Yj89?="),
        ("Ünïcode", "=?utf-8?B?w5xuw69jb2Rl?="), ("  two\n words ", "two words"), ("", ""),
    ])
    func `a subject is encoded in one line`(_ text: String, _ field: String) {
        #expect(HeaderText.unstructured(text) == field)
    }

    @Test(arguments: [
        ("ada@example.com", "ada@example.com"), ("Ada <ada@example.com>", "\"Ada\" <ada@example.com>"),
        ("A \"B\" \\ C, D <ada@example.com>", "\"A \\\"B\\\" \\\\ C, D\" <ada@example.com>"),
        ("Zoë <ada@bücher.example>", "=?utf-8?B?Wm/Dqw==?=\r\n <ada@xn--bcher-kva.example>"),
    ])
    func `a mailbox is quoted or encoded for a header field`(_ text: String, _ field: String) throws {
        #expect(HeaderText.mailbox(try mailbox(text)) == field)
    }

    @Test(arguments: [
        "", "Ada", "ada@example.com>", "Ada <ada>", "a@example.com, b@example.com", "A <a@b.example>, B <c@d.example>",
        "<a@example.com", "a@b\r\nc",
    ])
    func `a text that is not a mailbox is refused`(_ text: String) {
        #expect(Mailbox(text) == nil)
    }

    @Test func `the domain of a recipient is in ASCII, the local part is unchanged`() throws {
        #expect(try #require(EmailAddress("Ada.B@BÜCHER.example")).forTransport == "Ada.B@xn--bcher-kva.example")
        #expect(try #require(EmailAddress("zoë@Example.com")).forTransport == "zoë@example.com")
    }

    @Test(arguments: [
        (0, "Thu, 1 Jan 1970 00:00:00 +0000"), (951_827_696, "Tue, 29 Feb 2000 12:34:56 +0000"),
        (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 +0000"),
    ])
    func `a date has the format of RFC 5322`(_ seconds: Int64, _ text: String) {
        #expect(MailMessage.date(Timestamp(secondsSinceEpoch: seconds)) == text)
    }

    private func mail() throws -> MailMessage {
        MailMessage(
            id: "00000000-0000-4000-8000-000000000001@example.com",
            createdAt: Timestamp(secondsSinceEpoch: 1_750_000_000),
            from: try mailbox("Example <no-reply@example.com>"),
            replyTo: try mailbox("help@example.com"),
            to: try #require(EmailAddress("Ada@example.com")),
            subject: "要將 Google 連結到您的帳戶嗎？",
            language: "zh-TW",
            text: "a = b \n\n.dot\nงาน\n",
            html: "<p title=\"x\">ä</p>\n"
        )
    }

    private func mailbox(_ text: String) throws -> Mailbox { try #require(Mailbox(text)) }
}
