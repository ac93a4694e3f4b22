import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Testing

/// `/__/auth/handler?authType=verifyApp`: the real program, a real browser, and a script in place of the challenge's.
@Suite(.serialized, .page) struct ChallengePageTests {
    /// The part of the challenge that a page uses: it renders in an empty place, executes, and passes a token to the
    /// callback.
    private static let script = """
        (() => {
          const source = new URL(document.currentScript.src);
          let settings;
          window.grecaptcha = {
            render(place, given) {
              settings = given;
              place.append(Object.assign(document.createElement("iframe"), { src: new URL("/frame", source).href }));
              return 7;
            },
            execute(widget) { if (widget === 7) settings.callback(`solved: ${settings.sitekey}, ${settings.size}`); },
          };
          window[source.searchParams.get("onload")]();
        })();
        """

    /// `concord serve` with a challenge, as an operator configures it, and a project with two apps.
    private static func serve(
        script: LocalServer.Reply = .text(script, headers: [("content-type", "text/javascript")]),
        _ body: @Sendable (_ url: String, LocalServer) async throws -> Void
    ) async throws {
        try await LocalServer.run { request, _ in
            request.path == "/api.js" ? script : .text("<p>A challenge</p>", headers: [("content-type", "text/html")])
        } _: { challenge in
            try await TestDatabase.with { database in
                try await database.execute(
                    """
                    INSERT INTO api_keys VALUES ('test-api-key');
                    INSERT INTO project_config (project_id, project_number, settings) VALUES ('demo-test', 42, '{
                        "concord": {"apps": [{"appId": "1:7:ios:a1", "bundleId": "com.example.app"},
                                             {"packageName": "com.example.app"}]}}')
                    """
                )
                let settings = """
                    recaptcha:
                      site_key: the-site-key
                      secret: the secret
                      script_url: \(challenge.address("/api.js"))
                      origins: ["http://127.0.0.1:\(challenge.port)"]
                    """
                try await RunningProgram.serve(database, settings) { url in try await body(url, challenge) }
            }
        }
    }

    /// The parameters of the link that opens the app.
    private static func callback(_ browser: Browser) async throws -> JSONValue {
        try await browser.wait(until: "document.querySelector('main a')")
        return try await browser.value(
            """
            ((address) => {
              const deep = new URL(address.replace(/^[^:]+:/, "https:")).searchParams.get("deep_link_id");
              if (deep) return Object.fromEntries(new URL(deep).searchParams);
              const extras = [...address.matchAll(/S\\.(\\w+)=([^;]+)/g)];
              return Object.fromEntries(extras.map(([, name, value]) => [name, decodeURIComponent(value)]));
            })(document.querySelector("main a").href)
            """
        )
    }

    private static func address(_ url: String, _ app: String) -> String {
        "\(url)/__/auth/handler?authType=verifyApp&apiKey=test-api-key&eventId=event-1&v=X&hl=en&\(app)"
    }

    @Test(arguments: [
        ("appId=1:7:ios:a1&ibi=com.example.app", "app-1-7-ios-a1://firebaseauth/link"),
        ("ibi=com.example.app", "com.example.app://google/link"),
        ("apn=com.example.app", "intent://firebase.auth/#Intent;scheme=genericidp;package=com.example.app;"),
    ])
    func `an app gets the token of an invisible challenge`(
        app: String,
        scheme: String
    ) async throws {
        try await Self.serve { url, challenge async throws in
            try await Browser.run { browser async throws in
                try await browser.open(Self.address(url, app))
                let callback = try await Self.callback(browser)
                #expect(callback["recaptchaToken"] == "solved: the-site-key, invisible", "\(callback.text)")
                #expect(callback["authType"] == "verifyApp" && callback["eventId"] == "event-1")
                #expect(callback["firebaseError"] == nil && callback["link"] == nil)
                let address = try await browser.value("document.querySelector('main a').href").string
                #expect(address?.hasPrefix(scheme) == true, "\(address ?? "")")
                #expect(
                    challenge.targets.first?.hasPrefix("/api.js?render=explicit&onload=concordChallenge&hl=en") == true
                )
                #expect(challenge.targets.contains("/frame"), "the page may show what the challenge shows")
                try await browser.screenshot("challenge")
            }
        }
    }

    @Test func `an unregistered app or an invalid key begins no challenge`() async throws {
        try await Self.serve { url, challenge async throws in
            try await Browser.run { browser async throws in
                let stranger = Self.address(url, "appId=1:7:ios:zz")
                let keyless = Self.address(url, "ibi=com.example.app").replacing("test-api-key", with: "another-key")
                for address in [stranger, keyless, Self.address(url, ""), Self.address(url, "ibi=https")] {
                    try await browser.open(address)
                    try await browser.wait(for: "Sign-in failed")
                    #expect(try await browser.value("document.querySelector('main a')") == .null, "\(address)")
                }
                #expect(challenge.targets.isEmpty)
            }
        }
    }

    @Test(arguments: [
        LocalServer.Reply.text("", status: .internalServerError), .text("this is no script <"),
        .init(stops: .byClosing),
    ])
    func `an app gets an error if the challenge cannot be shown`(script: LocalServer.Reply) async throws {
        try await Self.serve(script: script) { url, _ in
            try await Browser.run { browser async throws in
                try await browser.open(Self.address(url, "ibi=com.example.app"))
                let callback = try await Self.callback(browser)
                #expect(callback["recaptchaToken"] == nil && callback["eventId"] == "event-1", "\(callback.text)")
                #expect(callback["firebaseError"]?.string?.contains("auth/network-request-failed") == true)
            }
        }
    }

    @Test func `development returns a simulated token`() async throws {
        let server = try #require(PageTrait.current?.server)
        try await Browser.run { browser async throws in
            try await browser.open(Self.address(server.url, "ibi=com.example.app"))
            #expect(try await Self.callback(browser)["recaptchaToken"] == "made-up")
        }
    }
}
