/// An e-mail address: as it was typed, and in the form that says whether two of them are the same.
///
/// The one place where case and Unicode are folded. Nothing else is: no dots, no `+suffix`, no compatibility forms
/// (two addresses that some mail host treats as one are two here, and no one can claim another's by a look-alike).
package struct EmailAddress: Sendable {
    /// As it was typed: what mail is sent to.
    package let raw: String
    /// The key: local part in NFC and lower case of no locale, domain in A-labels and lower case. Under 256 bytes.
    package let canonical: String
    private let isASCII: Bool

    /// The form clients see: `raw` in lower case of no locale (`spec/01` §1.2).
    package var lowercased: String { isASCII ? canonical : raw.lowercased() }

    /// Parses `raw` as it stands: nothing is trimmed.
    ///
    /// Accepted is what mail hosts of today deliver: a dot-atom of 1 to 64 octets (RFC 5321 §4.5.3.1.1, RFC 5322
    /// §3.2.3), `@`, and a domain name of at least two labels or `localhost` (RFC 1123 §2.1; the last label is not a
    /// number). Not accepted are quoted local parts, comments, address literals, control characters, spaces, and 256
    /// bytes or more.
    ///
    /// Internationalised addresses (RFC 6531) are accepted where their letters, digits and marks are those that domain
    /// names may have (IDNA2008, RFC 5892), in the local part too: no emoji, nothing invisible, nothing unassigned.
    /// - Returns: `nil` when `raw` is not such an address.
    package init?(_ raw: String) {
        guard raw.utf8.count < Self.bytesEnd, let at = raw.utf8.firstIndex(of: UInt8(ascii: "@")) else { return nil }
        // A second "@" fails as a character of the domain: quoted local parts are not accepted.
        let local = raw.utf8[..<at]
        let domain = raw.utf8[raw.utf8.index(after: at)...]
        guard (1...64).contains(local.count) else { return nil }

        var folded = FoldedBytes()
        var isASCII = true
        switch foldLocalPart(local, into: &folded) {
        case .ascii: break
        case .international:
            guard let normalised = internationalLocalPart(folded.array) else { return nil }
            folded = FoldedBytes(normalised)
            isASCII = false
        case .invalid: return nil
        }
        folded.append(UInt8(ascii: "@"))

        let domainStart = folded.count
        switch foldDomain(domain, into: &folded) {
        case .ascii: break
        case .international:
            folded.cut(to: domainStart)
            guard let ascii = internationalDomain(Substring(domain)),
                foldDomain(ascii.utf8[...], into: &folded) == .ascii
            else { return nil }
            isASCII = false
        case .invalid: return nil
        }
        guard folded.count < Self.bytesEnd else { return nil }

        self.raw = raw
        // Most addresses are written as they are folded: one string does for both.
        self.canonical = folded.isEqual(to: raw) ? raw : String(decoding: folded.array, as: UTF8.self)
        self.isASCII = isASCII
    }

    /// So many bytes no address has.
    fileprivate static let bytesEnd = 256

    /// The domain of the canonical form.
    package var domain: Substring {
        // INVARIANT: `canonical` has exactly one "@".
        let start = canonical.utf8.firstIndex(of: UInt8(ascii: "@")).map(canonical.utf8.index(after:))
        return canonical[(start ?? canonical.endIndex)...]
    }
}

/// What is folded of an address, without an allocation.
private struct FoldedBytes {
    private var bytes = InlineArray<256, UInt8>(repeating: 0)
    /// Of all that were appended: those that found no room, of what is no address, are lost.
    private(set) var count = 0

    init() {}

    init(_ bytes: [UInt8]) {
        for byte in bytes { append(byte) }
    }

    mutating func append(_ byte: UInt8) {
        if count < bytes.count { bytes[count] = byte }
        count += 1
    }

    mutating func cut(to count: Int) { self.count = count }

    var array: [UInt8] { (0..<min(count, bytes.count)).map { bytes[$0] } }

    /// Whether what was appended since `start` is `text`.
    func isEqual(to text: String, from start: Int = 0) -> Bool {
        let other = text.utf8.span
        guard other.count == count - start, count <= bytes.count else { return false }
        for index in other.indices where bytes[start + index] != other[index] { return false }
        return true
    }
}

extension EmailAddress: Hashable {
    package static func == (lhs: Self, rhs: Self) -> Bool { lhs.canonical == rhs.canonical }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(canonical)
    }
}

private enum Folded {
    case ascii
    case international
    case invalid
}

/// Appends the dot-atom, its ASCII letters in lower case.
private func foldLocalPart(_ local: Substring.UTF8View, into folded: inout FoldedBytes) -> Folded {
    var result = Folded.ascii
    var previous = UInt8(ascii: ".")
    for byte in local {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): folded.append(byte | 0x20)
        case UInt8(ascii: "."):
            if previous == byte { return .invalid }
            folded.append(byte)
        case 0x80...:
            folded.append(byte)
            result = .international
        case _ where isAtomText(byte): folded.append(byte)
        default: return .invalid
        }
        previous = byte
    }
    return previous == UInt8(ascii: ".") ? .invalid : result
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

/// Appends the lower-case domain name, until a byte is not ASCII.
private func foldDomain(_ domain: Substring.UTF8View, into folded: inout FoldedBytes) -> Folded {
    let hyphen = UInt8(ascii: "-")
    var labelCount = 1
    var labelLength = 0
    var labelIsNumber = true
    var previous = hyphen
    let start = folded.count
    for byte in domain {
        switch byte {
        case UInt8(ascii: "."):
            guard labelLength > 0, previous != hyphen else { return .invalid }
            labelCount += 1
            labelLength = 0
            labelIsNumber = true
            previous = hyphen
            folded.append(byte)
            continue
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            folded.append(byte)
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            labelIsNumber = false
            folded.append(byte | 0x20)
        case hyphen:
            guard labelLength > 0 else { return .invalid }
            labelIsNumber = false
            folded.append(byte)
        case 0x80...: return .international
        default: return .invalid
        }
        labelLength += 1
        guard labelLength <= 63 else { return .invalid }
        previous = byte
    }
    guard labelLength > 0, previous != hyphen, !labelIsNumber else { return .invalid }
    if labelCount == 1, !folded.isEqual(to: "localhost", from: start) { return .invalid }
    return .ascii
}
