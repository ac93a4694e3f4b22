/// An e-mail address: as typed, and in the canonical form by which addresses are compared.
///
/// The only place that folds case and Unicode. It does not fold dots, `+suffix` or compatibility forms: addresses that
/// a mail host treats as one are two here, so a look-alike cannot claim another person's address.
package struct EmailAddress: Sendable {
    /// The typed form. Mail goes to the account's spelling, not to that of a request (`isSameMailbox`).
    package let raw: String
    /// The key: local part in NFC and locale-independent lower case, domain in lower-case A-labels. Under 256 bytes.
    package let canonical: String
    private let isASCII: Bool

    /// The form that clients see: `raw` in locale-independent lower case.
    package var lowercased: String { isASCII ? canonical : raw.lowercased() }

    /// Parses `raw` without trimming.
    ///
    /// Accepts a dot-atom of 1 to 64 octets (RFC 5321 §4.5.3.1.1, RFC 5322 §3.2.3), `@`, and a domain name of at least
    /// two labels or `localhost` (RFC 1123 §2.1; the last label is not a number). Rejects quoted local parts, comments,
    /// address literals, control characters, spaces, and 256 bytes or more.
    ///
    /// Internationalized addresses (RFC 6531) may contain the letters, digits and marks of domain names (IDNA2008, RFC
    /// 5892), in the local part too: no emoji, no invisible and no unassigned characters.
    /// - Returns: `nil` if `raw` is not such an address.
    package init?(_ raw: String) {
        let bytes = raw.utf8.span
        guard bytes.count < Self.bytesEnd,
            let at = bytes.indices.first(where: { bytes[$0] == UInt8(ascii: "@") }),
            (1...64).contains(at)
        else { return nil }
        // A second "@" fails as a character of the domain.
        let (local, domain) = (0..<at, at + 1..<bytes.count)
        switch (formOfLocalPart(local, of: bytes), formOfDomain(domain, of: bytes)) {
        case (.invalid, _), (_, .invalid): return nil
        case (.folded, .folded):
            // Most addresses are typed in canonical form: one string serves both.
            canonical = raw
            isASCII = true
        case (let localForm, let domainForm):
            var folded = loweredBytes(local, of: bytes)
            if localForm == .international {
                guard let normalised = internationalLocalPart(folded) else { return nil }
                folded = normalised
            }
            folded.append(UInt8(ascii: "@"))
            if domainForm == .international {
                guard let ascii = internationalDomain(raw.dropFirstBytes(at + 1)) else { return nil }
                let name = ascii.utf8.span
                guard formOfDomain(name.indices, of: name).isASCII else { return nil }
                folded += loweredBytes(name.indices, of: name)
            } else {
                folded += loweredBytes(domain, of: bytes)
            }
            guard folded.count < Self.bytesEnd else { return nil }
            canonical = String(decoding: folded, as: UTF8.self)
            isASCII = localForm.isASCII && domainForm.isASCII
        }
        self.raw = raw
    }

    /// The first length in bytes that is too long.
    fileprivate static let bytesEnd = 256

    /// Returns true if every mail host delivers both to one mailbox. Equal addresses can differ here: some hosts
    /// distinguish local parts by case or normal form.
    package func isSameMailbox(as other: EmailAddress) -> Bool {
        let at = UInt8(ascii: "@")
        // Compares bytes, because Swift strings in different normal forms are equal.
        return raw.utf8.prefix { $0 != at }.elementsEqual(other.raw.utf8.prefix { $0 != at }) && domain == other.domain
    }

    package var domain: Substring {
        // INVARIANT: `canonical` has exactly one "@".
        let start = canonical.utf8.firstIndex(of: UInt8(ascii: "@")).map(canonical.utf8.index(after:))
        return canonical[(start ?? canonical.endIndex)...]
    }
}

extension EmailAddress: Hashable {
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.canonical == rhs.canonical }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(canonical)
    }
}

/// The spelling of a part of an address.
private enum Form {
    /// ASCII without capital letters.
    case folded
    case ascii
    case international
    case invalid

    var isASCII: Bool { self == .folded || self == .ascii }
}

private func isCapital(_ byte: UInt8) -> Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) }

/// The bytes, with ASCII letters in lower case.
private func loweredBytes(_ part: Range<Int>, of bytes: Span<UInt8>) -> [UInt8] {
    part.map { isCapital(bytes[$0]) ? bytes[$0] | 0x20 : bytes[$0] }
}

extension String {
    /// The rest after `count` bytes, which end at a character boundary.
    fileprivate func dropFirstBytes(_ count: Int) -> Substring { self[utf8.index(startIndex, offsetBy: count)...] }
}

/// The form of a local part, which must be a dot-atom.
private func formOfLocalPart(_ local: Range<Int>, of bytes: Span<UInt8>) -> Form {
    var form = Form.folded
    var previous = UInt8(ascii: ".")
    for index in local {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: "."): if previous == byte { return .invalid }
        case 0x80...: form = .international
        case _ where isCapital(byte): if form == .folded { form = .ascii }
        case _ where isAtomText(byte): break
        default: return .invalid
        }
        previous = byte
    }
    return previous == UInt8(ascii: ".") ? .invalid : form
}

/// `atext` of RFC 5322 §3.2.3.
private func isAtomText(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
        UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "/"),
        UInt8(ascii: "="), UInt8(ascii: "?"), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"),
        UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: "~"):
        true
    default: false
    }
}

/// The form of a domain name. An international one is not checked further.
private func formOfDomain(_ domain: Range<Int>, of bytes: Span<UInt8>) -> Form {
    let hyphen = UInt8(ascii: "-")
    var form = Form.folded
    var labelCount = 1
    var labelLength = 0
    var labelIsNumber = true
    var previous = hyphen
    for index in domain {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: "."):
            guard labelLength > 0, previous != hyphen else { return .invalid }
            labelCount += 1
            labelLength = 0
            labelIsNumber = true
            previous = hyphen
            continue
        case UInt8(ascii: "0")...UInt8(ascii: "9"): break
        case UInt8(ascii: "a")...UInt8(ascii: "z"): labelIsNumber = false
        case UInt8(ascii: "A")...UInt8(ascii: "Z"):
            labelIsNumber = false
            form = .ascii
        case hyphen:
            guard labelLength > 0 else { return .invalid }
            labelIsNumber = false
        case 0x80...: return .international
        default: return .invalid
        }
        labelLength += 1
        guard labelLength <= 63 else { return .invalid }
        previous = byte
    }
    guard labelLength > 0, previous != hyphen, !labelIsNumber else { return .invalid }
    if labelCount == 1, loweredBytes(domain, of: bytes) != Array("localhost".utf8) { return .invalid }
    return form
}
