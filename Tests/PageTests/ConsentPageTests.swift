import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// The consent page of made-up providers, `/emulator/auth/provider`: the real program, a real browser.
@Suite(.serialized, .page) struct ConsentPageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// Opens the page as a flow of `provider` does, and waits until it knows the outcome.
    private static func open(_ browser: Browser, _ provider: String, hint: String? = nil) async throws {
        let server = try server
        // Where the browser is sent back to: a page of the same origin that does nothing.
        let query = "provider=\(provider)&redirect_uri=\(server.url)/healthz&state=state-1"
        try await browser.open(
            server.url + "/emulator/auth/provider?" + query + (hint.map { "&login_hint=\($0)" } ?? "")
        )
        try await browser.wait(until: isAnswered)
    }

    private static let isAnswered = "document.querySelector('#outcome')?.ariaBusy === 'false'"

    private static func fill(_ browser: Browser, _ fields: [(name: String, value: String)]) async throws {
        for field in fields {
            try await browser.run("document.querySelector('#user').elements.\(field.name).value = '\(field.value)'")
        }
        try await browser.run("document.querySelector('#user').dispatchEvent(new Event('input'))")
        try await browser.wait(until: isAnswered)
    }

    /// The parameters of the redirect after the consent page.
    private static func answer(_ browser: Browser) async throws -> (parameters: JSONValue, claims: JSONValue) {
        try await browser.wait(until: "location.pathname === '/healthz'")
        let parameters = try await browser.value("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))")
        let token = (parameters["id_token"] ?? parameters["access_token"])?.string ?? ""
        return (parameters, try JSONValue(parsing: Array(token.utf8)))
    }

    private static func consequence(_ browser: Browser, _ flag: String) async throws -> String {
        try await browser.value("document.querySelector('label[for=flag-\(flag)] span').textContent").string ?? ""
    }

    @Test func `the page remembers a simulated person for each provider and signs in with one click`() async throws {
        try await Browser.run { browser in
            try await Self.open(browser, "linkedin.com")
            #expect(try await browser.text("h1") == "Sign in with LinkedIn")
            #expect(try await browser.value("document.querySelector('#known').hidden") == true)
            try await Self.fill(
                browser,
                [
                    ("email", "grace@example.com"), ("name", "Grace Hopper"),
                    ("photo", "https://example.com/grace.png"), ("flag", "false"),
                ]
            )
            try await browser.press("Sign in")
            let first = try await Self.answer(browser)
            #expect(first.parameters["state"] == "state-1")
            #expect(first.claims["picture"] == "https://example.com/grace.png")
            #expect(first.claims["email_verified"] == false && first.claims["name"] == "Grace Hopper")

            try await Self.open(browser, "yahoo.com")
            #expect(try await browser.value("document.querySelector('#known').hidden") == true, "somebody else's")
            try await Self.open(browser, "linkedin.com")
            #expect(try await browser.text("#people").contains("grace@example.com"))
            try await browser.screenshot("provider-known")
            try await browser.run("document.querySelector('#people button + button').click()")
            let field = "document.querySelector('#sub').value"
            #expect(try await browser.value(field) == first.claims["sub"], "to be edited")
            try await browser.run("document.querySelector('#people button').click()")
            #expect(try await Self.answer(browser).claims == first.claims)
        }
    }

    @Test(arguments: [("true", JSONValue.bool(true)), ("false", .bool(false)), ("absent", nil)])
    func `the provider can report the address as verified, unverified or neither`(
        flag: String,
        claim: JSONValue?
    ) async throws {
        try await Browser.run { browser in
            try await Self.open(browser, "google.com", hint: "hinted@example.com")
            try await browser.run("document.querySelector('#flag-\(flag)').click()")
            try await browser.press("Sign in")
            let answer = try await Self.answer(browser)
            #expect(answer.claims["email"] == "hinted@example.com")
            #expect(answer.claims["email_verified"] == claim)
            #expect(answer.parameters["id_token"] == answer.parameters["access_token"])
        }
    }

    @Test func `the page predicts the outcome for each report about the address`() async throws {
        let server = try Self.server
        for email in ["owner@example.com", "owner@gmail.com"] {
            let body: JSONValue = ["email": .string(email), "password": "correct horse"]
            _ = try await server.send(.POST, "/v1/accounts:signUp?key=any", body)
        }
        try await Browser.run { browser in
            try await Self.open(browser, "github.com", hint: "nobody@example.com")
            #expect(try await browser.text("#ending") == "A new account.")
            let rows = try await server.database.rowCounts()
            try await Self.fill(browser, [("email", "owner@example.com")])
            #expect(try await browser.text("#ending").contains("account-exists-with-different-credential"))
            for flag in ["true", "false", "absent"] {
                #expect(
                    try await Self.consequence(browser, flag) == "Concord does not take it as proof: a conflict.",
                    "GitHub's word makes no difference here"
                )
            }
            try await browser.screenshot("provider-conflict")

            try await Self.open(browser, "google.com", hint: "owner@gmail.com")
            #expect(try await Self.consequence(browser, "true") == "Concord takes it as proof: a sign-in.")
            #expect(try await Self.consequence(browser, "false") == "Concord does not take it as proof: a conflict.")
            #expect(try await browser.text("#ending") == "A sign-in to an existing account.")
            try await browser.run("document.querySelector('#flag-false').click()")
            try await browser.wait(until: "document.querySelector('#outcome').dataset.ending === 'conflict'")

            try await Self.fill(browser, [("email", "")])
            #expect(try await browser.value("document.querySelector('#flags').hidden") == true)
            #expect(try await server.database.rowCounts() == rows, "nothing was written")
        }
    }

    @Test func `it can be read and used everywhere`() async throws {
        try await Browser.run { browser in
            try await Self.open(browser, "twitter.com")
            #expect(try await browser.text("h1") == "Sign in with X (Twitter)")
            try await browser.press("Sign in")
            _ = try await Self.answer(browser)
            try await Self.open(browser, "twitter.com", hint: "a-very-long-address.of.somebody@subdomain.example.com")
            try await browser.expectReadable("provider", inLanguages: false)
            // By the keyboard.
            try await browser.run("document.querySelector('#sub').focus()")
            try await browser.type(Browser.Key.tab + " ")
            #expect(try await browser.value("document.activeElement.id") == "flag-true")
        }
    }
}
