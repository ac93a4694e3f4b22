import AccountLinking
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The files of the sign-in page, as they are served. `SignInPageTests` opens the page in a browser.
@Suite(.api) struct SignInPageFilesTests {
    private let files = PageFile.all.filter { $0.path == "/signin" || $0.path.hasPrefix("/signin/") }

    private func file(_ path: String) async throws -> Wire.Answer {
        try await TestAPI.shared.send(.get, path, key: nil)
    }

    private func strings() async throws -> [String: [String: String]] {
        let all = try await file("/signin/signin.json").json["strings"]?.object ?? [:]
        return all.mapValues { ($0.object ?? [:]).compactMapValues(\.string) }
    }

    private func pageStrings() async throws -> PageStrings {
        let scripts = ["signin.js", "service.js", "common.js"].map { "/signin/\($0)" }
        return try await PageStrings("/signin", strings: "/signin/signin.json", scripts: scripts)
    }

    @Test func `every file has its media type and a content security policy with only what the page needs`()
        async throws
    {
        let types = [
            "/signin": "text/html; charset=utf-8",
            "/signin/page.css": "text/css; charset=utf-8",
            "/signin/signin.css": "text/css; charset=utf-8",
            "/signin/common.js": "text/javascript; charset=utf-8",
            "/signin/service.js": "text/javascript; charset=utf-8",
            "/signin/signin.js": "text/javascript; charset=utf-8",
            "/signin/signin.json": "application/json; charset=utf-8",
            "/signin/icon.svg": "image/svg+xml",
        ]
        #expect(Set(files.map(\.path)) == Set(types.keys))
        for (path, type) in types {
            let answer = try await file(path)
            #expect(answer.status == 200 && !answer.text.isEmpty)
            #expect(answer.headers[.contentType] == type)
            #expect(
                answer.headers[.contentSecurityPolicy]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            )
            #expect(answer.headers[try #require(.init("Referrer-Policy"))] == "no-referrer")
        }
    }

    @Test func `the page is served without the database, and has no inline script, style or handler`() async throws {
        try await Wire.with(service: ServiceHandle()) { wire async throws in
            for served in files { #expect(try await wire.send(.get, served.path, key: nil).status == 200) }
        }
        let page = try await file("/signin").text
        #expect(page.matches(of: #/<script/#).count == 1)
        #expect(!page.contains("=\"/"), "the public URL may have a path of its own")
        #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(#/\son[a-z]+=/#))
        for script in ["signin.js", "service.js"] {
            let text = try await file("/signin/\(script)").text
            #expect(!text.contains("innerHTML") && !text.contains(#/https?:\/\//#), "\(script)")
        }
    }

    @Test func `a browser without scripts reads why nothing happens, in every language`() async throws {
        let page = try await file("/signin").text
        let main = try #require(page.firstRange(of: #"<main aria-busy="false">"#))
        let words = page[main.upperBound...].prefix(1000)
        for word in ["This page needs JavaScript", #"lang="zh-TW""#, #"lang="th""#] { #expect(words.contains(word)) }
    }

    @Test func `every language has every text with the same placeholders`() async throws {
        let strings = try await strings()
        let languages = try await file("/signin/signin.json").json["languages"]?.object ?? [:]
        #expect(Set(strings.keys) == ["en", "zh-TW", "th"] && Set(languages.keys) == Set(strings.keys))
        let english = try #require(strings["en"])
        for (language, said) in strings {
            #expect(Set(said.keys) == Set(english.keys), "\(language)")
            for (name, text) in said {
                #expect(!text.isEmpty)
                let places = { (text: String?) in Set((text ?? "").matches(of: #/\{\w+\}/#).map(\.output)) }
                #expect(places(text) == places(english[name]), "\(language) \(name)")
                #expect(language == "en" || text != english[name], "\(language) \(name)")
            }
        }
    }

    @Test func `every text of the page is used, and every used text exists`() async throws {
        let english = try #require(try await strings()["en"])
        let page = try await file("/signin").text
        let script = try await file("/signin/signin.js").text
        for match in page.matches(of: #/data-text="([^"{]+)"/#) {
            #expect(english[String(match.output.1)] != nil, "\(match.output.1)")
        }
        for match in page.matches(of: #/data-if="([^"]+)"/#) {
            #expect(script.contains("  \(match.output.1): () =>"), "\(match.output.1)")
        }
        for match in page.matches(of: #/data-action="([^"]+)"/#) {
            let name = String(match.output.1)
            #expect(script.contains("async \(name)(") || script.contains("\n  \(name)"), "\(name)")
        }
        let all = try await pageStrings()
        let ends: Set = ["signUp.password", "signUp.create", "signUp.link", "signUp.taken"]
        let buttons: Set = ["signUp.do.create", "signUp.do.link"]
        all.expectUsed(composed: PageStrings.methods.union(all.passwordRules).union(ends).union(buttons))
    }

    @Test func `every problem has a text, and every text of a problem can be shown`() async throws {
        let all = try await pageStrings()
        for name in all.problems {
            let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
            #expect(all.canOccur(parts[0]), "\(name)")
            // A text may be that of one action, or name the time at which the person can try again.
            guard let part = parts.dropFirst().first, part != "at" else { continue }
            #expect(all.script.contains("  async \(part)("), "\(name)")
        }
        // Without a challenge, there is no account page to lead to.
        #expect(all.thrown.subtracting(all.problems) == ["insecure-page"])
        #expect(Set(all.typesOfCodes.values).subtracting(all.problems) == [])
        // The page calls no route that answers these. They would get the text of `refused`.
        #expect(
            PageStrings.types.subtracting(all.problems) == [
                "choices-needed", "content-too-large", "foreign-page", "idempotency-key-reused", "invalid-policy",
                "last-sign-in-method", "later-changes", "malformed-request", "merge-closed", "merge-refused",
                "not-found", "precondition-failed", "users-locked-out",
            ]
        )
    }

    @Test func `every known provider has a name`() async throws {
        let names = try await file("/signin/signin.json").json["names"]?.object?.compactMapValues(\.string)
        for known in KnownProvider.all { #expect(names?[known.id.rawValue] == known.displayName) }
    }
}
