/// The domain of an e-mail address in canonical form: A-labels in lower case.
package struct EmailDomain: Sendable, Hashable, Comparable {
    package let rawValue: String

    /// `nil` for text that is not the domain of an address.
    package init?(_ text: String) {
        guard let address = EmailAddress("anyone@" + text) else { return nil }
        rawValue = String(address.domain)
    }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }
}
