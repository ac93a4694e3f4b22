/// A checked text, such as an id.
package protocol CheckedText {
    var rawValue: String { get }

    init?(_ rawValue: String)
}

/// The tenant of an account. The project itself is the empty string.
package struct TenantID: CheckedText, Sendable, Hashable {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// The project's own users, outside any tenant.
    package static let project = Self("")
}

/// The immutable identifier of an account (`localId` on the wire, `sub` in tokens): 1 to 128 characters (Unicode
/// scalars, as the database counts).
package struct UserID: CheckedText, Sendable, Hashable {
    package let rawValue: String

    /// `nil` unless `rawValue` has 1 to 128 characters, none of them a control character.
    package init?(_ rawValue: String) {
        guard isName(rawValue, scalarsMax: 128) else { return nil }
        self.rawValue = rawValue
    }

    private init(unchecked rawValue: String) {
        self.rawValue = rawValue
    }

    /// An id that no account has.
    package static let nobody = Self(unchecked: "")
}

/// Returns true if `text` has 1 to `scalarsMax` characters, none of them a control character.
private func isName(_ text: String, scalarsMax: Int) -> Bool {
    let bytes = text.utf8.span
    var scalarCount = 0
    for index in bytes.indices {
        let byte = bytes[index]
        if byte < 0x20 || byte == 0x7F { return false }
        // All but the first byte of a character are 10xxxxxx.
        if byte & 0xC0 != 0x80 { scalarCount += 1 }
    }
    return (1...scalarsMax).contains(scalarCount)
}

/// A provider by its name on the wire: `google.com`, `oidc.<name>`, `saml.<name>`; also `password` and `phone`, whose
/// rows are derived. Lower case, 1 to 128 characters from `a–z 0–9 . _ -`.
package struct ProviderID: CheckedText, Sendable, Hashable, Comparable {
    package let rawValue: String

    /// Folds to lower case; `nil` if a character is not allowed.
    package init?(_ rawValue: String) {
        let bytes = rawValue.utf8.span
        guard (1...128).contains(bytes.count) else { return nil }
        var isFolded = true
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): isFolded = false
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                break
            default: return nil
            }
        }
        self.rawValue = isFolded ? rawValue : rawValue.lowercased()
    }

    /// For constants only.
    init(wellKnown rawValue: String) {
        self.rawValue = rawValue
    }

    package static let password = Self(wellKnown: "password")
    package static let phone = Self(wellKnown: "phone")

    package var isOpenIDConnect: Bool { rawValue.hasPrefix("oidc.") }
    package var isSAML: Bool { rawValue.hasPrefix("saml.") }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// A user at a provider: the only stable external key of an account. An e-mail address never is one.
package struct ProviderIdentity: Sendable, Hashable {
    package let provider: ProviderID
    /// The provider's identifier of the user (`sub`, `rawId`): 1 to 255 characters, case-sensitive.
    package let subject: String

    /// `nil` if `subject` is empty, longer than 255 characters or contains a control character.
    package init?(provider: ProviderID, subject: String) {
        guard isName(subject, scalarsMax: 255) else { return nil }
        self.provider = provider
        self.subject = subject
    }
}

/// A telephone number in E.164 form: `+`, then 7 to 15 digits, the first not zero.
package struct PhoneNumber: CheckedText, Sendable, Hashable {
    package let rawValue: String

    /// Separators that people write between digits.
    package static let separators: Set<Unicode.Scalar> = [" ", "-", "(", ")", "."]

    /// Drops separators, then requires E.164; `nil` otherwise. Does not check that the number is assigned.
    package init?(_ rawValue: String) {
        let digits = rawValue.unicodeScalars.filter { !Self.separators.contains($0) }
        guard digits.first == "+", (8...16).contains(digits.count) else { return nil }
        let number = digits.dropFirst()
        guard number.first != "0", number.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
        self.rawValue = String(String.UnicodeScalarView(digits))
    }
}
