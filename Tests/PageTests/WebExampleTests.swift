import AccountTestSupport
import Foundation
import JSON
import Testing

/// `examples/web` with the plain API of `clients/web/concord.js`, in a real browser, under its strict content security
/// policy.
@Suite(.serialized, .page) struct WebExampleTests {
    @Test func `a conflict takes at most 30 lines of the app`() throws {
        let path = AccountTestSupport.Repository.root + "/examples/web/app.js"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let first = try #require(lines.firstIndex(of: "// begin: conflict"))
        let last = try #require(lines.firstIndex(of: "// end: conflict"))
        #expect(first < last && last - first - 1 <= 30)
    }

    @Test func `a conflict outlives a reload and settles by the mailed code`() async throws {
        try await WebExample.open("index.html") { example in
            let browser = example.browser
            let email = "example-code@example.com"
            let account = try await example.signUp(email)
            try await example.wait(for: "Sign in")
            try await browser.expectReadable("example-1-sign-in", inLanguages: false)
            try await example.signIn(by: "Continue with GitHub", as: email, isVerified: false)
            try await example.wait(for: "Is this account yours?")
            try await browser.expectReadable("example-2-conflict", inLanguages: false)
            try await browser.reload()
            try await example.wait(for: "Is this account yours?")
            try await example.press("Email me a code")
            try await example.wait(for: "Check your email")
            try await example.fill("code", "00000000")
            try await example.press("Continue")
            try await example.wait(forProblem: "The code is wrong")
            try await example.press("Email me a code")
            try await example.wait(for: "Check your email")
            let conflict = OpenConflict(server: example.server, email: email, account: account, handle: "")
            try await example.fill("code", try await conflict.mail().code)
            try await example.press("Continue")
            try await example.wait(for: "Connect your new sign-in")
            try await browser.expectReadable("example-3-link", inLanguages: false)
            try await example.press("Connect")
            try await example.wait(for: "Your account")
            try await example.wait(forText: "You sign in with: github.com")
            try await browser.expectReadable("example-4-account", inLanguages: false)
            #expect(try await browser.value("localStorage.getItem('conflict')") == .null)

            // The account has the provider alone.
            try await example.age(account)
            try await browser.reload()
            try await example.wait(for: "Your account")
            try await example.press("Delete my account")
            try await example.wait(for: "Confirm that it is you")
            try await example.signIn(by: "Continue", as: email, isVerified: false)
            try await example.wait(for: "Sign in")
            #expect(try await !example.exists(account))
            // No message of the content security policy: refused calls alone.
            let complaints = try await browser.complaints()
            #expect(complaints.filter { !$0.hasPrefix("network") && !$0.hasPrefix("recommendation") } == [])
        }
    }

    @Test func `a conflict settles by the password, and a deletion asks for it again`() async throws {
        try await WebExample.open("index.html") { example in
            let browser = example.browser
            let email = "example-password@example.com"
            let account = try await example.signUp(email)
            try await example.wait(for: "Sign in")
            try await example.signIn(by: "Continue with GitHub", as: email, isVerified: false)
            try await example.wait(for: "Is this account yours?")
            try await example.press("Sign in with my password")
            try await example.wait(for: "Confirm that it is you")
            try await example.fill("password", WebExample.password)
            try await example.press("Continue")
            try await example.wait(for: "Your account")
            try await example.wait(forText: "You sign in with: password, github.com")
            try await example.age(account)
            try await browser.reload()
            try await example.wait(for: "Your account")
            try await example.press("Delete my account")
            try await example.wait(for: "Confirm that it is you")
            try await browser.expectReadable("example-5-password", inLanguages: false)
            try await example.fill("password", "wrong")
            try await example.press("Continue")
            try await example.wait(forProblem: "The address or the password is wrong")
            #expect(try await example.exists(account))
            try await example.press("Delete my account")
            try await example.wait(for: "Confirm that it is you")
            try await example.fill("password", WebExample.password)
            try await example.press("Continue")
            try await example.wait(for: "Sign in")
            #expect(try await !example.exists(account))
        }
    }

    @Test func `a sign-up, a sign-out and a sign-in`() async throws {
        try await WebExample.open("index.html") { example in
            try await example.wait(for: "Sign in")
            try await example.fill("email", "example-new@example.com")
            try await example.fill("password", WebExample.password)
            try await example.press("Create an account")
            try await example.wait(for: "Your account")
            try await example.press("Sign out")
            try await example.wait(for: "Sign in")
            try await example.fill("email", "example-new@example.com")
            try await example.fill("password", WebExample.password)
            try await example.press("Sign in")
            try await example.wait(for: "Your account")
        }
    }
}
