import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// The way back from `/conflict` to the app, in a real browser.
@Suite(.serialized, .page) struct ConflictReturnTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    /// The page of an app, which the server of the test plays.
    private static var app: String {
        get throws { try server.url + "/healthz" }
    }

    /// The page of the conflict as the app opens it.
    private func page(_ conflict: OpenConflict, at app: String, asksForSession: Bool = true) -> String {
        let address = app.replacing(":", with: "%3A").replacing("/", with: "%2F")
        let page = "\(conflict.page)&continueUrl=\(address)&state=a%26b"
        return asksForSession ? page + "&codeChallenge=\(Self.challenge)" : page
    }

    /// The addresses of the links on the page.
    private func links(_ browser: Browser) async throws -> JSONValue {
        try await browser.value("[...document.querySelectorAll('main a')].map((link) => link.href)")
    }

    private func parameter(_ name: String, of address: String) -> String? {
        address.split(separator: "?").last?.split(separator: "&").first { $0.hasPrefix(name + "=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    @Test func `the keyboard alone leads back to the app, which gets the session`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("back@example.com")
        try await Browser.run { browser in
            try await browser.open(page(conflict, at: try Self.app))
            try await browser.wait(for: "Is this account yours?")
            #expect(try await browser.value("location.hash") == "", "the parameters leave the address")
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: try await conflict.mail().code)
            try await browser.wait(for: "Connect GitHub")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            #expect(try await browser.text("main").contains("No longer works"), "the page does not leave by itself")
            let target = try Self.app + "?concordConflict=resolved&state=a%26b"
            #expect(try await links(browser) == [.string(target)])
            let kept = try await browser.value("JSON.stringify(history.state)").string ?? ""
            #expect(!kept.contains("eyJ") && !kept.contains(Self.challenge), "no token is stored: \(kept)")
            #expect(try await browser.accessible("main a").role == "link")
            #expect(try await browser.defects() == [])
            try await browser.screenshot("10-resolved-back")

            try await browser.tab(to: "Back to the app")
            try await browser.type(Browser.Key.enter)
            try await browser.wait(until: "location.pathname === '/healthz'")
            let address = try #require(try await browser.value("location.href").string)
            #expect(address.hasPrefix(target + "&concordCode="), "\(address)")
            let exchange = "/concord/v1/session:exchange"
            let code = try #require(parameter("concordCode", of: address))
            let session = try await server.send(
                .POST,
                exchange,
                ["code": .string(code), "codeVerifier": .string(Self.verifier)]
            )
            #expect(
                session.status == 200 && session.json["localId"]?.string == conflict.account,
                "\(session.json.text)"
            )

            try await browser.back()
            try await browser.wait(for: "GitHub is connected")
            #expect(try await links(browser) == [.string(target)])
        }
    }

    @Test func `the mailed link on another device leads back too, and each device shows the button`() async throws {
        let conflict = try await Self.server.openConflict("elsewhere-back@example.com")
        try await Browser.run { laptop in
            try await laptop.open(page(conflict, at: try Self.app))
            try await laptop.wait(for: "Is this account yours?")
            try await laptop.press("Send me the code")
            try await laptop.wait(for: "Check your email")
            let target = try Self.app + "?concordConflict=resolved&state=a%26b"
            try await Browser.run { phone in
                try await phone.open(try await conflict.mail().link)
                try await phone.wait(for: "Connect GitHub to your account?")
                try await phone.press("Yes, this was me")
                try await phone.wait(for: "Connect GitHub")
                try await phone.press("Connect GitHub")
                try await phone.wait(for: "GitHub is connected")
                try await phone.run("document.querySelector('main a').click()")
                try await phone.wait(until: "location.pathname === '/healthz'")
                let address = try await phone.value("location.href").string ?? ""
                #expect(address.hasPrefix(target + "&concordCode="), "\(address)")
            }
            try await laptop.wait(for: "GitHub is connected")
            try await laptop.run("document.querySelector('main a').click()")
            try await laptop.wait(until: "location.pathname === '/healthz'")
            #expect(
                try await laptop.value("location.href").string == target,
                "a code goes where the conflict was resolved"
            )
        }
    }

    @Test func `a declined and an expired conflict lead back, and say so`() async throws {
        let declined = try await Self.server.openConflict("declined-back@example.com")
        let expired = try await Self.server.openConflict("expired-back@example.com")
        try await Browser.run { browser in
            try await browser.open(page(declined, at: try Self.app))
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("This was not me")
            try await browser.wait(for: "Nothing was connected")
            #expect(try await links(browser) == [.string(try Self.app + "?concordConflict=declined&state=a%26b")])
            try await browser.screenshot("11-declined-back")

            try await browser.open(page(expired, at: try Self.app))
            try await browser.wait(for: "Is this account yours?")
            try await expired.age()
            try await browser.wait(for: "This cannot be finished here")
            #expect(try await links(browser) == [.string(try Self.app + "?concordConflict=expired&state=a%26b")])
        }
    }

    @Test func `if the connection is lost at the start, the way back is stored once it is there`() async throws {
        let conflict = try await Self.server.openConflict("late-back@example.com")
        try await Browser.run { browser in
            try await browser.open(try Self.server.url + "/conflict")
            try await browser.wait(for: "This cannot be finished here")
            // Only the first request to store the way back fails, so that the poll finds the server.
            try await browser.run(
                """
                const send = window.fetch;
                let isFirst = true;
                window.fetch = (address, request) => {
                  if (!isFirst || !String(address).endsWith("/return")) return send(address, request);
                  isFirst = false;
                  return Promise.reject(new TypeError("the connection is gone"));
                };
                """
            )
            let fragment = try #require(page(conflict, at: try Self.app).split(separator: "#").last)
            try await browser.run("location.hash = \(JSONValue.string(String(fragment)).text)")
            // Without a click: the page polls.
            try await browser.wait(for: "Is this account yours?")
            #expect(
                try await conflict.read().json["return"]?["url"]?.string
                    == (try Self.app) + "?concordConflict=open&state=a%26b"
            )
        }
    }

    @Test func `if the answer to the resolution is lost, the app still gets a code`() async throws {
        let conflict = try await Self.server.openConflict("cut-back@example.com")
        try await Browser.run { browser in
            try await browser.open(page(conflict, at: try Self.app))
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: try await conflict.mail().code)
            try await browser.wait(for: "Connect GitHub")
            // The server resolves the conflict, and its first answer does not arrive.
            try await browser.run(
                """
                const send = window.fetch;
                window.isCut = false;
                window.fetch = async (address, request) => {
                  const answer = await send(address, request);
                  if (window.isCut || !String(address).endsWith(":resolve")) return answer;
                  window.isCut = true;
                  throw new TypeError("the connection is gone");
                };
                """
            )
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            #expect(try await browser.value("window.isCut") == true)
            #expect(try await browser.text("#problem") == "")
            try await browser.run("document.querySelector('main a').click()")
            try await browser.wait(until: "location.pathname === '/healthz'")
            let address = try await browser.value("location.href").string ?? ""
            #expect(parameter("concordCode", of: address) != nil, "\(address)")
        }
    }

    @Test func `without a challenge the app gets its user back without a code`() async throws {
        let conflict = try await Self.server.openConflict("plain-back@example.com")
        try await Browser.run { browser in
            try await browser.open(page(conflict, at: try Self.app, asksForSession: false))
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: try await conflict.mail().code)
            try await browser.wait(for: "Connect GitHub")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            try await browser.run("document.querySelector('main a').click()")
            try await browser.wait(until: "location.pathname === '/healthz'")
            let expected = try Self.app + "?concordConflict=resolved&state=a%26b"
            #expect(try await browser.value("location.href").string == expected)
        }
    }

    @Test func `a foreign page, a script and an app's own scheme get no button, and the page goes on`() async throws {
        let conflict = try await Self.server.openConflict("foreign-back@example.com")
        try await Browser.run { browser in
            for app in ["https://evil.example/", "javascript:alert(1)", "com.example.app://back", "//evil.example"] {
                try await browser.open("about:blank")
                try await browser.open(page(conflict, at: app))
                try await browser.wait(for: "Is this account yours?")
                #expect(try await conflict.read().json["return"] == nil, "\(app)")
            }
            try await browser.press("This was not me")
            try await browser.wait(for: "Nothing was connected")
            #expect(try await links(browser) == [])
            #expect(try await browser.text("main").contains("You can close this page."))
        }
    }
}
