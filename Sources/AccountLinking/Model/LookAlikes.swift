import CUnicodeSecurity

extension EmailAddress {
    /// A key shared by addresses that a person or a mail host may confuse. Never a reason to join accounts.
    ///
    /// Drops the spellings that the address's host is known to ignore, then computes the skeleton (Unicode Technical
    /// Standard #39, section 4) with ICU's data.
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

/// The domain in Unicode; `nil` if it has no A-label, which contains a hyphen.
private func shownDomain(_ domain: UnsafeBufferPointer<UInt8>) -> String? {
    guard domain.contains(UInt8(ascii: "-")) else { return nil }
    return unicodeDomain(String(decoding: domain, as: UTF8.self))
}

/// Spellings of the local part that a mail host ignores, from its documentation.
private struct MailboxSpelling {
    /// The main domain of the host.
    var domain: String?
    var ignoresDots = false
    /// Starts a tag that the owner chooses.
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

    /// The spellings that the host of `domain` ignores; none for an unknown host.
    static func of(_ domain: UnsafeBufferPointer<UInt8>) -> MailboxSpelling {
        for place in known.indices where known[place].domain.utf8CodeUnitCount == domain.count {
            if known[place].domain.withUTF8Buffer({ $0.elementsEqual(domain) }) { return known[place].spelling }
        }
        return MailboxSpelling()
    }
}

/// The skeleton in lower case. ICU's skeletons distinguish case, addresses do not: the digit 0 becomes a capital O.
private func lowercasedSkeleton(of text: UnsafeBufferPointer<UInt8>) -> String {
    ASCIISkeletons.shared.lowercasedSkeleton(of: text)
        ?? skeleton(of: String(decoding: text, as: UTF8.self)).lowercased()
}

/// Cache of ICU's skeleton for each ASCII character. The skeleton of ASCII text is the concatenation of its characters'
/// skeletons, if these are ASCII and so need no normalization.
struct ASCIISkeletons {
    static let shared = ASCIISkeletons()

    /// Lower case, two characters at most: the first in the lowest byte, then the second or 0. If the whole is 0, ask
    /// ICU.
    private var skeletons = [UInt16](repeating: 0, count: 256)

    private init() {
        for byte in UInt8(1)..<128 {
            let skeleton = Array(skeleton(of: String(UnicodeScalar(byte))).lowercased().utf8)
            guard skeleton.allSatisfy({ $0 < 0x80 }), (1...2).contains(skeleton.count) else { continue }
            skeletons[Int(byte)] = UInt16(skeleton[0]) | (skeleton.count > 1 ? UInt16(skeleton[1]) << 8 : 0)
        }
    }

    /// `nil` if ICU must be asked.
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

/// The skeleton of `text`, or `text` itself if ICU fails.
func skeleton(of text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
        // A skeleton is at most 18 times as long as its character.
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
