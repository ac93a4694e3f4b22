import AccountOperations
import HTTPTypes

extension Route {
    /// `GET /__/concord/branding`: the pages and mails with the project's branding, in each language. Development only.
    ///
    /// The pages open in their own tabs, because no page may frame them. A browser in dark mode shows their dark colours.
    static let brandingPreview = Route(.get, "/__/concord/branding", access: .anyone) { request in
        let branding = request.operations.project.settings.branding
        let rows = BrandingScheme.allCases.compactMap { branding.palettes[$0] }.flatMap { palette in
            palette.contrasts.map { contrast in
                """
                <li>\(palette.scheme.rawValue): \(contrast.use), \(contrast.color.text) on \
                \(contrast.background.text) <span>\(ratioText(contrast.ratio))</span></li>
                """
            }
        }
        let sections = BrandingText.languages.map { language in
            let pages = [
                ("New password", "../auth/action?mode=resetPassword&amp;lang=\(language)"),
                ("Verify an address", "../auth/action?mode=verifyEmail&amp;lang=\(language)"),
                ("Broken link", "../auth/action?mode=none&amp;oobCode=none&amp;lang=\(language)"),
                ("Failed sign-in", "../auth/handler?hl=\(language)"),
            ]
            let links = pages.map { "<li><a href=\"\($0.1)\" target=\"_blank\">\($0.0)</a></li>" }
            let mails = MailPreview.types.map { type in
                "<li><a href=\"branding/mails/\(type).\(language)\" target=\"_blank\">Mail \(type)</a></li>"
            }
            return "<h2>\(language)</h2>\n<ul>\((links + mails).joined(separator: "\n"))</ul>"
        }
        var response = APIResponse(
            json: Array(
                """
                <!doctype html>
                <html lang="en">
                <head>
                <meta charset="utf-8">
                <meta name="viewport" content="width=device-width, initial-scale=1">
                <meta name="color-scheme" content="light dark">
                <title>Branding</title>
                <link rel="stylesheet" href="../auth/page.css">
                <link rel="stylesheet" href="../auth/brand.css">
                </head>
                <body>
                <header>\(branding.logo(.light) == nil ? "" : "<img class=\"logo\" src=\"../auth/logo\" alt=\"Logo\">")</header>
                <main>
                <h1>Branding</h1>
                <p>Each link opens a page or a mail as people see it. Switch your browser to dark mode to see the dark \
                colours. Change them with <code>concord branding set</code>.</p>
                <ul>\(rows.joined(separator: "\n"))</ul>
                <p><a href="../../conflict" target="_blank">Conflict, in the language of your browser</a></p>
                \(sections.joined(separator: "\n"))
                </main>
                </body>
                </html>

                """.utf8
            )
        )
        response.contentType = "text/html; charset=utf-8"
        response.contentSecurityPolicy =
            "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
            + "frame-ancestors 'none'"
        return response
    }

    /// A mail with made-up values, such as `PASSWORD_RESET.th`. Development only.
    static let brandingPreviewMail = Route(.get, "/__/concord/branding/mails/{mail}", access: .anyone) { request in
        let parts = request.captures["mail"]?.split(separator: ".").map(String.init) ?? []
        guard parts.count == 2, BrandingText.languages.contains(parts[1]),
            let mail = try request.operations.mailPreview(parts[0], language: parts[1])
        else { throw APIError.notFound }
        var response = APIResponse(json: Array(mail.html.utf8))
        response.contentType = "text/html; charset=utf-8"
        response.contentSecurityPolicy =
            "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; frame-ancestors 'none'; "
            + "sandbox allow-popups"
        return response
    }
}
