/// One entry of the project's `authorizedDomains`: a host that codes and sessions may go to.
package struct AuthorizedDomain: Sendable, Hashable {
    /// A host name or an IPv4 address, in lower case.
    package let host: String

    /// - Returns: `nil` where `text` is no host name.
    package init?(_ text: String) {
        let text = text.lowercased()
        guard Self.isHostName(text) else { return nil }
        self.host = text
    }

    /// The entry as the configuration holds it.
    package var text: String { host }

    /// RFC 1123 §2.1: labels of lower-case letters, digits and inner hyphens.
    package static func isHostName(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            let hyphen = UInt8(ascii: "-")
            return (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == hyphen
                }
        }
    }
}
