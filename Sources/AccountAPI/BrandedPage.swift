import AccountOperations
import JSON

/// The branding of one page, as HTML. It is part of the page that the server sends, so that readers without JavaScript
/// see whose page it is.
///
/// A page has regions, `<!--brand:NAME-->…<!--/brand-->`, whose content branding replaces. Everything that a project has
/// chosen is escaped here, or made of validated hexadecimal digits.
struct BrandedPage {
    private let branding: Branding
    /// The path from the page to the branding's files; relative, because a proxy may add a path.
    private let folder: String

    /// - `path`: path of the page.
    init(_ branding: Branding, path: String) {
        self.branding = branding
        let depth = path.split(separator: "/").count - 1
        folder = path.hasPrefix("/__/auth/") ? "" : String(repeating: "../", count: depth) + "__/auth/"
    }

    /// The page with the regions replaced. Without branding it is `page` itself.
    func html(_ page: String) -> String {
        guard branding != .none else { return page }
        var page = page
        if let name = branding.name {
            page = page.replacing("<title>Concord</title>", with: "<title>\(HTMLEscaping.escape(name))</title>")
                .replacing("<body>", with: "<body data-app=\"\(HTMLEscaping.escape(name))\">")
        }
        for (region, content) in regions { page = Self.replacing(region, in: page, with: content) }
        return page
    }

    private var regions: [(String, String)] {
        var regions: [(String, String)] = []
        if let icon = address(of: .light) { regions.append(("icon", "<link rel=\"icon\" href=\"\(icon)\">")) }
        if !branding.palettes.isEmpty {
            regions.append(("style", "\n    <link rel=\"stylesheet\" href=\"\(folder)brand.css\">"))
        }
        if let mark { regions.append(("mark", mark)) }
        regions.append(("greeting", lines(.greeting)))
        let footer = lines(.footer) + links
        regions.append(("footer", footer))
        if !footer.isEmpty { regions.append(("ending", "\n    <footer>\(footer)\n    </footer>")) }
        return regions
    }

    /// The logo, or the name beside the built-in sign; `nil` without both.
    private var mark: String? {
        let name = HTMLEscaping.escape(branding.name ?? "")
        if let light = address(of: .light), let dark = address(of: .dark) {
            let darkSource =
                dark == light ? "" : "<source srcset=\"\(dark)\" media=\"(prefers-color-scheme: dark)\">"
            return "<picture>\(darkSource)<img class=\"logo\" src=\"\(light)\" alt=\"\(name)\"></picture>"
        }
        guard branding.name != nil else { return nil }
        return """
            <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="8.5" cy="12" r="5.5"/>\
            <circle cx="15.5" cy="12" r="5.5"/></svg>
                  <strong>\(name)</strong>
            """
    }

    /// The digest makes browsers fetch a new logo at once.
    private func address(of place: LogoPlace) -> String? {
        guard let digest = branding.logo(place) else { return nil }
        let isDarkOnly = place == .dark && branding.logos[.dark] != nil && branding.logos[.light] != nil
        let file = (isDarkOnly ? LogoPlace.dark : .light).path.split(separator: "/").last ?? ""
        return "\(folder)\(file)?v=\(digest.prefix(8))"
    }

    /// A line in each language of the page. `page.css` shows the one of the language that the page is in.
    private func lines(_ kind: BrandingLine) -> String {
        BrandingText.languages.compactMap { language in
            branding.text(kind, in: language).map { line in
                """

                      <p class="\(kind.rawValue)" data-for="\(language)" lang="\(line.language)">\
                \(HTMLEscaping.escape(line.text))</p>
                """
            }
        }.joined()
    }

    private var links: String {
        let items = BrandingLink.allCases.compactMap { link in
            branding.links[link].map { url in
                let labels = BrandingText.languages.map { language in
                    "<span data-for=\"\(language)\" lang=\"\(language)\">\(link.label(in: language))</span>"
                }
                return "<a href=\"\(HTMLEscaping.escape(url))\" rel=\"noreferrer\">\(labels.joined())</a>"
            }
        }
        return items.isEmpty ? "" : "\n      <p class=\"links\">\(items.joined(separator: " "))</p>"
    }

    private static func replacing(_ region: String, in page: String, with content: String) -> String {
        guard let start = page.firstRange(of: "<!--brand:\(region)-->"),
            let end = page[start.upperBound...].firstRange(of: "<!--/brand-->")
        else { return page }
        return page[..<start.upperBound] + content + page[end.lowerBound...]
    }
}

extension Branding {
    /// The style sheet that replaces the accent colours of `page.css`.
    var style: String {
        func rule(_ palette: AccentPalette) -> String {
            """
            :root {
              --accent: \(palette.accent.text);
              --accent-strong: \(palette.strong.text);
              --on-accent: \(palette.onAccent.text);
            }

            """
        }
        return (palettes[.light].map(rule) ?? "")
            + (palettes[.dark].map { "@media (prefers-color-scheme: dark) {\n\(rule($0))}\n" } ?? "")
    }
}
