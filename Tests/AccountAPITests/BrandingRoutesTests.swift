import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Logging
import NIOCore
import Postgres
import Testing

@testable import AccountAPI

/// Branding over HTTP: its settings, the logo, and the files and pages that everyone reads.
@Suite struct BrandingRoutesTests {
    private static let path = "/concord/v1/branding/{logo}"

    @discardableResult
    private func change(
        _ api: TestAPI,
        _ branding: JSONValue,
        name: JSONValue = .null,
        mask: String = "concord.branding,concord.displayName"
    ) async throws -> Wire.Answer {
        let body: JSONValue = ["concord": ["branding": branding, "displayName": name]]
        return try await api.send(
            .patch,
            "/v2/projects/\(TestService.projectID)/config?updateMask=\(mask)",
            Array(body.text.utf8),
            key: nil,
            bearer: "owner"
        )
    }

    private func send(
        _ api: TestAPI,
        _ method: HTTPRequest.Method,
        _ logo: String = "logo",
        _ body: JSONValue? = nil,
        ifMatch: String? = nil
    ) async throws -> Wire.Answer {
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        let answer = try await api.send(
            method,
            Self.path.replacing("{logo}", with: logo),
            body.map { Array($0.text.utf8) } ?? [],
            key: nil,
            bearer: "owner",
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: method, at: Self.path) == [])
        return answer
    }

    private func get(_ api: TestAPI, _ path: String, _ headers: HTTPFields = [:]) async throws -> Wire.Answer {
        try await api.send(.get, path, key: nil, headers: headers)
    }

    // MARK: Settings

    @Test func `bad values of every field are refused together, and nothing is stored`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let bad: [(field: String, values: [JSONValue])] = [
                ("accentColor", ["#ffee00", "#ffffff", "red", "#0a664c;}body{display:none", 1, ["#0a664c"]]),
                ("accentColorDark", ["#0a664c", "#000000", "rgb(0,0,0)"]),
                (
                    "supportUrl",
                    [
                        "javascript:alert(1)", "data:text/html,x", "http://acme.example",
                        "mailto:a@acme.example?bcc=b@evil.example",
                    ]
                ),
                ("privacyUrl", ["mailto:a@acme.example", "https://a@evil.example", "https://acme.example/\u{202E}x"]),
                ("termsUrl", ["javascript:alert(1)", "https://acme.example/\"><script>"]),
                ("logo", ["x", "../../etc/passwd", .string(String(repeating: "A", count: 64)), 7]),
            ]
            for (field, values) in bad {
                for value in values {
                    let answer = try await change(api, .object([field: value]))
                    #expect(answer.status == 400, "\(field) \(value.text)")
                    #expect(answer.errorMessage?.contains("concord.branding.\(field)") == true, "\(answer.text)")
                }
            }
            for text: JSONValue in ["<b>", "a\u{202E}b", "a\nb", "", .string(String(repeating: "x", count: 201)), 1] {
                for line in ["footer", "greeting"] {
                    let answer = try await change(api, ["texts": ["th": .object([line: text])]])
                    #expect(answer.status == 400, "\(text.text)")
                }
            }
            for name: JSONValue in ["Ac\u{202E}me", "a\nb", .string(String(repeating: "é", count: 33))] {
                #expect(try await change(api, [:], name: name).status == 400, "\(name.text)")
            }
            let both = try await change(api, ["accentColor": "red", "termsUrl": "x"])
            #expect(
                both.errorMessage?.contains("accentColor") == true && both.errorMessage?.contains("termsUrl") == true
            )
            #expect(try await api.service.database.count("SELECT count(*) FROM project_config WHERE version = 1") == 1)
        }
    }

    @Test func `a refusal of a colour names the measured contrast and the nearest shade that passes`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await change(api, ["accentColor": "#FFEE00"])
            #expect(
                answer.errorMessage?.contains(
                    "concord.branding.accentColor #ffee00 has a contrast of 1.09:1 on the light page #f3f5f8"
                ) == true
            )
            #expect(answer.errorMessage?.contains("#7b7200") == true)
            #expect(try await change(api, ["accentColor": "#7b7200"]).status == 200)
        }
    }

    @Test func `changes of different fields at the same time all survive`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let fields: [(String, JSONValue)] = [
                ("accentColor", "#0a664c"), ("accentColorDark", "#51927f"), ("supportUrl", "mailto:help@acme.example"),
                ("privacyUrl", "https://acme.example/privacy"), ("termsUrl", "https://acme.example/terms"),
            ]
            try await withThrowingTaskGroup(of: Int.self) { group in
                for (field, value) in fields {
                    group.addTask {
                        try await change(api, .object([field: value]), mask: "concord.branding.\(field)").status
                    }
                }
                group.addTask { try await send(api, .put, "logo", ["image": .string(LogoFixture.png.base64)]).status }
                group.addTask {
                    try await send(api, .put, "logoDark", ["image": .string(LogoFixture.webp.base64)]).status
                }
                for try await status in group { #expect(status == 200) }
            }
            let shown = try await api.send(
                .get,
                "/v2/projects/\(TestService.projectID)/config",
                key: nil,
                bearer: "owner"
            )
            for (field, value) in fields { #expect(shown.json["concord"]?["branding"]?[field] == value) }
            #expect(shown.json["concord"]?["branding"]?["logo"]?.string?.count == 64)
            #expect(try await api.service.database.count("SELECT version FROM project_config") == 8)
        }
    }

    // MARK: The logo

    @Test func `a logo is stored, served with strict headers, and removed`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            #expect(try await get(api, "/__/auth/logo").status == 404)
            for accepted in LogoFixture.accepted {
                let stored = try await send(api, .put, "logo", ["image": .string(accepted.fixture.base64)])
                #expect(stored.status == 200 && stored.json["contentType"]?.string == accepted.type, "\(stored.text)")
                #expect(stored.json["width"] == .integer(Int64(accepted.width)))
                let digest = try #require(stored.json["sha256"]?.string)
                let served = try await get(api, "/__/auth/logo?v=\(digest.prefix(8))")
                #expect(served.status == 200 && served.headers[.contentType] == accepted.type, "\(served.text)")
                #expect(served.headers[.xContentTypeOptions] == "nosniff")
                #expect(
                    served.headers[.contentSecurityPolicy]
                        == "default-src 'none'; frame-ancestors 'none'; sandbox"
                )
                #expect(served.headers[.cacheControl] == "public, max-age=3600")
                let tag = try #require(served.headers[.eTag])
                #expect(tag == "\"\(digest)\"")
                let other = try await get(api, "/__/auth/logo?v=00000000")
                #expect(other.headers[.cacheControl] == "no-cache", "no cache keeps it under the name of another logo")
                let again = try await get(api, "/__/auth/logo", [.ifNoneMatch: tag])
                #expect(again.status == 304 && again.text.isEmpty)
                // Without a logo of dark mode, the other one is used there.
                #expect(try await get(api, "/__/auth/logo-dark").headers[.eTag] == tag)
            }
            let version = try #require(try await send(api, .delete).headers[.eTag])
            #expect(try await get(api, "/__/auth/logo").status == 404)
            #expect(try await send(api, .delete).headers[.eTag] == version, "nothing was left to remove")
        }
    }

    @Test func `bad images are refused, and nothing is stored`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>"
            let bad: [[UInt8]] = [
                Array(svg.utf8), Array("GIF89a".utf8), LogoFixture.animatedPNG.bytes, LogoFixture.animatedWebP.bytes,
                LogoFixture.smallPNG.bytes, LogoFixture.widePNG.bytes, LogoFixture.png.bytes + Array(svg.utf8),
                Array(LogoFixture.jpeg.bytes.dropLast()), [UInt8](repeating: 0, count: 65_537),
            ]
            for bytes in bad {
                let answer = try await send(api, .put, "logo", ["image": .string(Base64URL.encodePadded(bytes))])
                #expect(answer.status == 400 && answer.json["type"] == "urn:concord:problem:malformed-request")
            }
            for body: JSONValue in [[:], ["image": ""], ["image": "%%%"], ["image": 1]] {
                #expect(try await send(api, .put, "logo", body).status == 400, "\(body.text)")
            }
            #expect(try await send(api, .put, "favicon", ["image": .string(LogoFixture.png.base64)]).status == 404)
            #expect(try await api.service.database.count("SELECT count(*) FROM project_images") == 0)
            #expect(try await api.service.database.count("SELECT version FROM project_config") == 1)
        }
    }

    @Test func `only administrators change the logo, and a stale version is refused`() async throws {
        try await TestAPI.with { api async throws in
            for method in [HTTPRequest.Method.put, .delete] {
                #expect(try await api.send(method, "/concord/v1/branding/logo", key: nil).status == 401)
                #expect(try await api.send(method, "/concord/v1/branding/logo").status == 401)
            }
        }
        try await TestAPI.with(callers: DevelopmentCallers()) { api async throws in
            let image: JSONValue = ["image": .string(LogoFixture.png.base64)]
            #expect(try await send(api, .put, "logo", image, ifMatch: #""1""#).headers[.eTag] == #""2""#)
            #expect(try await send(api, .put, "logoDark", image, ifMatch: #""1""#).status == 412)
        }
    }

    @Test func `an image in use stays, and older ones are deleted`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let dark = try await send(api, .put, "logoDark", ["image": .string(LogoFixture.webp.base64)])
            // Each checksum makes another image. No pixels are decoded, so no checksum is read.
            for number in 0..<25 as Range<UInt8> {
                var bytes = LogoFixture.png.bytes
                bytes[bytes.count - 1] = number
                api.service.clock.advance(seconds: 1)
                let image: JSONValue = ["image": .string(Base64URL.encodePadded(bytes))]
                #expect(try await send(api, .put, "logo", image).status == 200)
            }
            let digest = try #require(dark.json["sha256"]?.string)
            #expect(try await api.service.database.count("SELECT count(*) FROM project_images") == 21)
            #expect(try await get(api, "/__/auth/logo-dark").headers[.eTag] == "\"\(digest)\"")
            let unknown = try await change(
                api,
                ["logo": .string(String(repeating: "0", count: 64))],
                mask: "concord.branding.logo"
            )
            #expect(unknown.status == 400 && unknown.errorMessage?.contains("no image") == true, "\(unknown.text)")
            #expect(try await change(api, ["logo": .string(digest)], mask: "concord.branding.logo").status == 200)
        }
    }

    @Test func `the same logo is stored again if its image is missing, and raises no version`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let image: JSONValue = ["image": .string(LogoFixture.png.base64)]
            let version = try #require(try await send(api, .put, "logo", image).headers[.eTag])
            // As a migration down and up again leaves it.
            try await api.service.database.execute("DELETE FROM project_images")
            #expect(try await get(api, "/__/auth/logo").status == 404)
            #expect(try await send(api, .put, "logo", image).headers[.eTag] == version)
            #expect(try await get(api, "/__/auth/logo").status == 200)
        }
    }

    @Test func `a missing image is read again after 5 seconds`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await send(api, .put, "logo", ["image": .string(LogoFixture.png.base64)])
            let database = api.service.database
            try await database.execute("CREATE TABLE kept_images AS SELECT * FROM project_images")
            try await database.execute("DELETE FROM project_images")
            #expect(try await get(api, "/__/auth/logo").status == 404)
            try await database.execute("INSERT INTO project_images SELECT * FROM kept_images")
            api.service.clock.advance(seconds: 4)
            #expect(try await get(api, "/__/auth/logo").status == 404, "the database is not read")
            api.service.clock.advance(seconds: 1)
            #expect(try await get(api, "/__/auth/logo").status == 200)
        }
    }

    @Test func `every change is logged with its fields, without values`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            try await change(api, ["accentColor": "#0a664c"], mask: "concord.branding.accentColor")
            _ = try await send(api, .put, "logo", ["image": .string(LogoFixture.png.base64)])
            let lines = api.log.entries.filter { $0.message == "changed by an administrator" }
            #expect(lines.count == 2 && lines.allSatisfy { $0.level == .notice })
            #expect(lines.first.map { "\($0.metadata)" }?.contains("concord.branding.accentColor") == true)
            #expect(!api.log.lines.contains { $0.contains("#0a664c") || $0.contains(LogoFixture.png.base64) })
        }
    }

    // MARK: Pages

    private static let pages = [
        "/conflict", "/signin", "/account", "/__/auth/action", "/__/auth/links", "/__/auth/handler",
        "/emulator/auth/handler",
    ]

    @Test func `every page names the app, and shows its logo, colours, links and lines without a script`() async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            var plain: [String: Wire.Answer] = [:]
            for page in Self.pages { plain[page] = try await get(api, page) }
            _ = try await send(api, .put, "logo", ["image": .string(LogoFixture.png.base64)])
            try await change(
                api,
                [
                    "accentColor": "#0a664c", "supportUrl": "mailto:help@acme.example",
                    "privacyUrl": "https://acme.example/privacy?a=1&b=2",
                    "texts": ["en": ["footer": "Acme & Sons"], "th": ["greeting": "สวัสดี"]],
                ],
                name: "Acme Bank",
                mask: "concord.displayName,concord.branding.accentColor,concord.branding.supportUrl,"
                    + "concord.branding.privacyUrl,concord.branding.texts"
            )
            for page in Self.pages {
                let folder =
                    ["/conflict", "/signin", "/account"].contains(page)
                    ? "__/auth/" : page.hasPrefix("/__/") ? "" : "../../__/auth/"
                let answer = try await get(api, page)
                #expect(
                    answer.text.contains("<title>Acme Bank</title>") && answer.text.contains("data-app=\"Acme Bank\"")
                )
                #expect(answer.text.contains("<img class=\"logo\" src=\"\(folder)logo?v="), "\(page)")
                #expect(
                    answer.text.contains("alt=\"Acme Bank\"")
                        && answer.text.contains("<link rel=\"icon\" href=\"\(folder)logo")
                )
                #expect(answer.text.contains("<link rel=\"stylesheet\" href=\"\(folder)brand.css\">"))
                #expect(answer.text.contains("href=\"mailto:help@acme.example\""))
                #expect(answer.text.contains("href=\"https://acme.example/privacy?a=1&amp;b=2\""))
                #expect(answer.text.contains("data-for=\"zh-TW\" lang=\"en\">Acme &amp; Sons</p>"))
                #expect(answer.text.contains("data-for=\"th\" lang=\"th\">สวัสดี</p>"))
                #expect(!answer.text.contains("<style") && !answer.text.contains(" style="))
                #expect(answer.headers[.contentSecurityPolicy] == plain[page]?.headers[.contentSecurityPolicy])
                let tag = try #require(answer.headers[.eTag])
                #expect(tag != plain[page]?.headers[.eTag])
                #expect(try await get(api, page, [.ifNoneMatch: tag]).status == 304)
                #expect(try await get(api, page, [.ifNoneMatch: plain[page]?.headers[.eTag] ?? ""]).status == 200)
            }
            let style = try await get(api, "/__/auth/brand.css")
            #expect(style.headers[.contentType] == "text/css; charset=utf-8")
            #expect(style.headers[.cacheControl] == "no-cache")
            #expect(style.text.contains("--accent: #0a664c;") && style.text.contains("--accent: #51927f;"))

            _ = try await send(api, .delete)
            try await change(api, [:])
            for page in Self.pages { #expect(try await get(api, page).text == plain[page]?.text, "\(page)") }
            #expect(try await get(api, "/__/auth/brand.css").text.isEmpty)
        }
    }

    @Test func `a page is rendered once for each change of branding`() {
        let last = LastBrandedPage()
        var rendered = 0
        let tags = ["Acme", "Acme", "Bank", "Bank", "Acme"].map { name in
            last.page(in: Branding(stored: ["concord": ["displayName": .string(name)]])) {
                rendered += 1
                return (ByteBuffer(string: name), name)
            }.entityTag
        }
        #expect(tags == ["Acme", "Acme", "Bank", "Bank", "Acme"] && rendered == 3)
    }

    @Test func `a hostile name is text on every page`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let name = "\"><script>alert(1)</script>'&"
            #expect(try await change(api, [:], name: .string(name)).status == 200)
            for page in Self.pages {
                let text = try await get(api, page).text
                #expect(!text.contains("<script>") && !text.contains("\"><s"), "\(page)")
                #expect(text.contains("&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&#39;&amp;"), "\(page)")
            }
        }
    }

    @Test func `every page string that names the app has words for an app without a name`() async throws {
        try await TestAPI.with { api in
            let files = [
                "/conflict/strings.json", "/signin/signin.json", "/account/account.json", "/__/auth/action.json",
            ]
            for file in files {
                for (language, strings) in try await get(api, file).json["strings"]?.object ?? [:] {
                    #expect(strings["app"]?.string?.isEmpty == false, "\(file) \(language)")
                }
            }
            for (language, strings) in try await get(api, "/__/auth/handler.json").json.object ?? [:] {
                #expect(strings["app"]?.string?.isEmpty == false, "\(language)")
            }
        }
    }

    // MARK: Preview

    @Test func `the preview of development shows pages and mails in three languages`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            try await change(api, ["accentColor": "#0a664c", "texts": ["en": ["footer": "Acme & Sons"]]], name: "Acme")
            let page = try await get(api, "/__/concord/branding")
            #expect(page.status == 200 && page.headers[.contentType] == "text/html; charset=utf-8")
            #expect(page.text.contains("#0a664c on #f3f5f8") && !page.text.contains("<script"))
            for language in BrandingText.languages {
                for type in MailPreview.types {
                    let path = "branding/mails/\(type).\(language)"
                    #expect(page.text.contains("href=\"\(path)\""))
                    let mail = try await get(api, "/__/concord/" + path)
                    #expect(mail.status == 200 && mail.text.contains("#0a664c"), "\(path)")
                    #expect(mail.text.contains("Acme &amp; Sons"), "\(path)")
                }
            }
            for unknown in ["NONE.en", "PASSWORD_RESET.xx", "PASSWORD_RESET", "a.b.c"] {
                #expect(try await get(api, "/__/concord/branding/mails/\(unknown)").status == 404, "\(unknown)")
            }
        }
        try await TestAPI.with(development: nil) { api async throws in
            #expect(try await get(api, "/__/concord/branding").status == 404)
        }
    }
}
