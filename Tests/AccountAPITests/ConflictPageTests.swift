import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The files of the page for people, as they are served and as they stand in the repository. What the page does is tried
/// in a browser, by `PageTests`.
@Suite(.api) struct ConflictPageTests {
    private let conflictFiles = PageFile.all.filter { $0.path.hasPrefix("/conflict") }

    private func file(_ path: String, _ headers: HTTPFields = [:]) async throws -> Wire.Answer {
        try await TestAPI.shared.send(.get, path, key: nil, headers: headers)
    }

    @Test func `every file has its media type and a content security policy with only what the page needs`()
        async throws
    {
        let types = [
            "/conflict": "text/html; charset=utf-8",
            "/conflict/page.css": "text/css; charset=utf-8",
            "/conflict/common.js": "text/javascript; charset=utf-8",
            "/conflict/page.js": "text/javascript; charset=utf-8",
            "/conflict/strings.json": "application/json; charset=utf-8",
            "/conflict/icon.svg": "image/svg+xml",
        ]
        #expect(Set(conflictFiles.map(\.path)) == Set(types.keys))
        for (path, type) in types {
            let answer = try await file(path)
            #expect(answer.status == 200 && !answer.text.isEmpty)
            #expect(answer.headers[.contentType] == type)
            #expect(
                answer.headers[.contentSecurityPolicy]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            )
            #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            #expect(answer.headers[try #require(.init("Referrer-Policy"))] == "no-referrer")
            #expect(answer.headers[try #require(.init("Cross-Origin-Opener-Policy"))] == "same-origin")
            #expect(answer.headers[.cacheControl] == "no-cache")
        }
    }

    @Test func `a file that the browser has cached is not sent again`() async throws {
        for served in conflictFiles {
            let tag = try #require(try await file(served.path).headers[.eTag])
            for held in [tag, "W/\(tag)", "\"other\", \(tag)"] {
                let answer = try await file(served.path, [.ifNoneMatch: held])
                #expect(answer.status == 304 && answer.text.isEmpty && answer.headers[.eTag] == tag)
            }
            #expect(try await file(served.path, [.ifNoneMatch: "\"other\""]).status == 200)
        }
        #expect(Set(try await conflictFiles.asyncMap { try await file($0.path).headers[.eTag] }).count == 6)
    }

    @Test func `the page is served without the database, and only for GET and HEAD`() async throws {
        try await Wire.with(service: ServiceHandle()) { wire async throws in
            for served in conflictFiles {
                #expect(try await wire.send(.get, served.path, key: nil).status == 200)
                #expect(try await wire.send(.head, served.path, key: nil).status == 200)
                #expect(try await wire.send(.post, served.path, key: nil).status == 404)
            }
        }
    }

    @Test func `the page names no other host and has no inline script, style or handler`() async throws {
        let page = try await file("/conflict").text
        #expect(page.contains(#"<script type="module" src="conflict/page.js"></script>"#))
        #expect(page.matches(of: #/<script/#).count == 1)
        #expect(!page.contains("=\"/"), "the public URL may have a path of its own")
        #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(#/\son[a-z]+=/#))
        for served in conflictFiles {
            let hosts = try await file(served.path).text.matches(of: #/https?:[a-z0-9.\/-]+/#).map(\.output)
            #expect(hosts.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(served.path): \(hosts)")
        }
    }

    // MARK: Strings

    private func strings() async throws -> [String: [String: String]] {
        let all = try await file("/conflict/strings.json").json["strings"]?.object ?? [:]
        return all.mapValues { ($0.object ?? [:]).compactMapValues(\.string) }
    }

    @Test func `every language has every text with the same placeholders`() async throws {
        let strings = try await strings()
        let languages = try await file("/conflict/strings.json").json["languages"]?.object ?? [:]
        #expect(Set(strings.keys) == ["en", "zh-TW", "th"] && Set(languages.keys) == Set(strings.keys))
        let english = try #require(strings["en"])
        #expect(english.count > 50)
        for (language, said) in strings {
            #expect(Set(said.keys) == Set(english.keys), "\(language)")
            for (name, text) in said {
                #expect(!text.isEmpty)
                let places = { (text: String?) in Set((text ?? "").matches(of: #/\{\w+\}/#).map(\.output)) }
                #expect(places(text) == places(english[name]), "\(language) \(name)")
                let isTranslated = text != english[name] || !text.contains(#/[a-z] /#)
                #expect(language == "en" || isTranslated, "\(language) \(name)")
            }
        }
    }

    @Test func `every known provider has a name`() async throws {
        let names = try await file("/conflict/strings.json").json["names"]?.object?.compactMapValues(\.string)
        #expect(names?.count == KnownProvider.all.count)
        for known in KnownProvider.all { #expect(names?[known.id.rawValue] == known.displayName) }
    }

    @Test func `every problem, kind and state of the API has a text`() async throws {
        let english = try #require(try await strings()["en"])
        for problem in ProblemType.allCases { #expect(english["problem.\(problem.rawValue)"] != nil, "\(problem)") }
        let schemas = try OpenAPIDocument().root["components"]?["schemas"]?["Conflict"]?["properties"]
        let kinds = schemas?["kind"]?["enum"]?.array?.compactMap(\.string) ?? []
        #expect(kinds.count == 3)
        for kind in kinds { #expect(english["start.\(kind)"] != nil, "\(kind)") }
        let states = schemas?["state"]?["enum"]?.array?.compactMap(\.string) ?? []
        let shown = states.filter { english["\($0).title"] != nil || english["problem.conflict-\($0)"] != nil }
        #expect(shown == states.filter { $0 != "open" })
    }

    @Test func `every way to restore a suspended method has a text`() async throws {
        let english = try #require(try await strings()["en"])
        for way in MethodRestoration.allCases { #expect(english["restore.\(way.rawValue)"] != nil, "\(way)") }
        let schema = try OpenAPIDocument().root["components"]?["schemas"]?["Suspension"]?["properties"]?["restore"]
        let described = schema?["properties"]?["by"]?["enum"]?.array?.compactMap(\.string)
        #expect(described == MethodRestoration.allCases.map(\.rawValue))
    }

    @Test func `every text of the page is used, and every used text exists`() async throws {
        let english = try #require(try await strings()["en"])
        let page = try await file("/conflict").text
        let script = try await file("/conflict/page.js").text
        for match in page.matches(of: #/data-text="([^"{]+)"/#) {
            #expect(english[String(match.output.1)] != nil, "\(match.output.1)")
        }
        let scripts = ["page.js", "common.js"].map { "/conflict/\($0)" }
        let all = try await PageStrings("/conflict", strings: "/conflict/strings.json", scripts: scripts)
        let kinds = try OpenAPIDocument().root["components"]?["schemas"]?["Conflict"]?["properties"]?["kind"]?["enum"]
        let starts = (kinds?.array ?? []).compactMap { $0.string.map { "start.\($0)" } }
        let restorations = MethodRestoration.allCases.map { "restore.\($0.rawValue)" }
        all.expectUsed(composed: PageStrings.methods.union(starts).union(restorations))
        for name in all.problems {
            let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
            #expect(all.canOccur(parts[0]), "\(name)")
            for part in parts.dropFirst() { #expect(script.contains("\n  async \(part)("), "\(name)") }
        }
        #expect(all.thrown.subtracting(all.problems) == [])
    }
}
