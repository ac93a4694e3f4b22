import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Postgres
import Testing

/// `/signin` and `/account` for people with a phone number, in a real browser. Development wants no challenge, so the
/// tests at the end run `concord serve` with a simulated one.
@Suite(.serialized, .page) struct PhonePageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    private static let password = "correct horse battery"
    private static let start = "Sign in to the app"
    private static let number = "Enter your phone number"
    private static let code = "Check your messages"
    private static let done = "You are signed in"
    private static let account = "Your account"

    // MARK: Steps

    /// Opens a page in a browser that remembers nothing. The app of the sign-in page wants no session, so the page waits
    /// at its end.
    private func open(_ browser: Browser, _ fragment: String = "", at url: String? = nil) async throws {
        let base = try url ?? Self.server.url
        try await browser.open(base + "/conflict")
        try await browser.run("localStorage.clear(); sessionStorage.clear()")
        let app = (base + "/healthz").replacing(":", with: "%3A").replacing("/", with: "%2F")
        try await browser.open("\(base)/signin#continueUrl=\(app)&state=s\(fragment)")
        try await browser.wait(until: "location.hash === '' && document.querySelector('h1') && \(Browser.isIdle)")
    }

    private func fill(_ browser: Browser, _ field: String, _ text: String) async throws {
        try await browser.wait(until: "document.getElementById('\(field)') && \(Browser.isIdle)")
        try await browser.run("document.getElementById('\(field)').focus(); document.activeElement.select()")
        try await browser.type(text)
    }

    /// Asks for a code, from the step before the one with the field for the number.
    private func sendCode(_ browser: Browser, _ number: String, until step: String = code) async throws {
        try await fill(browser, "phone-field", number)
        try await browser.press("Send code")
        try await browser.wait(for: step)
    }

    private func enter(_ browser: Browser, _ code: String, _ button: String = "Sign in") async throws {
        try await fill(browser, "code-field", code)
        try await browser.press(button)
    }

    private func problem(_ browser: Browser, contains text: String) async throws {
        // Other pages may be on the way.
        let place = "document.getElementById('problem')?.innerText"
        try await browser.wait(until: "\(place).includes(\(JSONValue.string(text).text)) && \(Browser.isIdle)")
    }

    private func status(_ browser: Browser, contains text: String) async throws {
        try await browser.wait(until: "document.getElementById('status')?.innerText.includes('\(text)')")
    }

    private func wait(_ browser: Browser, forMethod text: String) async throws {
        let section = "document.querySelector('[data-section=methods]')?.innerText"
        try await browser.wait(until: "\(section).includes('\(text)') && \(Browser.isIdle)")
    }

    // MARK: Accounts and messages

    /// The newest code for a number.
    private func message(_ number: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let messages = try await Self.server.send(.GET, "/inbox/messages").json["messages"]?.array ?? []
        let newest = messages.first { $0["kind"]?.string != "mail" && $0["to"]?.string == number }
        return try #require(newest?["code"]?.string, "no message to \(number)", sourceLocation: sourceLocation)
    }

    private func wrong(_ code: String) -> String { code == "000000" ? "000001" : "000000" }

    /// An account with a password, and with a number if there is one.
    @discardableResult
    private func signUp(_ email: String, number: String? = nil) async throws -> JSONValue {
        let server = try Self.server
        let body: JSONValue = ["email": .string(email), "password": .string(Self.password), "returnSecureToken": true]
        let made = try await server.send(.POST, "/v1/accounts:signUp?key=any", body).json
        let id = try #require(made["localId"], "\(made.text)")
        guard let number else { return made }
        let change: JSONValue = ["localId": id, "phoneNumber": .string(number)]
        #expect(try await server.send(.POST, "/v1/accounts:update", change, bearer: "owner").status == 200)
        return made
    }

    /// The account of a number as an administrator reads it.
    private func owner(_ number: String) async throws -> JSONValue {
        let body: JSONValue = ["phoneNumber": [.string(number)]]
        let found = try await Self.server.send(.POST, "/v1/accounts:lookup", body, bearer: "owner").json
        return found["users"]?.array?.first ?? .null
    }

    /// Makes every sign-in of the account an hour old.
    private func age(_ id: String) async throws {
        let database = try Self.server.database
        try await database.execute(
            "UPDATE sessions SET auth_time = now() - interval '1 hour' WHERE user_id = '\(id)'"
        )
        // The version, because servers cache users.
        try await database.execute(
            """
            UPDATE users SET valid_since = valid_since - interval '2 hours', version = version + 1
            WHERE user_id = '\(id)'
            """
        )
    }

    // MARK: Sign-in

    @Test func `a new number signs up, and the same number signs in`() async throws {
        let number = "+15550100101"
        try await Browser.run { browser in
            try await open(browser)
            try await browser.expectReadable("phone-1-start")
            try await browser.press("Continue with a phone number")
            try await browser.wait(for: Self.number)
            try await browser.expectReadable("phone-2-number")
            #expect(try await browser.text("main").contains("If no account has this number yet, you get a new one."))
            #expect(try await browser.value("document.getElementById('phone-field').autocomplete") == "tel")
            try await sendCode(browser, "+1 (555) 010-0101")
            try await browser.expectReadable("phone-3-code")
            #expect(try await browser.value("document.getElementById('code-field').autocomplete") == "one-time-code")
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains(number))
            let id = try #require(try await owner(number)["localId"]?.string)
            #expect(try await browser.value("JSON.stringify(history.state).includes('eyJ')") == false)
            #expect(try await browser.value("localStorage.length") == 0, "there is no address to remember")

            try await open(browser)
            try await browser.press("Continue with a phone number")
            try await sendCode(browser, number)
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.done)
            #expect(try await owner(number)["localId"]?.string == id)
        }
    }

    @Test func `the page names what is wrong with a number`() async throws {
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with a phone number")
            try await browser.wait(for: Self.number)
            for (number, sentence) in [
                ("", "Enter your phone number."), ("0912 345 678", "Start with + and the country code"),
                ("+1 650", "too few digits"), ("+1 650 253 0000 0000 00", "too many digits"),
                ("+1 000 253 0000", "We cannot send messages to this number."),
            ] {
                try await fill(browser, "phone-field", number)
                try await browser.press("Send code")
                try await problem(browser, contains: sentence)
                #expect(try await browser.value("document.activeElement.id") == "phone-field", "\(number)")
            }
            try await browser.expectReadable("phone-4-wrong-number")
        }
    }

    @Test func `a wrong, a used and an expired code each get a sentence, and another code signs in`() async throws {
        let number = "+15550100103"
        let server = try Self.server
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with a phone number")
            try await sendCode(browser, number)
            let sent = try await message(number)
            try await enter(browser, "123")
            try await problem(browser, contains: "Enter all digits of the code.")
            try await enter(browser, wrong(sent))
            try await problem(browser, contains: "The code is wrong.")
            try await browser.expectReadable("phone-5-wrong-code", inLanguages: false)

            try await server.database.execute(
                "UPDATE phone_verifications SET expires_at = now() - interval '1 second' WHERE number = '\(number)'"
            )
            try await enter(browser, sent)
            try await problem(browser, contains: "This code has expired. Send another one.")
            try await browser.press("Send another code")
            try await status(browser, contains: "A message with a code is on its way.")
            #expect(try await browser.value("document.getElementById('code-field').value") == "")

            // Another tab uses the code.
            let info = try #require(try await browser.value("history.state.phone.sessionInfo").string)
            let second = try await message(number)
            let used: JSONValue = ["sessionInfo": .string(info), "code": .string(second)]
            let path = "/v1/accounts:signInWithPhoneNumber?key=any"
            #expect(try await server.send(.POST, path, used).status == 200)
            try await enter(browser, second)
            try await problem(browser, contains: "This code was used already. Send another one.")
            try await browser.press("Send another code")
            try await status(browser, contains: "A message with a code is on its way.")
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.done)
        }
    }

    @Test func `after five wrong codes the page offers another code`() async throws {
        let number = "+15550100104"
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with a phone number")
            try await sendCode(browser, number)
            let sent = try await message(number)
            for _ in 1...5 {
                try await enter(browser, wrong(sent))
                try await problem(browser, contains: "The code is wrong.")
            }
            try await enter(browser, sent)
            try await problem(browser, contains: "Too many attempts. Send another code, or try again later.")
        }
    }

    @Test func `the account of a number is remembered by its address, and a new number cannot replace it by accident`()
        async throws
    {
        let (email, number, other) = ("both@gmail.com", "+15550100105", "+15550100106")
        try await signUp(email, number: number)
        try await Browser.run { browser in
            try await open(browser)
            try await browser.press("Continue with a phone number")
            try await sendCode(browser, number)
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.done)
            #expect(try await browser.text("main").contains(email))
            let app = try Self.server.url + "/healthz"
            try await browser.open(try Self.server.url + "/signin#continueUrl=\(app)&state=s")
            try await browser.wait(for: Self.start)
            try await browser.press("Continue as b…@gmail.com Used last: Phone number")
            try await browser.wait(for: Self.number)
            #expect(try await !browser.text("main").contains("you get a new one"))
            try await sendCode(browser, other)
            try await enter(browser, try await message(other))
            try await problem(browser, contains: "No account has this number.")
            #expect(try await owner(other) == .null)
        }
    }

    // MARK: Confirmation

    @Test func `a confirmation by number accepts only the number of the account`() async throws {
        let (email, number, other) = ("confirm-phone@gmail.com", "+15550100107", "+15550100108")
        try await signUp(email, number: number)
        let stranger = try await signUp("confirm-stranger@gmail.com", number: other)["idToken"]?.string
        try await Browser.run { browser in
            try await open(browser, "&mode=reauthenticate&methods=phone&email=\(email)")
            try await browser.wait(for: "Confirm that it is you")
            try await browser.press("Continue with a phone number")
            try await browser.wait(for: Self.number)
            try await sendCode(browser, other)
            try await enter(browser, try await message(other))
            try await problem(browser, contains: "That is another account.")
            let path = "/concord/v1/account/sessions"
            let sessions = try await Self.server.send(.GET, path, bearer: stranger).json["sessions"]?.array
            #expect(sessions?.count == 1, "the sign-in to the other account has ended")
            try await browser.press("Use another number")
            try await sendCode(browser, number)
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.done)
        }
    }

    // MARK: The account page

    @Test func `someone with a number alone opens the account, confirms who they are, and changes the number`()
        async throws
    {
        let (number, next) = ("+15550100109", "+15550100110")
        try await Browser.run { browser in
            try await browser.open(try Self.server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            try await browser.open(try Self.server.url + "/account")
            try await browser.wait(for: Self.start)
            try await browser.press("Continue with a phone number")
            try await sendCode(browser, number)
            try await enter(browser, try await message(number))
            try await browser.wait(for: Self.account)
            try await wait(browser, forMethod: number)
            try await browser.expectReadable("phone-6-account")

            let id = try #require(try await owner(number)["localId"]?.string)
            try await age(id)
            try await browser.reload()
            try await wait(browser, forMethod: number)
            try await browser.press("Change the number")
            try await browser.wait(for: "Sign in again")
            try await browser.press("Sign in again")
            try await browser.wait(for: "Confirm that it is you")
            try await browser.press("Continue with a phone number")
            try await browser.wait(for: Self.number)
            try await sendCode(browser, number)
            try await enter(browser, try await message(number))
            try await browser.wait(for: "Change your phone number")
            try await browser.expectReadable("phone-7-change")
            try await sendCode(browser, next)
            try await browser.expectReadable("phone-8-change-code")
            try await enter(browser, wrong(try await message(next)), "Save the number")
            try await problem(browser, contains: "The code is wrong.")
            try await enter(browser, try await message(next), "Save the number")
            try await browser.wait(for: Self.account)
            try await wait(browser, forMethod: next)
            #expect(try await owner(next)["localId"]?.string == id)
            // This browser stays one device in the list.
            try await browser.wait(until: "document.querySelectorAll('[data-section=sessions] li').length === 1")
            #expect(try await owner(number) == .null)
        }
    }

    @Test func `a number is added and removed, and the number of another account is refused`() async throws {
        let (email, number, taken) = ("add-phone@gmail.com", "+15550100111", "+15550100112")
        try await signUp(email)
        try await signUp("add-taken@gmail.com", number: taken)
        try await Browser.run { browser in
            try await browser.open(try Self.server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            try await browser.open(try Self.server.url + "/account")
            try await browser.wait(for: Self.start)
            try await fill(browser, "email-field", email)
            try await browser.press("Continue")
            try await fill(browser, "password-field", Self.password)
            try await browser.press("Sign in")
            try await browser.wait(for: Self.account)
            try await wait(browser, forMethod: "Add a phone number")
            try await browser.press("Add a phone number")
            try await browser.wait(for: "Add a phone number")
            try await sendCode(browser, taken)
            try await enter(browser, try await message(taken), "Save the number")
            try await problem(browser, contains: "This number belongs to another account.")
            try await browser.expectReadable("phone-9-taken")
            try await sendCode(browser, number)
            try await browser.press("Send another code")
            try await status(browser, contains: "A message with a code is on its way.")
            try await enter(browser, try await message(number), "Save the number")
            try await browser.wait(for: Self.account)
            try await wait(browser, forMethod: number)
            #expect(try await owner(number)["email"]?.string == email)
            try await browser.press("Remove Phone number")
            try await browser.wait(for: "Remove this method?")
            try await browser.press("Remove")
            try await browser.wait(for: Self.account)
            try await wait(browser, forMethod: "Add a phone number")
            #expect(try await owner(number) == .null)
        }
    }

    // MARK: Services that verify apps

    private static let key = "test-api-key"

    /// `concord serve` with a challenge and a gateway for texts, both simulated. The gateway's requests have the codes.
    private static func serve(
        script: LocalServer.Reply = .text(solving, headers: [("content-type", "text/javascript")]),
        _ body: @Sendable (_ url: String, LocalServer, TestDatabase) async throws -> Void
    ) async throws {
        try await LocalServer.run { request, _ in
            switch request.path {
            case "/api.js": script
            case "/verify": .json(["success": .bool(request.form["response"]?.hasPrefix("solved: ") == true)])
            default: .text("<p>A challenge</p>", headers: [("content-type", "text/html")])
            }
        } _: { outside in
            try await TestDatabase.with { database in
                try await database.execute(
                    """
                    INSERT INTO api_keys VALUES ('\(key)');
                    INSERT INTO project_config (project_id, project_number, settings) VALUES ('demo-test', 42, '{
                        "signIn": {"email": {"enabled": true}, "phoneNumber": {"enabled": true}},
                        "mfa": {"state": "ENABLED", "enabledProviders": ["PHONE_SMS"]}}')
                    """
                )
                let settings = """
                    recaptcha:
                      site_key: the-site-key
                      secret: the secret
                      script_url: \(outside.address("/api.js"))
                      verify_url: \(outside.address("/verify"))
                      origins: ["http://127.0.0.1:\(outside.port)"]
                    sms:
                      webhook_url: \(outside.address("/sms"))
                      webhook_secret: whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=
                    """
                try await RunningProgram.serve(database, settings) { url in try await body(url, outside, database) }
            }
        }
    }

    /// The part of the challenge that a page uses. Each token is another one. Its frame adds an entry to the history, and
    /// the script reports what it can read.
    private static let solving = """
        (() => {
          const source = new URL(document.currentScript.src);
          const frame = document.createElement("iframe");
          let settings;
          const solve = () => {
            const seen = new URL("/seen", source);
            seen.searchParams.set("stored", JSON.stringify({ ...sessionStorage }));
            seen.searchParams.set("opener", window.opener === null ? "none" : "some");
            const picture = new Image();
            picture.onload = picture.onerror = () => settings.callback(`solved: ${settings.sitekey}, ${Math.random()}`);
            picture.src = seen.href;
          };
          window.grecaptcha = {
            render(place, given) {
              settings = given;
              return 7;
            },
            execute(widget) {
              frame.onload = () => {
                frame.onload = solve;
                frame.contentWindow.location = new URL("/frame?second", source).href;
              };
              frame.src = new URL("/frame?first", source).href;
              if (widget === 7) document.body.append(frame);
            },
          };
          window[source.searchParams.get("onload")]();
        })();
        """

    /// Expects that no script of a challenge could read a handle or a session.
    private func expectNothingSeen(_ outside: LocalServer, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let seen = outside.requests.filter { $0.path == "/seen" }.map(\.query)
        #expect(!seen.isEmpty, sourceLocation: sourceLocation)
        for one in seen {
            let stored = try JSONValue(parsing: Array((one["stored"] ?? "").utf8)).object ?? [:]
            let trip = try JSONValue(parsing: Array((stored["concord:signin"]?.string ?? "{}").utf8)).object ?? [:]
            #expect(Set(stored.keys).isSubset(of: ["concord:signin"]), "\(one)", sourceLocation: sourceLocation)
            #expect(Set(trip.keys).isSubset(of: ["id"]), "\(one)", sourceLocation: sourceLocation)
            #expect(one["opener"] == "none", sourceLocation: sourceLocation)
        }
    }

    /// The code of the newest text to a number, once the gateway has it.
    private func text(
        _ number: String,
        at gateway: LocalServer,
        after count: Int = 0
    ) async throws -> String {
        let deadline = ContinuousClock.now + .seconds(600)
        while ContinuousClock.now < deadline {
            let texts = gateway.requests.filter { $0.path == "/sms" }.compactMap { $0.json["data"] }
                .filter { $0["to"]?.string == number }
            if texts.count > count, let code = texts.last?["code"]?.string { return code }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw BrowserFailure(description: "no text to \(number)")
    }

    private func tokens(_ outside: LocalServer) -> [String] {
        outside.requests.filter { $0.path == "/verify" }.compactMap { $0.form["response"] }
    }

    @Test func `where apps are verified, each text takes one solved challenge, and the trip leaves nothing behind`()
        async throws
    {
        let number = "+16502530101"
        try await Self.serve { url, outside, database async throws in
            try await Browser.run { browser async throws in
                try await open(browser, at: url)
                try await browser.press("Continue with a phone number")
                try await browser.wait(for: Self.number)
                try await sendCode(browser, number)
                #expect(try await browser.value("location.pathname + location.search + location.hash") == "/signin")
                #expect(try await browser.value("sessionStorage.length") == 0)
                _ = try await text(number, at: outside)
                try await browser.press("Send another code")
                try await status(browser, contains: "A message with a code is on its way.")
                try await browser.expectReadable("phone-10-challenged", inLanguages: false)
                // Soon after the first request, both texts have one code, and only one is sent.
                try await enter(browser, try await text(number, at: outside))
                try await browser.wait(for: Self.done)
                #expect(try await database.count("SELECT count(*) FROM users WHERE phone_number = \(number)") == 1)
                try expectNothingSeen(outside)
                let solved = tokens(outside)
                #expect(solved.count == 2 && Set(solved).count == 2, "\(solved)")
            }
        }
    }

    @Test(arguments: [LocalServer.Reply.text("", status: .internalServerError), .text("this is no script <")])
    func `if the challenge cannot be shown, the page keeps the number and offers another try`(
        script: LocalServer.Reply
    ) async throws {
        try await Self.serve(script: script) { url, outside, _ async throws in
            try await Browser.run { browser async throws in
                try await open(browser, at: url)
                try await browser.press("Continue with a phone number")
                try await browser.wait(for: Self.number)
                try await fill(browser, "phone-field", "+16502530102")
                try await browser.press("Send code")
                try await problem(browser, contains: "We could not verify that you are a person.")
                #expect(try await browser.value("document.getElementById('phone-field').value") == "+16502530102")
                #expect(tokens(outside).isEmpty)
            }
        }
    }

    @Test func `where apps are verified, a second factor by text survives the trip`() async throws {
        let (email, number) = ("second@example.com", "+16502530103")
        try await Self.serve { url, outside, database async throws in
            let body: JSONValue = ["email": .string(email), "password": .string(Self.password)]
            let made = try await HTTP.send(.POST, "\(url)/v1/accounts:signUp?key=\(Self.key)", body).json
            let id = try #require(made["localId"]?.string, "\(made.text)")
            try await database.execute(
                "UPDATE users SET email_proof = 'administrator', email_proven_at = now() WHERE user_id = '\(id)'"
            )
            try await enroll(number, for: email, url, outside)
            try await Browser.run { browser async throws in
                try await open(browser, at: url)
                try await fill(browser, "email-field", email)
                try await browser.press("Continue")
                try await fill(browser, "password-field", Self.password)
                try await browser.press("Sign in")
                try await browser.wait(for: "One more step")
                try await browser.run("document.querySelector('[data-list=factors] button').click()")
                try await browser.wait(until: "document.getElementById('code-field') && \(Browser.isIdle)")
                #expect(try await browser.value("location.pathname + location.search + location.hash") == "/signin")
                #expect(try await browser.value("sessionStorage.length") == 0)
                try await browser.expectReadable("phone-11-factor", inLanguages: false)
                try await enter(browser, wrong(try await text(number, at: outside, after: 1)))
                try await problem(browser, contains: "The code is wrong.")
                try await enter(browser, try await text(number, at: outside, after: 1))
                try await browser.wait(for: Self.done)
                #expect(try await browser.text("main").contains(email))
                try expectNothingSeen(outside)
            }
        }
    }

    /// Enrolls the number as second factor, as an app of the project does.
    private func enroll(_ number: String, for email: String, _ url: String, _ outside: LocalServer) async throws {
        let credentials: JSONValue = [
            "email": .string(email), "password": .string(Self.password), "returnSecureToken": true,
        ]
        let signIn = "\(url)/v1/accounts:signInWithPassword?key=\(Self.key)"
        let idToken = try #require(try await HTTP.send(.POST, signIn, credentials).json["idToken"])
        let begun = try await HTTP.send(
            .POST,
            "\(url)/v2/accounts/mfaEnrollment:start?key=\(Self.key)",
            [
                "idToken": idToken,
                "phoneEnrollmentInfo": ["phoneNumber": .string(number), "recaptchaToken": "solved: by an app"],
            ]
        ).json
        let sessionInfo = try #require(begun["phoneSessionInfo"]?["sessionInfo"], "\(begun.text)")
        let proof: JSONValue = ["sessionInfo": sessionInfo, "code": .string(try await text(number, at: outside))]
        let ended = try await HTTP.send(
            .POST,
            "\(url)/v2/accounts/mfaEnrollment:finalize?key=\(Self.key)",
            ["idToken": idToken, "phoneVerificationInfo": proof]
        )
        #expect(ended.status == 200, "\(ended.json.text)")
    }

    @Test func `where apps are verified, the account page gets the token in another tab and adds the number`()
        async throws
    {
        let (email, number) = ("tab@example.com", "+16502530104")
        try await Self.serve { url, outside, database async throws in
            let body: JSONValue = ["email": .string(email), "password": .string(Self.password)]
            let made = try await HTTP.send(.POST, "\(url)/v1/accounts:signUp?key=\(Self.key)", body)
            #expect(made.status == 200, "\(made.json.text)")
            try await Browser.run { browser async throws in
                try await browser.open(url + "/account")
                try await browser.wait(for: Self.start)
                try await fill(browser, "email-field", email)
                try await browser.press("Continue")
                try await fill(browser, "password-field", Self.password)
                try await browser.press("Sign in")
                try await browser.wait(for: Self.account)
                try await wait(browser, forMethod: "Add a phone number")
                try await browser.press("Add a phone number")
                try await browser.wait(for: "Add a phone number")
                try await sendCode(browser, number)
                let window = try #require(try await browser.windows().first)
                try await browser.wait(forWindows: [window])
                try await enter(browser, try await text(number, at: outside), "Save the number")
                try await browser.wait(for: Self.account)
                try await wait(browser, forMethod: number)
                #expect(tokens(outside).count == 1)
                try expectNothingSeen(outside)
                #expect(try await database.count("SELECT count(*) FROM users WHERE phone_number = \(number)") == 1)
            }
        }
    }

    @Test func `the handler page leads no token to another site`() async throws {
        try await Self.serve { url, outside, _ async throws in
            try await Browser.run { browser async throws in
                let handler = "\(url)/__/auth/handler?authType=verifyApp&apiKey=\(Self.key)&eventId=e&hl=en"
                for more in [
                    "&appName=signin&redirectUrl=https://evil.example/",
                    "&appName=signin&redirectUrl=javascript:alert(1)",
                    "&appName=signin&redirectUrl=/signin", "&redirectUrl=\(url)/signin",
                ] {
                    try await browser.open(handler + more)
                    try await browser.wait(for: "Sign-in failed")
                    #expect(try await browser.value("location.pathname") == "/__/auth/handler", "\(more)")
                }
                #expect(outside.targets.isEmpty, "no challenge begins")
            }
        }
    }

    @Test func `where only apps can prove themselves, the pages offer no texts`() async throws {
        try await Browser.run { browser in
            // The description of a project with reCAPTCHA Enterprise alone.
            try await browser.inject(
                """
                if (location.hash.includes("texts=none")) {
                  const send = window.fetch;
                  window.fetch = async (address, request) => {
                    const answer = await send(address, request);
                    if (!String(address).endsWith("concord/v1/signIn")) return answer;
                    return Response.json({ ...await answer.json(), textChallenge: "unavailable" });
                  };
                }
                """
            )
            try await open(browser, "&texts=none")
            #expect(try await !browser.text("main").contains("Continue with a phone number"))
            try await open(browser)
            #expect(try await browser.text("main").contains("Continue with a phone number"))
        }
    }
}
