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

    private static let ownScripts = ["account", "account-merge", "account-sections", "account-tabs", "account-texts"]
        .map { "/account/\($0).js" }

    private func pageStrings() async throws -> PageStrings {
        let scripts = Self.ownScripts + ["/account/service.js", "/account/common.js"]
        return try await PageStrings("/account", strings: "/account/account.json", scripts: scripts)
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

    @Test func `every text of the page is used, and every used text exists`() async throws {
        let english = try #require(try await strings()["en"])
        let page = try await file("/account").text
        var script = ""
        for name in Self.ownScripts { script += try await file(name).text }
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
        let all = try await pageStrings()
        let ends = script.matches(of: #/\bend\("(\w+)"/#).map { "ended.\($0.output.1)" }
        let helpers = script.matches(of: #/go\("helper", \{ state: "(\w+)"/#).map { "helper.\($0.output.1)" }
        #expect(ends.count > 3 && helpers.count == 3)
        let history = HistoryKind.allCases.map { "history.\($0.rawValue)" }
        var composed = PageStrings.methods.union(PageStrings.methods.map { $0.replacing("method.", with: "phrase.") })
        composed.formUnion(all.passwordRules)
        composed.formUnion((ends + helpers).flatMap { [$0, "\($0).title"] })
        composed.formUnion(history)
        composed.formUnion(MergeField.fixed.map { "field.\($0.name)" })
        composed.formUnion(MethodObstacle.allCases.map { "obstacle.\($0.rawValue)" })
        composed.formUnion(QuarantineReason.allCases.map { "suspended.\($0.rawValue)" })
        composed.formUnion(["merge.moves", "merge.stays", "password.title.add", "password.title.change"])
        composed.formUnion(["phone.text.add", "phone.text.change", "phone.title.add", "phone.title.change"])
        // A session by an email link has the provider `password` too.
        composed.formUnion(["anonymous", "custom", "password"].map { "sessions.by.\($0)" })
        all.expectUsed(composed: composed, optional: Set(history.map { "\($0).method" }))
    }

    @Test func `every problem has a text, and every text of a problem can be shown`() async throws {
        let all = try await pageStrings()
        let aborted = Set(MergeAbortReason.allCases.map { "aborted-\($0.rawValue)" })
        let refusals = Set(MergeRefusal.allCases.map(\.rawValue) + ["already-merging"]).map { "merge-refused.\($0)" }
        for name in all.problems.subtracting(aborted).subtracting(refusals) {
            #expect(all.canOccur(name), "\(name)")
        }
        #expect(aborted.subtracting(all.problems) == [])
        // A newer sign-in is asked for instead.
        #expect(all.thrown.subtracting(all.problems) == ["insufficient-user-authentication"])
        // The page prevents these refusals, or they have another type. They would get the text of any refusal.
        #expect(
            Set(refusals).subtracting(all.problems) == [
                "merge-refused.account-not-found", "merge-refused.needs-administrator", "merge-refused.same-account",
                "merge-refused.second-factor-repeated", "merge-refused.second-factor-required",
                "merge-refused.session-ended", "merge-refused.sign-in-again", "merge-refused.unknown-choice",
            ]
        )
        // The page calls no route that answers these, or shows another step. They would get the text of `refused`.
        #expect(
            PageStrings.types.subtracting(all.problems) == [
                "conflict-closed", "conflict-expired", "conflict-unknown", "content-too-large", "foreign-page",
                "idempotency-key-reused", "insufficient-user-authentication", "invalid-policy", "invalid-session",
                "malformed-request", "proof-expired", "proof-not-offered", "proof-required", "proof-stale",
                "too-many-mails", "users-locked-out",
            ]
        )
    }

    @Test func `every known provider has a name`() async throws {
        let names = try await file("/account/account.json").json["names"]?.object?.compactMapValues(\.string)
        #expect(names?.count == KnownProvider.all.count)
        for known in KnownProvider.all { #expect(names?[known.id.rawValue] == known.displayName) }
    }
}
