import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Testing

/// `examples/web` with the files of `clients/web`, on another site than the server, and the steps of a person in it.
struct WebExample: Sendable {
    let server: DevServer
    let browser: Browser
    /// The URL of a page.
    let url: @Sendable (_ page: String) -> String

    static let password = "correct horse"

    static let elements = AccountTestSupport.Repository.root + "/clients/web/concord-elements.js"

    /// Serves the files, pointed at the server of the suite, and opens `page` in a browser without data.
    static func open(_ page: String, _ body: @Sendable (WebExample) async throws -> Void) async throws {
        let server = try #require(PageTrait.current?.server)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("concord-example-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for source in ["examples/web", "clients/web"] {
            let path = AccountTestSupport.Repository.root + "/" + source
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                let text = try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8)
                let pointed = text.replacing("http://127.0.0.1:9099", with: server.url)
                try Data(pointed.utf8).write(to: folder.appendingPathComponent(name))
            }
        }
        try await RunningProgram.serveFiles(of: folder) { port in
            try await Browser.run { browser in
                let url: @Sendable (String) -> String = { "http://localhost:\(port)/\($0)" }
                let example = WebExample(server: server, browser: browser, url: url)
                // A page without scripts, so that no session is renewed meanwhile.
                try await browser.open(url("style.css"))
                try await browser.run("localStorage.clear(); sessionStorage.clear()")
                try await browser.open(url(page))
                try await body(example)
            }
        }
    }

    // MARK: Steps

    private static let isIdle = """
        [...document.querySelectorAll("concord-signin, concord-conflict, concord-account")]
          .every((element) => element.ariaBusy !== "true")
        """

    /// Waits until a heading that can be seen says `heading`, and no element is busy.
    func wait(for heading: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let text = JSONValue.string(heading).text
        let isThere =
            "[...document.querySelectorAll('h2')].some((h) => h.checkVisibility() && h.textContent === \(text))"
        try await browser.wait(until: "\(isThere) && \(Self.isIdle)", sourceLocation: sourceLocation)
    }

    /// Waits until a problem that can be seen contains `text`.
    func wait(forProblem text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let text = JSONValue.string(text).text
        let isThere = """
            [...document.querySelectorAll("[role=alert]")]
              .some((alert) => alert.checkVisibility() && alert.innerText.includes(\(text)))
            """
        try await browser.wait(until: "\(isThere) && \(Self.isIdle)", sourceLocation: sourceLocation)
    }

    /// Waits until the page shows `text`, or no longer shows it.
    func wait(
        forText text: String,
        isShown: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let shown = "document.body.innerText.includes(\(JSONValue.string(text).text)) === \(isShown)"
        try await browser.wait(until: "\(shown) && \(Self.isIdle)", sourceLocation: sourceLocation)
    }

    /// Types into the field `name` that can be seen.
    func fill(_ name: String, _ text: String) async throws {
        let field = "[...document.querySelectorAll('input[name=\(name)]')].find((input) => input.checkVisibility())"
        try await browser.wait(until: field)
        try await browser.run("const field = \(field); field.focus(); field.select()")
        try await browser.type(text)
    }

    /// Clicks the last button with the name that can be seen.
    func press(_ name: String) async throws {
        let name = JSONValue.string(name).text
        let button = """
            [...document.querySelectorAll("button")]
              .findLast((button) => button.checkVisibility() && button.innerText === \(name))
            """
        try await browser.wait(until: button)
        try await browser.run("(\(button)).click()")
    }

    /// Presses a button that opens a provider's page in a popup, and signs in there.
    func signIn(by button: String, as email: String, isVerified: Bool = true) async throws {
        let window = try #require(try await browser.windows().first)
        try await press(button)
        try await browser.inPopup(of: window) {
            try await consent(email, isVerified: isVerified)
        }
        try await browser.wait(forWindows: [window])
    }

    /// Signs in on the page of a simulated provider.
    func consent(_ email: String, isVerified: Bool = true) async throws {
        try await browser.wait(until: "document.querySelector('#sub')?.value")
        try await browser.wait(until: "document.querySelector('#outcome').ariaBusy === 'false'")
        try await browser.run(
            """
            document.querySelector("#email").value = "\(email)";
            document.querySelector("#sub").value = "subject-of-\(email)";
            """
        )
        if !isVerified { try await browser.run("document.querySelector('#flag-false').click()") }
        try await browser.press("Sign in")
    }

    // MARK: The server

    /// Creates an account with a password, and returns its id.
    @discardableResult
    func signUp(_ email: String) async throws -> String {
        let body: JSONValue = ["email": .string(email), "password": .string(Self.password)]
        let answer = try await server.send(.POST, "/v1/accounts:signUp?key=any", body).json
        return try #require(answer["localId"]?.string, "\(answer.text)")
    }

    /// The code of the newest mail to `email`.
    func mailedCode(to email: String) async throws -> String {
        let messages = try await server.send(.GET, "/inbox/messages").json["messages"]?.array ?? []
        let newest = try #require(messages.first { $0["to"]?.string == email && $0["code"] != nil })
        return try #require(newest["code"]?.string)
    }

    /// Makes every sign-in of the account an hour old.
    func age(_ account: String) async throws {
        try await server.database.execute(
            "UPDATE sessions SET auth_time = now() - interval '1 hour' WHERE user_id = '\(account)'"
        )
        // The version, because servers cache users.
        try await server.database.execute(
            """
            UPDATE users SET valid_since = valid_since - interval '2 hours', version = version + 1
            WHERE user_id = '\(account)'
            """
        )
    }

    func exists(_ account: String) async throws -> Bool {
        let body: JSONValue = ["localId": [.string(account)]]
        let answer = try await server.send(.POST, "/v1/accounts:lookup", body, bearer: "owner").json
        return answer["users"]?.array?.isEmpty == false
    }

    /// Changes a field of the project's configuration.
    func configure(_ field: String, _ value: JSONValue) async throws {
        let body = field.split(separator: ".").reversed().reduce(value) { inner, name in [String(name): inner] }
        let path = "/v2/projects/demo-concord/config?updateMask=\(field)"
        let answer = try await server.send(.PATCH, path, body, bearer: "owner")
        #expect(answer.status == 200, "\(answer.json.text)")
    }
}
