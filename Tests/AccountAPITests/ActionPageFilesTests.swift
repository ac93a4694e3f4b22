import AccountTestSupport
import Testing

@testable import AccountAPI

/// The texts of the page that the links of mails open. `ActionPageTests` opens the page in a browser.
@Suite(.api) struct ActionPageFilesTests {
    @Test func `every text of the page is used, and every used text exists`() async throws {
        let scripts = ["action.js", "common.js"].map { "/__/auth/\($0)" }
        let all = try await PageStrings("/__/auth/action", strings: "/__/auth/action.json", scripts: scripts)
        for match in all.page.matches(of: #/data-text="([^"{]+)"/#) {
            #expect(all.english[String(match.output.1)] != nil, "\(match.output.1)")
        }
        // `{mode}.title`, for the mode of each code.
        let modes = all.script.matches(of: #/\n  (\w+): "[A-Z_]+",/#).map { String($0.output.1) }
        let parts = Set(all.page.matches(of: #/data-text="\{mode\}\.(\w+)"/#).map { String($0.output.1) })
        #expect(parts == ["title", "text", "do", "unasked", "done", "next", "stops", "stopped"])
        let suspending = ["resetPassword", "recoverEmail"]
        var composed = all.passwordRules
        for mode in Set(modes) {
            // A sign-in leads to the app, and its step has its own texts.
            if mode == "signIn" { continue }
            composed.formUnion(parts.subtracting(["stops", "stopped"]).map { "\(mode).\($0)" })
        }
        for mode in suspending { composed.formUnion(["\(mode).stops", "\(mode).stopped"]) }
        all.expectUsed(composed: composed)
        for name in all.problems { #expect(all.script.contains("\"\(name)\""), "\(name)") }
        // The text for each error of the API, and those that the page throws.
        let mapped = all.script.matches(of: #/\n  (?:[A-Z_]+|"[a-z-]+"): "([a-z-]+)",/#).map { String($0.output.1) }
        #expect(mapped.count > 10)
        #expect(Set(mapped).subtracting(all.problems) == [])
        let thrown = all.script.matches(of: #/new Problem\("([a-z-]+)"/#).map { String($0.output.1) }
        #expect(Set(thrown).subtracting(all.problems) == [])
    }
}
