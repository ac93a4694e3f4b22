import Foundation
import Testing

/// A language, a colour scheme and a width at which people see a page.
struct Look: CustomStringConvertible {
    /// The language, by the text of its button on the page and by its tag; `nil` for pages without such buttons.
    let language: (button: String, tag: String)?
    let isDark: Bool
    let width: Int

    var description: String {
        [language?.tag, isDark ? "dark" : "light", String(width)].compactMap(\.self).joined(separator: "-")
    }

    /// True if an ordinary run takes a picture: of pages in several languages, one of each four is enough.
    private var isSample: Bool {
        guard let tag = language?.tag else { return true }
        return isDark == (tag == "zh-TW") && (width == 320) == (tag != "en")
    }

    /// The folder for pictures of everything, the variable `SCREENSHOTS`; `nil` in an ordinary run.
    static let folder = ProcessInfo.processInfo.environment["SCREENSHOTS"]

    var isShown: Bool { Self.folder != nil || isSample }

    static let languages: [(button: String, tag: String)] = [("繁體中文", "zh-TW"), ("ไทย", "th"), ("English", "en")]

    /// A small phone, a phone and a large screen. The smallest and the largest have the defects.
    static let widths = folder == nil ? [320, 1280] : [320, 390, 1280]

    static func all(in languages: [(button: String, tag: String)?]) -> [Look] {
        languages.flatMap { language in
            [false, true].flatMap { isDark in
                widths.map { Look(language: language, isDark: isDark, width: $0) }
            }
        }
    }
}

extension Browser {
    /// Expects that the page can be read in every language that it offers, light and dark, at every width. Saves
    /// pictures as `STEP-LOOK.png`.
    func expectReadable(
        _ step: String,
        inLanguages: Bool = true,
        takesPictures: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let languages: [(button: String, tag: String)?] = inLanguages ? Look.languages : [nil]
        try await inEveryLook(Look.all(in: languages)) { look in
            #expect(try await defects() == [], "\(step) \(look)", sourceLocation: sourceLocation)
            if look.width == Look.widths[0] {
                #expect(try await brokenRules() == [], "\(step) \(look)", sourceLocation: sourceLocation)
            }
            if takesPictures, look.isShown { try await screenshot("\(step)-\(look)") }
        }
    }

    /// Saves one picture of the page, or with `scripts/screenshots` one of each look. Leaves the page in English, bright
    /// and as wide as before.
    func screenshotEverywhere(_ name: String) async throws {
        guard Look.folder != nil else { return try await screenshot(name) }
        try await inEveryLook(Look.all(in: Look.languages)) { try await screenshot("\(name)-\($0)") }
        try await darken(false)
        try await resize(Self.widthAtStart, Self.heightAtStart)
    }

    /// Runs `body` with each look of the page.
    func inEveryLook(_ looks: [Look], _ body: (Look) async throws -> Void) async throws {
        var tag: String?
        for look in looks {
            if let language = look.language, language.tag != tag {
                try await press(language.button)
                tag = language.tag
            }
            try await darken(look.isDark)
            try await resize(look.width, 800)
            try await body(look)
        }
    }
}
