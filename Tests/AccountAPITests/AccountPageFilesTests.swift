import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The files of `/account`, as they are served. A browser tries what the page does, in `AccountPageTests`.
@Suite(.api) struct AccountPageFilesTests {
    private let files = PageFile.all.filter(\.isOfAccountPage)

    private func file(_ path: String) async throws -> Wire.Answer {
        try await TestAPI.shared.send(.get, path, key: nil)
    }

    private func strings() async throws -> [String: [String: String]] {
        let all = try await file("/account/account.json").json["strings"]?.object ?? [:]
        return all.mapValues { ($0.object ?? [:]).compactMapValues(\.string) }
    }

    @Test func `every file has the policy of a page, and names no other host`() async throws {
        #expect(files.count == 12)
        for served in files {
            let answer = try await file(served.path)
            #expect(answer.status == 200 && !answer.text.isEmpty)
            #expect(
                answer.headers[.contentSecurityPolicy]
                    == "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            )
            #expect(answer.headers[try #require(.init("Referrer-Policy"))] == "no-referrer")
            #expect(answer.headers[try #require(.init("Cross-Origin-Opener-Policy"))] == "same-origin")
            let hosts = answer.text.matches(of: #/https?:\/\/[a-z0-9.\/-]+/#).map(\.output)
            #expect(hosts.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(served.path): \(hosts)")
        }
        let page = try await file("/account").text
        #expect(page.matches(of: #/<script/#).count == 1)
        #expect(!page.contains("=\"/"), "the public URL may have a path")
        #expect(!page.contains("<style") && !page.contains(" style=") && !page.contains(#/\son[a-z]+=/#))
    }

    @Test func `a project can turn the page off`() async throws {
        let off = ProjectSettings.developmentDefaults.setting(.bool(false), at: ["concord", "accountPage", "enabled"])
        try await TestAPI.with(settings: off) { api in
            for served in files {
                let answer = try await api.send(.get, served.path, key: nil)
                #expect(answer.status == 404, "\(served.path)")
            }
            #expect(try await api.send(.get, "/conflict", key: nil).status == 200)
        }
        // The page also loads while the database is down, and then reports that.
        try await Wire.with(service: ServiceHandle()) { wire async throws in
            for served in files { #expect(try await wire.send(.get, served.path, key: nil).status == 200) }
        }
    }

    // MARK: Strings

    @Test func `a browser without scripts reads why nothing happens, in every language`() async throws {
        let page = try await file("/account").text
        let main = try #require(page.firstRange(of: #"<main aria-busy="false">"#))
        let words = page[main.upperBound...].prefix(1000)
        for word in ["This page needs JavaScript", #"lang="zh-TW""#, #"lang="th""#] { #expect(words.contains(word)) }
    }

    @Test func `every language has every text with the same placeholders`() async throws {
        let strings = try await strings()
        #expect(Set(strings.keys) == ["en", "zh-TW", "th"])
        let english = try #require(strings["en"])
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

    @Test func `every entry of the history has a sentence, and shows no rule`() async throws {
        for (language, said) in try await strings() {
            let sentences = said.filter { $0.key.hasPrefix("history.") }
            for kind in HistoryKind.allCases {
                #expect(sentences["history.\(kind.rawValue)"] != nil, "\(language) \(kind)")
            }
            let kinds = Set(HistoryKind.allCases.map { "history.\($0.rawValue)" })
            for name in sentences.keys where !["history.title", "history.none", "history.more"].contains(name) {
                let kind = name.hasSuffix(".method") ? String(name.dropLast(".method".count)) : name
                #expect(kinds.contains(kind), "\(name)")
            }
            for text in sentences.values { #expect(!text.contains(#/\b[A-Z]\d+\b/#), "\(language): \(text)") }
        }
    }

    @Test func `every obstacle, reason, field and outcome has a text`() async throws {
        let english = try #require(try await strings()["en"])
        for obstacle in MethodObstacle.allCases { #expect(english["obstacle.\(obstacle.rawValue)"] != nil) }
        for reason in QuarantineReason.allCases { #expect(english["suspended.\(reason.rawValue)"] != nil) }
        for field in MergeField.fixed { #expect(english["field.\(field.name)"] != nil, "\(field)") }
        for reason in MergeAbortReason.allCases { #expect(english["problem.aborted-\(reason.rawValue)"] != nil) }
        for method in ["emailLink", "password", "phone"] {
            #expect(english["method.\(method)"] != nil && english["phrase.\(method)"] != nil)
        }
    }

    @Test func `every text of the page is used, and every used text exists`() async throws {
        let english = try #require(try await strings()["en"])
        let page = try await file("/account").text
        var script = ""
        for name in ["account.js", "account-merge.js", "account-sections.js", "account-tabs.js", "account-texts.js"] {
            script += try await file("/account/\(name)").text
        }
        for match in page.matches(of: #/data-text="([^"{]+)"/#) {
            #expect(english[String(match.output.1)] != nil, "\(match.output.1)")
        }
        let main = try await file("/account/account.js").text
        for match in page.matches(of: #/data-if="([^"]+)"/#) {
            #expect(main.contains("\n  \(match.output.1): () =>"), "\(match.output.1)")
        }
        for match in page.matches(of: #/data-action="([^"]+)"/#) {
            let name = match.output.1
            let forms = ["\n  async \(name)(", "\n  \(name)(", "\n  \(name):"]
            #expect(forms.contains(where: main.contains), "\(name)")
        }
        for match in script.matches(of: #/"((?:status|problem)\.[a-zA-Z.-]+)"/#) where !match.output.1.hasSuffix(".") {
            #expect(english[String(match.output.1)] != nil, "\(match.output.1)")
        }
        // Names that the script composes.
        let composed = [
            "ended.", "field.", "helper.", "history.", "merge.", "method.", "obstacle.", "password.title.", "phone.text.",
            "phone.title.", "phrase.", "problem.", "rules.", "sessions.by.", "suspended.",
        ]
        for name in english.keys where !composed.contains(where: name.hasPrefix) {
            let isUsed =
                page.contains("\"\(name)\"") || script.contains("\"\(name)\"") || script.contains("#own.\(name)")
            #expect(isUsed, "\(name) is not used")
        }
    }

    @Test func `every known provider has a name`() async throws {
        let names = try await file("/account/account.json").json["names"]?.object?.compactMapValues(\.string)
        #expect(names?.count == KnownProvider.all.count)
        for known in KnownProvider.all { #expect(names?[known.id.rawValue] == known.displayName) }
    }
}
