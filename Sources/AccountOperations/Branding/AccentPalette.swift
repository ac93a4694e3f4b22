/// The light or the dark colours of pages and mails.
package enum BrandingScheme: String, Sendable, Hashable, CaseIterable {
    case light
    case dark

    /// The backgrounds on which the accent colour appears: `--page` and `--card` of `page.css`, and the mails' frame.
    package var surfaces: [(name: String, color: HexColor)] {
        switch self {
        case .light:
            [
                ("page", HexColor(red: 0xF3, green: 0xF5, blue: 0xF8)),
                ("card", HexColor(red: 0xFF, green: 0xFF, blue: 0xFF)),
            ]
        case .dark:
            [
                ("page", HexColor(red: 0x10, green: 0x14, blue: 0x19)),
                ("card", HexColor(red: 0x19, green: 0x1F, blue: 0x27)),
            ]
        }
    }

    /// The colour towards which an accent colour gains contrast.
    fileprivate var far: HexColor {
        switch self {
        case .light: .black
        case .dark: .white
        }
    }
}

/// An accent colour that can be read, with the colours that follow from it.
///
/// The accent colour is the text of links and quiet buttons, the ring around the focus, and the background of the primary
/// button.
package struct AccentPalette: Sendable, Hashable {
    package let scheme: BrandingScheme
    package let accent: HexColor
    /// Background of the primary button under the pointer.
    package let strong: HexColor
    /// Text on `accent` and on `strong`: black or white.
    package let onAccent: HexColor

    /// Minimum contrast of text (WCAG 2.2, 1.4.3). It includes the 3:1 of controls and focus rings (1.4.11).
    package static let contrastMin = 4.5

    /// The contrast of an accent colour is too low.
    package struct LowContrast: Error, Sendable, Hashable {
        package let accent: HexColor
        package let scheme: BrandingScheme
        /// The background with the lowest contrast, by its name.
        package let surface: String
        package let background: HexColor
        package let ratio: Double
        /// The closest darker (light scheme) or lighter (dark scheme) shade that passes.
        package let nearest: HexColor

        package var text: String {
            """
            has a contrast of \(ratioText(ratio)) on the \(scheme.rawValue) \(surface) \(background.text), and text \
            needs 4.5:1; the nearest shade that passes is \(nearest.text)
            """
        }
    }

    /// - Throws: `LowContrast` for the background with the lowest contrast.
    package init(_ accent: HexColor, in scheme: BrandingScheme) throws(LowContrast) {
        let worst = Self.worst(accent, scheme)
        guard worst.ratio >= Self.contrastMin else {
            throw LowContrast(
                accent: accent,
                scheme: scheme,
                surface: worst.name,
                background: worst.color,
                ratio: worst.ratio,
                nearest: Self.nearest(to: accent, scheme)
            )
        }
        self.init(readable: accent, scheme)
    }

    /// The palette of the closest shade of `accent` that can be read.
    package init(nearestTo accent: HexColor, in scheme: BrandingScheme) {
        self.init(readable: Self.nearest(to: accent, scheme), scheme)
    }

    private init(readable accent: HexColor, _ scheme: BrandingScheme) {
        self.scheme = scheme
        self.accent = accent
        // One of the two always has 4.5:1: their contrasts multiply to 21, and 4.5 * 4.5 is less.
        onAccent = accent.contrast(with: .white) >= accent.contrast(with: .black) ? .white : .black
        strong = accent.mixed(with: onAccent == .white ? .black : .white, steps: HexColor.stepsMax / 5)
    }

    private static func worst(
        _ accent: HexColor,
        _ scheme: BrandingScheme
    ) -> (name: String, color: HexColor, ratio: Double) {
        let measured = scheme.surfaces.map { (name: $0.name, color: $0.color, ratio: accent.contrast(with: $0.color)) }
        return measured.reduce(measured[0]) { $1.ratio < $0.ratio ? $1 : $0 }
    }

    private static func nearest(to accent: HexColor, _ scheme: BrandingScheme) -> HexColor {
        let shades = (0...HexColor.stepsMax).lazy.map { accent.mixed(with: scheme.far, steps: $0) }
        return shades.first { worst($0, scheme).ratio >= contrastMin } ?? scheme.far
    }

    /// Each pair of colours that appears, with its contrast and the minimum.
    package var contrasts: [(use: String, color: HexColor, background: HexColor, ratio: Double)] {
        scheme.surfaces.map { ("link on the \($0.name)", accent, $0.color, accent.contrast(with: $0.color)) }
            + [("text on the button", onAccent, accent, onAccent.contrast(with: accent))]
    }
}

/// A contrast ratio with two decimals, rounded down: a ratio below a minimum never looks like the minimum.
package func ratioText(_ ratio: Double) -> String {
    let hundredths = Int((min(max(ratio, 1), 21) * 100).rounded(.down))
    let decimals = hundredths % 100
    return "\(hundredths / 100).\(decimals < 10 ? "0" : "")\(decimals):1"
}
