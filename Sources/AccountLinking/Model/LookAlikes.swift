import CUnicodeSecurity

extension EmailAddress {
    /// What addresses have in common that a person, or their mail host, takes for one. Never a reason to join accounts.
    ///
    /// Spellings that the host of the address is known to ignore are left out; what remains becomes its skeleton (Unicode
    /// Technical Standard #39, section 4), by ICU's data.
    package var lookAlikeKey: String {
        var (shown, key) = (lowercased, canonical)
        return shown.withUTF8 { shown in key.withUTF8 { key in Self.lookAlikeKey(of: shown, key) } }
    }

    /// - `shown`: an address in lower case.
    /// - `key`: its canonical form.
    private static func lookAlikeKey(of shown: UnsafeBufferPointer<UInt8>, _ key: UnsafeBufferPointer<UInt8>) -> String
    {
        let at = UInt8(ascii: "@")
        // INVARIANT: an address has exactly one "@".
        let domain = UnsafeBufferPointer(rebasing: key.drop { $0 != at }.dropFirst())
        let spelling = MailboxSpelling.of(domain)
        let otherDomain = spelling.domain ?? shownDomain(domain)
        let bytesMax = shown.count + 1 + (otherDomain?.utf8.count ?? domain.count)
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytesMax) { text in
            var count = 0
            for (place, byte) in shown.enumerated() {
                if byte == at || byte == spelling.tagMark && place > 0 { break }
                if byte == UInt8(ascii: "."), spelling.ignoresDots { continue }
                text[count] = byte
                count += 1
            }
            text[count] = at
            count += 1
            if let otherDomain {
                count = text[count...].update(fromContentsOf: Array(otherDomain.utf8))
            } else {
                count = text[count...].update(fromContentsOf: domain)
            }
            return lowercasedSkeleton(of: UnsafeBufferPointer(rebasing: text[..<count]))
        }
    }
}

/// A domain as people see it, where that is not as it is. Without a hyphen there is no A-label in it.
private func shownDomain(_ domain: UnsafeBufferPointer<UInt8>) -> String? {
    guard domain.contains(UInt8(ascii: "-")) else { return nil }
    return unicodeDomain(String(decoding: domain, as: UTF8.self))
}

/// What a mail host makes of the part before the "@", as its documents say.
private struct MailboxSpelling {
    /// Another name of the same host.
    var domain: String?
    var ignoresDots = false
    /// What follows it is a tag of the owner's own.
    var tagMark: UInt8?

    private static let known: [(domain: StaticString, spelling: MailboxSpelling)] = {
        let gmail = MailboxSpelling(domain: "gmail.com", ignoresDots: true, tagMark: UInt8(ascii: "+"))
        let plus = MailboxSpelling(tagMark: UInt8(ascii: "+"))
        let iCloud = MailboxSpelling(domain: "icloud.com", tagMark: UInt8(ascii: "+"))
        let proton = MailboxSpelling(domain: "proton.me", ignoresDots: true, tagMark: UInt8(ascii: "+"))
        return [
            ("gmail.com", gmail), ("googlemail.com", gmail),
            ("outlook.com", plus), ("hotmail.com", plus), ("live.com", plus), ("msn.com", plus),
            ("icloud.com", iCloud), ("me.com", iCloud), ("mac.com", iCloud),
            ("fastmail.com", plus),
            ("proton.me", proton), ("protonmail.com", proton),
            ("yahoo.com", MailboxSpelling(tagMark: UInt8(ascii: "-"))),
        ]
    }()

    /// What the host of a domain makes of it; nothing, where that is not known.
    static func of(_ domain: UnsafeBufferPointer<UInt8>) -> MailboxSpelling {
        for place in known.indices where known[place].domain.utf8CodeUnitCount == domain.count {
            if known[place].domain.withUTF8Buffer({ $0.elementsEqual(domain) }) { return known[place].spelling }
        }
        return MailboxSpelling()
    }
}

/// Skeletons tell cases apart, of which an address has one: nought is taken for a capital O.
private func lowercasedSkeleton(of text: UnsafeBufferPointer<UInt8>) -> String {
    ASCIISkeletons.shared.lowercasedSkeleton(of: text)
        ?? skeleton(of: String(decoding: text, as: UTF8.self)).lowercased()
}

/// What ICU says of each ASCII character by itself, asked once: the skeleton of a text in ASCII is those of its characters
/// one after the other, as long as they are ASCII too and so need no normalisation.
struct ASCIISkeletons {
    static let shared = ASCIISkeletons()

    /// In lower case, two characters at most: the first in the lowest byte, then the second or 0. 0 is what ICU has to be asked.
    private var skeletons = [UInt16](repeating: 0, count: 256)

    private init() {
        for byte in UInt8(1)..<128 {
            let skeleton = Array(skeleton(of: String(UnicodeScalar(byte))).lowercased().utf8)
            guard skeleton.allSatisfy({ $0 < 0x80 }), (1...2).contains(skeleton.count) else { continue }
            skeletons[Int(byte)] = UInt16(skeleton[0]) | (skeleton.count > 1 ? UInt16(skeleton[1]) << 8 : 0)
        }
    }

    /// `nil` where ICU has to be asked.
    func lowercasedSkeleton(of text: UnsafeBufferPointer<UInt8>) -> String? {
        var isKnown = true
        let skeleton = String(unsafeUninitializedCapacity: 2 * text.count) { buffer in
            var count = 0
            for byte in text {
                let skeleton = skeletons[Int(byte)]
                if skeleton == 0 { isKnown = false }
                buffer[count] = UInt8(truncatingIfNeeded: skeleton)
                count += 1
                if skeleton > 0xFF {
                    buffer[count] = UInt8(truncatingIfNeeded: skeleton >> 8)
                    count += 1
                }
            }
            return count
        }
        return isKnown ? skeleton : nil
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
