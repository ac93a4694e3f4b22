import AccountLinking

/// Rules for the texts and links of a project's branding. Pages and mails show them to people who trust the project.
package enum BrandingText {
    /// Languages of the pages.
    package static let languages = ["en", "zh-TW", "th"]

    /// Returns true for one line without control, bidirectional and other invisible characters: such characters make a
    /// text look like another one.
    package static func isPlainLine(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
            // The zero-width joiners are part of emoji and of several scripts.
            case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
            default: true
            }
        }
    }

    /// Returns true for a plain line that cannot be read as markup.
    package static func isPlainText(_ text: String) -> Bool {
        isPlainLine(text) && !text.unicodeScalars.contains { $0 == "<" || $0 == ">" }
    }

    /// The text without the characters that `isPlainLine` refuses: names may be older than the rule.
    package static func plainLine(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        line.append(contentsOf: text.unicodeScalars.filter { isPlainLine(String($0)) })
        return String(line)
    }

    /// Returns true for an absolute `https` URL without user and password, in ASCII, and without characters that HTML or
    /// mail programs could read as its end.
    package static func isWebLink(_ text: String) -> Bool {
        guard text.utf8.count <= linkBytesMax, isLinkText(text), let url = ContinueURL(text) else { return false }
        return url.origin.isSecure
    }

    /// Returns true for `mailto:` and one address, without header fields.
    package static func isMailLink(_ text: String) -> Bool {
        guard text.utf8.count <= linkBytesMax, isLinkText(text), text.lowercased().hasPrefix("mailto:") else {
            return false
        }
        let address = text.dropFirst("mailto:".count)
        return !address.utf8.contains { "?&%#,;".utf8.contains($0) } && EmailAddress(String(address)) != nil
    }

    /// Returns true for 64 lower-case hexadecimal digits, which the name of a stored image has.
    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    package static let linkBytesMax = 2048

    private static func isLinkText(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"'<>`\\^{|}".utf8.contains($0) }
    }
}
