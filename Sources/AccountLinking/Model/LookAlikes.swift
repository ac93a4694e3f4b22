import CUnicodeSecurity

extension EmailAddress {
    /// What addresses have in common that a person, or their mail host, takes for one. Never a reason to join accounts.
    ///
    /// Spellings that the host of the address is known to ignore are left out; what remains becomes its skeleton (Unicode
    /// Technical Standard #39, section 4), by ICU's data.
    package var lookAlikeKey: String {
        let domain = String(domain)
        let spelling = MailboxSpelling.of[domain] ?? MailboxSpelling()
        var mailbox = lowercased.utf8.prefix { $0 != UInt8(ascii: "@") }
        if let mark = spelling.tagMark, let tag = mailbox.firstIndex(of: mark), tag != mailbox.startIndex {
            mailbox = mailbox[..<tag]
        }
        var text: [UInt8] = []
        text.reserveCapacity(lowercased.utf8.count)
        if spelling.ignoresDots {
            text += mailbox.filter { $0 != UInt8(ascii: ".") }
        } else {
            text += mailbox
        }
        text.append(UInt8(ascii: "@"))
        text += (spelling.domain ?? shownDomain(domain)).utf8
        return lowercasedSkeleton(of: text)
    }
}

/// A domain as people see it. Without a hyphen there is no A-label in it.
private func shownDomain(_ domain: String) -> String {
    guard domain.utf8.contains(UInt8(ascii: "-")) else { return domain }
    return unicodeDomain(domain) ?? domain
}

/// What a mail host makes of the part before the "@", as its documents say.
private struct MailboxSpelling {
    /// Another name of the same host.
    var domain: String?
    var ignoresDots = false
    /// What follows it is a tag of the owner's own.
    var tagMark: UInt8?

    static let of: [String: MailboxSpelling] = {
        let gmail = MailboxSpelling(domain: "gmail.com", ignoresDots: true, tagMark: UInt8(ascii: "+"))
        let plus = MailboxSpelling(tagMark: UInt8(ascii: "+"))
        return [
            "gmail.com": gmail, "googlemail.com": gmail,
            "outlook.com": plus, "hotmail.com": plus, "live.com": plus, "msn.com": plus,
            "icloud.com": MailboxSpelling(domain: "icloud.com", tagMark: UInt8(ascii: "+")),
            "me.com": MailboxSpelling(domain: "icloud.com", tagMark: UInt8(ascii: "+")),
            "mac.com": MailboxSpelling(domain: "icloud.com", tagMark: UInt8(ascii: "+")),
            "fastmail.com": plus,
            "proton.me": MailboxSpelling(domain: "proton.me", ignoresDots: true, tagMark: UInt8(ascii: "+")),
            "protonmail.com": MailboxSpelling(domain: "proton.me", ignoresDots: true, tagMark: UInt8(ascii: "+")),
            "yahoo.com": MailboxSpelling(tagMark: UInt8(ascii: "-")),
        ]
    }()
}

/// Skeletons tell cases apart, of which an address has one: nought is taken for a capital O.
private func lowercasedSkeleton(of text: [UInt8]) -> String {
    ASCIISkeletons.shared.lowercasedSkeleton(of: text)
        ?? skeleton(of: String(decoding: text, as: UTF8.self)).lowercased()
}

/// What ICU says of each ASCII character by itself, asked once: the skeleton of a text in ASCII is those of its characters
/// one after the other, as long as they are ASCII too and so need no normalisation.
struct ASCIISkeletons {
    static let shared = ASCIISkeletons()

    /// In lower case; 0 where it is not one ASCII character.
    private var single = [UInt8](repeating: 0, count: 128)
    /// In lower case; empty where it is a single character, or not ASCII.
    private var longer = [[UInt8]](repeating: [], count: 128)

    private init() {
        for byte in UInt8(1)..<128 {
            let skeleton = Array(skeleton(of: String(UnicodeScalar(byte))).lowercased().utf8)
            guard skeleton.allSatisfy({ $0 < 0x80 }) else { continue }
            if skeleton.count == 1 { single[Int(byte)] = skeleton[0] } else { longer[Int(byte)] = skeleton }
        }
    }

    /// `nil` where ICU has to be asked.
    func lowercasedSkeleton(of text: [UInt8]) -> String? {
        var skeleton: [UInt8] = []
        skeleton.reserveCapacity(text.count + 8)
        for byte in text {
            guard byte < 0x80 else { return nil }
            if single[Int(byte)] != 0 {
                skeleton.append(single[Int(byte)])
            } else {
                let several = longer[Int(byte)]
                if several.isEmpty { return nil }
                skeleton += several
            }
        }
        return String(decoding: skeleton, as: UTF8.self)
    }
}

/// The text itself where ICU cannot answer: then only what is the same looks alike.
func skeleton(of text: String) -> String {
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
