import Testing

@testable import AccountOperations

/// Colours, their contrast and the palettes that follow from an accent colour.
struct AccentPaletteTests {
    /// Published ratios: WebAIM's contrast checker, and the documents on WCAG 2.2's criterion 1.4.3.
    @Test(
        arguments: [
            ("#000000", "#ffffff", 21.0), ("#ffffff", "#ffffff", 1.0), ("#777777", "#ffffff", 4.48),
            ("#767676", "#ffffff", 4.54), ("#0000ff", "#ffffff", 8.59), ("#ff0000", "#ffffff", 4.0),
            ("#595959", "#ffffff", 7.0), ("#ffff00", "#ffffff", 1.07), ("#0000ff", "#000000", 2.44),
        ]
    )
    func `a contrast equals the published ratio`(one: String, other: String, ratio: Double) throws {
        let (one, other) = (try #require(HexColor(one)), try #require(HexColor(other)))
        #expect(abs(one.contrast(with: other) - ratio) < 0.01)
        #expect(one.contrast(with: other) == other.contrast(with: one))
    }

    @Test func `only a number sign and six hexadecimal digits are a colour`() {
        #expect(HexColor("#0A664c")?.text == "#0a664c")
        for text in [
            "", "#", "0a664c", "#0a664", "#0a664c0", "#0a664c80", "#fff", "#0a66 4c", "#０a664c", "#0a664g", " #0a664c",
            "#0a664c\n", "red", "rgb(0,0,0)", "#0a664c;}", "url(#)", "#-1ffff", "#é664c",
        ] {
            #expect(HexColor(text) == nil, "\(text)")
        }
    }

    @Test func `an unreadable colour is refused with its ratio and the nearest shade that passes`() throws {
        let yellow = try #require(HexColor("#ffee00"))
        let refusal = #expect(throws: AccentPalette.LowContrast.self) { try AccentPalette(yellow, in: .light) }
        #expect(
            refusal?.text == """
                has a contrast of 1.09:1 on the light page #f3f5f8, and text needs 4.5:1; the nearest shade that passes is \
                #7b7200
                """
        )
        let green = try #require(HexColor("#0a664c"))
        let dark = #expect(throws: AccentPalette.LowContrast.self) { try AccentPalette(green, in: .dark) }
        #expect(dark?.surface == "card" && dark?.nearest.text == "#51927f")
    }

    @Test func `every colour has a shade that passes, and every pair of the palette is readable`() throws {
        let channels = stride(from: 0, through: 255, by: 17).map { UInt8($0) }
        for red in channels {
            for green in channels {
                for blue in channels {
                    let color = HexColor(red: red, green: green, blue: blue)
                    for scheme in BrandingScheme.allCases {
                        let palette = AccentPalette(nearestTo: color, in: scheme)
                        #expect(palette.contrasts.allSatisfy { $0.ratio >= AccentPalette.contrastMin })
                        #expect(palette.onAccent.contrast(with: palette.strong) >= AccentPalette.contrastMin)
                        #expect(try AccentPalette(palette.accent, in: scheme) == palette)
                    }
                }
            }
        }
    }

    @Test func `the built-in colours of page.css pass, and the backgrounds are those of page.css`() throws {
        for (accent, scheme) in [("#1d56c9", BrandingScheme.light), ("#8db4ff", .dark)] {
            #expect(try AccentPalette(try #require(HexColor(accent)), in: scheme).accent.text == accent)
        }
        let surfaces = BrandingScheme.allCases.flatMap { $0.surfaces.map(\.color.text) }
        #expect(surfaces == ["#f3f5f8", "#ffffff", "#101419", "#191f27"])
    }

    @Test func `a ratio is rounded down, so that it never looks like the minimum`() {
        #expect(ratioText(4.4999) == "4.49:1" && ratioText(4.5) == "4.50:1")
        #expect(ratioText(21) == "21.00:1" && ratioText(0) == "1.00:1" && ratioText(.infinity) == "21.00:1")
    }
}
