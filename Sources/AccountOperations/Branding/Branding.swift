package import AccountLinking
package import AccountStore
import Crypto
package import JSON

/// A project's name, logo, colours, links and texts, as pages and mails use them.
///
/// Each stored value is validated again, so that a value from an older version of Concord cannot become markup or an
/// unreadable colour.
package struct Branding: Sendable, Hashable {
    /// Name of the app; `nil` if it is not set.
    package let name: String?
    /// Digests of the logos.
    package let logos: [LogoPlace: String]
    /// Colours that replace the built-in ones.
    package let palettes: [BrandingScheme: AccentPalette]
    package let links: [BrandingLink: String]
    private let texts: [String: [String: String]]

    package init(stored: JSONValue) {
        let branding = stored[["concord", "branding"]]
        name = stored[["concord", "displayName"]]?.string.map(BrandingText.plainLine).flatMap { $0.isEmpty ? nil : $0 }
        logos = LogoPlace.allCases.reduce(into: [:]) { logos, place in
            guard let digest = stored[place.field.path]?.string, BrandingText.isDigest(digest) else { return }
            logos[place] = digest
        }
        links = BrandingLink.allCases.reduce(into: [:]) { links, link in
            guard let text = branding?[link.rawValue]?.string else { return }
            if BrandingText.isWebLink(text) || link.allowsMail && BrandingText.isMailLink(text) { links[link] = text }
        }
        texts = (branding?["texts"]?.object ?? [:]).mapValues { texts in
            (texts.object ?? [:]).compactMapValues(\.string).filter { BrandingText.isPlainText($0.value) }
        }
        let light = branding?["accentColor"]?.string.flatMap(HexColor.init)
        let dark = branding?["accentColorDark"]?.string.flatMap(HexColor.init)
        var palettes: [BrandingScheme: AccentPalette] = [:]
        palettes[.light] = light.flatMap { try? AccentPalette($0, in: .light) }
        palettes[.dark] =
            dark.flatMap { try? AccentPalette($0, in: .dark) }
            ?? light.map { AccentPalette(nearestTo: $0, in: .dark) }
        self.palettes = palettes
    }

    package static let none = Branding(stored: .object([:]))

    /// Digest of the logo of a place; the one of the other place if only that is set.
    package func logo(_ place: LogoPlace) -> String? {
        logos[place] ?? logos[place == .light ? .dark : .light]
    }

    /// The line of a kind in `language`, else in English, with the language it is in.
    package func text(_ kind: BrandingLine, in language: String) -> (text: String, language: String)? {
        for candidate in [language, "en"] {
            if let text = texts[candidate]?[kind.rawValue] { return (text, candidate) }
        }
        return nil
    }
}

/// A logo of light pages and mails, or the one that replaces it in dark mode.
package enum LogoPlace: String, Sendable, Hashable, CaseIterable {
    case light = "logo"
    case dark = "logoDark"

    package var field: ProjectConfigField {
        switch self {
        case .light: .init("concord.branding.logo", .imageDigest, "Logo; `concord branding set --logo` stores it.")
        case .dark:
            .init("concord.branding.logoDark", .imageDigest, "Logo of dark mode on pages. Default: `logo`.")
        }
    }

    /// The path at which everyone can read it.
    package var path: String {
        switch self {
        case .light: "/__/auth/logo"
        case .dark: "/__/auth/logo-dark"
        }
    }
}

/// A link at the end of pages and mails, by the name of its field.
package enum BrandingLink: String, Sendable, Hashable, CaseIterable {
    case support = "supportUrl"
    case privacy = "privacyUrl"
    case terms = "termsUrl"

    var allowsMail: Bool { self == .support }

    /// Its words; in English for a language that pages do not have.
    package func label(in language: String) -> String {
        switch (self, language) {
        case (.support, "zh-TW"): "支援"
        case (.support, "th"): "ฝ่ายสนับสนุน"
        case (.support, _): "Support"
        case (.privacy, "zh-TW"): "隱私權政策"
        case (.privacy, "th"): "นโยบายความเป็นส่วนตัว"
        case (.privacy, _): "Privacy"
        case (.terms, "zh-TW"): "服務條款"
        case (.terms, "th"): "ข้อกำหนดในการให้บริการ"
        case (.terms, _): "Terms"
        }
    }
}

/// A line of the project's own, by the name of its field.
package enum BrandingLine: String, Sendable, Hashable, CaseIterable {
    case greeting
    case footer
}

extension LogoImage {
    /// SHA-256 of the content, in lower-case hexadecimal digits.
    package var digest: String {
        Hexadecimal.encode(Array(SHA256.hash(data: bytes)))
    }

    package func stored(at now: Timestamp) -> ProjectImage {
        ProjectImage(
            digest: digest,
            contentType: format.rawValue,
            width: Int32(width),
            height: Int32(height),
            content: bytes,
            storedAt: now
        )
    }
}
