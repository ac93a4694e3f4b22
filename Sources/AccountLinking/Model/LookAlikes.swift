import CUnicodeSecurity

extension EmailAddress {
    /// What addresses have in common that a person, or their mail host, takes for one. Never a reason to join accounts.
    ///
    /// Spellings that the host of the address is known to ignore are left out; what remains becomes its skeleton (Unicode
    /// Technical Standard #39, section 4), by ICU's data.
    package var lookAlikeKey: String {
        let local = lowercased.prefix { $0 != "@" }
        let spelling = MailboxSpelling.of[String(domain)] ?? MailboxSpelling()
        var mailbox = local
        if let mark = spelling.tagMark, let tag = mailbox.firstIndex(of: mark), tag != mailbox.startIndex {
            mailbox = mailbox[..<tag]
        }
        let name = spelling.ignoresDots ? mailbox.filter { $0 != "." } : String(mailbox)
        // Skeletons tell cases apart, of which an address has one: nought is taken for a capital O.
        return skeleton(of: "\(name)@\(spelling.domain ?? unicodeDomain(String(domain)) ?? String(domain))")
            .lowercased()
    }
}

/// What a mail host makes of the part before the "@", as its documents say.
private struct MailboxSpelling {
    /// Another name of the same host.
    var domain: String?
    var ignoresDots = false
    /// What follows it is a tag of the owner's own.
    var tagMark: Character?

    static let of: [String: MailboxSpelling] = {
        let gmail = MailboxSpelling(domain: "gmail.com", ignoresDots: true, tagMark: "+")
        let plus = MailboxSpelling(tagMark: "+")
        return [
            "gmail.com": gmail, "googlemail.com": gmail,
            "outlook.com": plus, "hotmail.com": plus, "live.com": plus, "msn.com": plus,
            "icloud.com": MailboxSpelling(domain: "icloud.com", tagMark: "+"),
            "me.com": MailboxSpelling(domain: "icloud.com", tagMark: "+"),
            "mac.com": MailboxSpelling(domain: "icloud.com", tagMark: "+"),
            "fastmail.com": plus,
            "proton.me": MailboxSpelling(domain: "proton.me", ignoresDots: true, tagMark: "+"),
            "protonmail.com": MailboxSpelling(domain: "proton.me", ignoresDots: true, tagMark: "+"),
            "yahoo.com": MailboxSpelling(tagMark: "-"),
        ]
    }()
}

/// The text itself where ICU cannot answer: then only what is the same looks alike.
private func skeleton(of text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
        // A character's skeleton is 18 times as long at most.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: bytes.count * 18 + 1) { buffer in
            let length = bytes.withMemoryRebound(to: CChar.self) { characters in
                CUnicodeSecuritySkeleton(
                    characters.baseAddress,
                    Int32(characters.count),
                    buffer.baseAddress,
                    Int32(buffer.count)
                )
            }
            guard length > 0, length <= buffer.count else { return String(decoding: bytes, as: UTF8.self) }
            return String(decoding: buffer.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
}
