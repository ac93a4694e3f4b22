import AccountTestSupport
import IdentityProviders
import JSON
import NIOHTTP1
import Testing

/// `/__/auth/action`, to which links in mails lead: the real program, a real browser.
@Suite(.serialized, .page) struct ActionPageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// An account, and the mails to it.
    private struct Account {
        let server: DevServer
        let email: String
        let idToken: JSONValue

        static let password = "correct horse"

        init(_ email: String) async throws {
            server = try ActionPageTests.server
            self.email = email
            let domains: JSONValue = ["authorizedDomains": ["127.0.0.1"]]
            let path = "/v2/projects/demo-concord/config?updateMask=authorizedDomains"
            #expect(try await server.send(.PATCH, path, domains, bearer: "owner").status == 200)
            let body: JSONValue = [
                "email": .string(email), "password": .string(Self.password), "returnSecureToken": true,
            ]
            let session = try await server.send(.POST, "/v1/accounts:signUp?key=any", body).json
            idToken = try #require(session["idToken"])
        }

        /// Asks for a mail, and gives the link in it as production writes it.
        func link(_ type: String, _ more: [String: JSONValue] = [:]) async throws -> String {
            var body: [String: JSONValue] = ["requestType": .string(type), "email": .string(email), "idToken": idToken]
            body["continueUrl"] = .string(server.url + "/conflict")
            body.merge(more) { $1 }
            let answer = try await server.send(.POST, "/v1/accounts:sendOobCode?key=any", .object(body))
            #expect(answer.status == 200, "\(answer.json.text)")
            return try await mailed(type)
        }

        func mailed(_ type: String) async throws -> String {
            let path = "/emulator/v1/projects/demo-concord/oobCodes"
            let codes = try await server.send(.GET, path).json["oobCodes"]?.array ?? []
            let code = codes.last { $0["requestType"]?.string == type && $0["email"]?.string == email }
            let link = try #require(code?["oobLink"]?.string)
            return link.replacing("/emulator/action?", with: "/__/auth/action?")
        }

        func signIn(_ email: String? = nil, _ password: String = Self.password) async throws -> Int {
            let body: JSONValue = ["email": .string(email ?? self.email), "password": .string(password)]
            return try await server.send(.POST, "/v1/accounts:signInWithPassword?key=any", body).status
        }

        func isVerified() async throws -> Bool {
            let body: JSONValue = ["email": [.string(email)]]
            let path = "/v1/projects/demo-concord/accounts:lookup"
            let found = try await server.send(.POST, path, body, bearer: "owner").json
            return found["users"]?.array?.first?["emailVerified"] == true
        }
    }

    // MARK: What links are for

    @Test func `the keyboard alone sets a new password and continues to the app`() async throws {
        let account = try await Account("reset@example.com")
        let link = try await account.link("PASSWORD_RESET")
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Choose a new password")
            let places = "[location.href, localStorage.length, sessionStorage.length, document.cookie]"
            let address = "\(account.server.url)/__/auth/action"
            #expect(try await browser.value(places) == [.string(address), 0, 0, ""], "the code leaves the address")
            #expect(try await browser.text("main").contains("reset@example.com"))
            #expect(try await browser.text("#password-hint") == "At least 6 characters")
            let username = "document.querySelector('input[autocomplete=username]')"
            #expect(
                try await browser.value("[\(username).value, \(username).checkVisibility()]") == [
                    "reset@example.com", false,
                ]
            )
            try await browser.screenshot("action-1-password")

            let field = "document.getElementById('password-field')"
            try await browser.run("\(field).focus()")
            try await browser.type("short" + Browser.Key.enter)
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('does not meet')")
            #expect(try await browser.value("\(field).getAttribute('aria-invalid')") == "true")
            #expect(try await account.signIn() == 200, "nothing has changed")
            try await browser.press("Show password")
            #expect(try await browser.value("\(field).type") == "text")
            try await browser.press("Show password")
            #expect(try await browser.value("\(field).type") == "password")
            try await browser.run("\(field).value = ''; \(field).focus()")
            try await browser.type("battery staple" + Browser.Key.enter)
            try await browser.wait(for: "Your password has changed")
            #expect(try await browser.focused == "Your password has changed")
            let onward = "document.querySelector('main a').href"
            #expect(try await browser.value(onward).string == account.server.url + "/conflict")
            try await browser.screenshot("action-2-done")
            #expect(try await account.signIn() == 400)
            #expect(try await account.signIn(nil, "battery staple") == 200)

            try await browser.reload()
            try await browser.wait(for: "This link does not work")
            #expect(try await browser.text("main").contains("used already"))
            #expect(try await browser.complaints().allSatisfy { $0.hasPrefix("network: ") })
        }
    }

    @Test func `a reset lists what it disconnects, before and after`() async throws {
        let account = try await Account("unlinks@example.com")
        let credential: JSONValue = ["sub": "unlinks", "email": .string(account.email)]
        let linked = try await account.server.send(
            .POST,
            "/v1/accounts:signInWithIdp?key=any",
            [
                "requestUri": "http://localhost", "idToken": account.idToken,
                "postBody": .string("providerId=github.com&access_token=\(credential.text)"),
            ]
        )
        #expect(linked.status == 200, "\(linked.json.text)")
        let link = try await account.link("PASSWORD_RESET")
        try await Browser.run { browser in
            let struck = "[...document.querySelectorAll('s')].map((name) => name.textContent)"
            try await browser.open(link)
            try await browser.wait(for: "Choose a new password")
            #expect(try await browser.value(struck) == ["GitHub"])
            #expect(try await browser.text("main").contains("Saving it also disconnects these sign-in methods"))
            for (language, tag) in [("繁體中文", "zh-TW"), ("ไทย", "th"), ("English", "en")] {
                try await browser.press(language)
                for width in [320, 1280] {
                    try await browser.resize(width, 800)
                    #expect(try await browser.defects() == [], "\(tag) \(width)")
                    if (width == 320) == (tag != "en") { try await browser.screenshot("action-unlinks-\(tag)") }
                }
            }
            try await browser.run("document.getElementById('password-field').value = 'battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(for: "Your password has changed")
            #expect(try await browser.value(struck) == ["GitHub"])
            #expect(try await browser.text("main").contains("no longer work"))
            try await browser.screenshot("action-unlinks-done")
            #expect(try await browser.complaints() == [])

            // The address is proven now, and nothing is linked: the next reset takes nothing.
            try await browser.open(try await account.link("PASSWORD_RESET"))
            try await browser.wait(for: "Choose a new password")
            #expect(try await browser.value(struck) == [])
            #expect(!(try await browser.text("main")).contains("disconnects"))
        }
    }

    @Test func `the project's password rules are shown and enforced`() async throws {
        let account = try await Account("rules@example.com")
        let path = "/v2/projects/demo-concord/config?updateMask=passwordPolicyConfig"
        func set(_ options: JSONValue, _ state: JSONValue) async throws {
            let policy: JSONValue = [
                "passwordPolicyConfig": [
                    "passwordPolicyEnforcementState": state,
                    "passwordPolicyVersions": [["customStrengthOptions": options]],
                ]
            ]
            let answer = try await account.server.send(.PATCH, path, policy, bearer: "owner")
            #expect(answer.status == 200, "\(answer.json.text)")
        }
        try await set(["minPasswordLength": 9, "maxPasswordLength": 40, "containsUppercaseCharacter": true], "ENFORCE")
        let link = try await account.link("PASSWORD_RESET")
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Choose a new password")
            let rules = "At least 9 characters, at most 40 characters, and an uppercase letter"
            #expect(try await browser.text("#password-hint") == rules)
            try await browser.run("document.getElementById('password-field').value = 'battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('does not meet')")
            try await browser.run("document.getElementById('password-field').value = 'Battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(for: "Your password has changed")
        }
        try await set([:], "OFF")
    }

    @Test func `a common password is refused on the page`() async throws {
        let account = try await Account("common@example.com")
        func set(_ passwords: JSONValue) async throws {
            let path = "/v2/projects/demo-concord/config?updateMask=concord.passwords"
            let answer = try await account.server
                .send(.PATCH, path, ["concord": ["passwords": passwords]], bearer: "owner")
            #expect(answer.status == 200, "\(answer.json.text)")
        }
        try await set(["lengthMin": 8, "refusesCommon": true])
        let link = try await account.link("PASSWORD_RESET")
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Choose a new password")
            let hint = "At least 8 characters and not a common password"
            #expect(try await browser.text("#password-hint") == hint)
            try await browser.run("document.getElementById('password-field').value = 'password1'")
            try await browser.press("Save the password")
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('does not meet')")
            #expect(try await browser.text("#password-hint") == hint)
            try await browser.run("document.getElementById('password-field').value = 'battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(for: "Your password has changed")
        }
        try await set(["lengthMin": 6, "refusesCommon": false])
    }

    @Test func `a mail scanner that opens the link ten times and runs scripts uses nothing`() async throws {
        let account = try await Account("scanner@example.com")
        let link = try await account.link("VERIFY_EMAIL")
        try await Browser.run { browser in
            for _ in 1...10 {
                for method in ["GET", "HEAD"] {
                    #expect(try await HTTP.send(.init(rawValue: method), link).status == 200)
                }
                try await browser.open(link)
                try await browser.wait(for: "Verify your email address")
            }
            #expect(try await account.isVerified() == false)
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "Your email address is verified")
            #expect(try await account.isVerified())
        }
    }

    @Test func `the page shows when and how the account was created, and a confirmation ends all sessions`()
        async throws
    {
        let account = try await Account("claimed@example.com")
        let link = try await account.link("VERIFY_EMAIL")
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Verify your email address")
            let text = try await browser.text("main")
            #expect(text.contains("an account was created with claimed@example.com"), "\(text)")
            let year = "new Intl.DateTimeFormat('en', { dateStyle: 'long' }).format(new Date())"
            #expect(text.contains(try await browser.value(year).string ?? "?"), "\(text)")
            #expect(text.contains("All devices will be signed out"), "\(text)")
            let methods = "[...document.querySelectorAll('[data-methods] li')].map((item) => item.textContent)"
            #expect(try await browser.value(methods) == ["Password"])
            let lookup = "/v1/accounts:lookup?key=any"
            #expect(try await account.server.send(.POST, lookup, ["idToken": account.idToken]).status == 200)
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "Your email address is verified")
            #expect(try await browser.text("main").contains("All devices have been signed out"))
            #expect(try await account.server.send(.POST, lookup, ["idToken": account.idToken]).status == 400)
            #expect(try await account.signIn() == 200)
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func `a person who did not create the account can disown it`() async throws {
        let account = try await Account("squatted@example.com")
        let credential: JSONValue = ["sub": "squatter"]
        let linked = try await account.server.send(
            .POST,
            "/v1/accounts:signInWithIdp?key=any",
            [
                "requestUri": "http://localhost", "idToken": account.idToken,
                "postBody": .string("providerId=github.com&access_token=\(credential.text)"),
            ]
        )
        #expect(linked.status == 200, "\(linked.json.text)")
        let link = try await account.link("VERIFY_EMAIL")
        try await Browser.run { browser in
            let struck = "[...document.querySelectorAll('s')].map((name) => name.textContent)"
            try await browser.open(link)
            try await browser.wait(for: "Verify your email address")
            try await browser.screenshot("action-6-claim")
            try await browser.press("This was not me")
            try await browser.wait(for: "You did not create this account")
            #expect(try await browser.focused == "You did not create this account")
            #expect(try await browser.value(struck) == ["GitHub", "Password"])
            #expect(try await account.signIn() == 200, "nothing has changed")
            try await browser.press("Back")
            try await browser.wait(for: "Verify your email address")
            try await browser.press("This was not me")
            try await browser.wait(for: "You did not create this account")
            try await browser.screenshot("action-7-disown")
            try await browser.press("Stop them")
            try await browser.wait(for: "Only you can sign in now")
            #expect(try await browser.value(struck) == ["GitHub", "Password"])
            #expect(try await browser.text("main").contains("restore it in the app before"))
            #expect(
                try await browser.value("document.querySelector('main a')") == .null,
                "the page does not continue from here"
            )
            try await browser.screenshot("action-8-disowned")
            #expect(try await account.signIn() == 400)
            let lookup = "/v1/accounts:lookup?key=any"
            #expect(try await account.server.send(.POST, lookup, ["idToken": account.idToken]).status == 400)

            try await browser.press("Email me a password link")
            try await browser.wait(until: "document.getElementById('status').textContent.includes('sending an email')")
            try await browser.open(try await account.mailed("PASSWORD_RESET"))
            try await browser.wait(for: "Choose a new password")
            try await browser.run("document.getElementById('password-field').value = 'battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(for: "Your password has changed")
            #expect(try await account.signIn(nil, "battery staple") == 200)
            try await browser.open(link)
            try await browser.wait(for: "This link does not work")
            #expect(try await browser.complaints().allSatisfy { $0.hasPrefix("network: ") })
        }
    }

    @Test func `an old address can be restored, with a mail for a new password`() async throws {
        let account = try await Account("old@example.com")
        let link = try await account.link("VERIFY_AND_CHANGE_EMAIL", ["newEmail": "new@example.com"])
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Use your new email address")
            let text = try await browser.text("main")
            #expect(text.contains("old@example.com") && text.contains("new@example.com"))
            try await browser.press("Use the new address")
            try await browser.wait(for: "Your email address has changed")
            #expect(try await account.signIn("new@example.com") == 200)

            try await browser.open(try await account.mailed("RECOVER_EMAIL"))
            try await browser.wait(for: "Restore your email address")
            // The address was never proven, so the password may be an intruder's.
            #expect(try await browser.text("main").contains("also turns off these sign-in methods"))
            try await browser.press("Restore the address")
            try await browser.wait(for: "old@example.com is yours again")
            #expect(
                try await browser.value("document.querySelector('main a')") == .null,
                "the page does not continue from here"
            )
            #expect(try await account.signIn() == 400)
            try await browser.screenshotEverywhere("action-3-recovered")
            try await browser.press("Email me a password link")
            try await browser.wait(until: "document.getElementById('status').textContent.includes('sending an email')")
            #expect(try await account.mailed("PASSWORD_RESET").contains("mode=resetPassword"))
        }
    }

    @Test func `a change of sign-in methods is shown, undone by a button, and reported`() async throws {
        let account = try await Account("stolen@example.com")
        let confirm = try await account.link("VERIFY_EMAIL").replacing("/__/auth/action?", with: "/emulator/action?")
        #expect(try await account.server.send(.GET, String(confirm.dropFirst(account.server.url.count))).status < 400)
        let signIn: JSONValue = ["email": .string(account.email), "password": .string(Account.password)]
        let session = try await account.server.send(.POST, "/v1/accounts:signInWithPassword?key=any", signIn).json
        let idToken = try #require(session["idToken"])
        func update(_ body: [String: JSONValue]) async throws -> Int {
            let body = body.merging(["idToken": idToken]) { $1 }
            return try await account.server.send(.POST, "/v1/accounts:update?key=any", .object(body)).status
        }
        let claims: JSONValue = ["sub": "thief"]
        let linking: JSONValue = [
            "requestUri": "http://localhost", "idToken": idToken,
            "postBody": .string("providerId=github.com&access_token=\(claims.text)"),
        ]
        #expect(try await account.server.send(.POST, "/v1/accounts:signInWithIdp?key=any", linking).status == 200)
        let link = try await account.mailed("REVERT_SIGN_IN_METHOD_CHANGE")
        #expect(try await update(["password": "the thief's own"]) == 200)
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Undo the change")
            let announced = try await browser.text("main")
            #expect(announced.contains("will be removed:") && announced.contains("GitHub"), "\(announced)")
            #expect(announced.contains("will work again") && announced.contains("Password"), "\(announced)")
            #expect(try await account.signIn(nil, "the thief's own") == 200, "looking changes nothing")
            try await browser.screenshotEverywhere("action-6-revert")
            try await browser.press("Undo the change")
            try await browser.wait(for: "The change is undone")
            let reported = try await browser.text("main")
            #expect(reported.contains("were removed:") && reported.contains("GitHub"), "\(reported)")
            #expect(
                try await browser.value("document.querySelector('main a')") == .null,
                "the page does not continue from here"
            )
            #expect(try await account.signIn() == 200)
            #expect(try await account.signIn(nil, "the thief's own") == 400)
            try await browser.press("Email me a password link")
            try await browser.wait(until: "document.getElementById('status').textContent.includes('sending an email')")
            #expect(try await account.mailed("PASSWORD_RESET").contains("mode=resetPassword"))
        }
    }

    @Test func `a mail gateway that opens a sign-in link and runs its scripts does not pass the code on`() async throws
    {
        let account = try await Account("gateway@example.com")
        let app = account.server.url + "/conflict?from=app"
        let link = try await account.link("EMAIL_SIGNIN", ["continueUrl": .string(app), "canHandleCodeInApp": true])
        let host = account.server.url.replacing("http://", with: "")
        try await Browser.run { browser in
            for _ in 1...3 {
                try await browser.open(link)
                try await browser.wait(for: "Finish signing in")
                // Longer than any script of the page takes.
                try await Task.sleep(for: .seconds(1))
                #expect(
                    try await browser.value("location.pathname") == "/__/auth/action",
                    "no button was pressed"
                )
                #expect(try await browser.value("location.search") == "", "the code leaves the address")
            }
            #expect(try await browser.text("main").contains("You asked to sign in at \(host)."))
            try await browser.screenshot("action-5-sign-in")
            try await browser.press("Continue to \(host)")
            try await browser.wait(until: "location.pathname === '/conflict'")
            let parameters = try await browser.value("Object.fromEntries(new URLSearchParams(location.search))")
            let signIn: JSONValue = ["email": "gateway@example.com", "oobCode": parameters["oobCode"] ?? .null]
            let path = "/v1/accounts:signInWithEmailLink?key=any"
            #expect(try await account.server.send(.POST, path, signIn).status == 200)
        }
    }

    @Test func `a sign-in link continues unchanged to the app, and nowhere else`() async throws {
        let account = try await Account("link@example.com")
        let app = account.server.url + "/conflict?from=app"
        let link = try await account.link("EMAIL_SIGNIN", ["continueUrl": .string(app), "canHandleCodeInApp": true])
        let wrapped = account.server.url + "/__/auth/links?ibi=com.example&link=" + PercentEncoding.encode(link)
        try await Browser.run { browser in
            for address in [link, wrapped] {
                try await browser.open(address)
                try await browser.wait(for: "Finish signing in")
                try await browser.press("Continue to \(account.server.url.replacing("http://", with: ""))")
                try await browser.wait(until: "location.pathname === '/conflict'")
                let query = "Object.fromEntries(new URLSearchParams(location.search))"
                let parameters = try await browser.value(query)
                #expect(parameters["mode"] == "signIn" && parameters["from"] == "app", "\(parameters.text)")
                #expect(parameters["oobCode"]?.string.map { link.contains($0) } == true)
                #expect(parameters["apiKey"]?.string?.isEmpty == false && parameters["continueUrl"] == nil)
            }
            let foreign = link.replacing(
                PercentEncoding.encode(app),
                with: PercentEncoding.encode("https://evil.example/")
            )
            #expect(foreign != link)
            let inner = PercentEncoding.encode("https://evil.example/?mode=signIn&oobCode=x&apiKey=any")
            for address in [foreign, account.server.url + "/__/auth/links?link=" + inner] {
                try await browser.open(address)
                try await browser.wait(for: "This link does not work")
                #expect(try await browser.value("location.origin").string == account.server.url)
            }
        }
    }

    // MARK: Short codes

    /// The short code in the newest mail to `email`, in the form that a person reads.
    private func shortCode(_ email: String) async throws -> String {
        let messages = try await Self.server.send(.GET, "/inbox/messages").json["messages"]?.array ?? []
        let text = messages.first { $0["to"]?.string == email }?["text"]?.string ?? ""
        return String(try #require(text.firstMatch(of: /\n([0-9]{8})\n/)).output.1)
    }

    @Test func `the code in the mail sets a new password on another device, with the keyboard alone`() async throws {
        let account = try await Account("code@example.com")
        let link = try await account.link("PASSWORD_RESET")
        let code = try await shortCode("code@example.com")
        try await Browser.run { browser in
            try await browser.open(account.server.url + "/__/auth/action")
            try await browser.wait(for: "Enter your code")
            try await browser.screenshot("action-4-code")
            try await browser.run("document.getElementById('purpose-field').focus()")
            try await browser.type(Browser.Key.tab + "code@example.com")
            try await browser.type(Browser.Key.tab + "00000000" + Browser.Key.enter)
            let problem = "document.getElementById('problem').textContent"
            try await browser.wait(until: "\(problem).includes('not the code from the newest email')")
            let field = "document.getElementById('code-field')"
            #expect(try await browser.value("\(field).getAttribute('aria-invalid')") == "true")
            #expect(try await browser.value("document.activeElement === \(field)") == true)
            try await browser.run("\(field).select()")
            try await browser.type(code.prefix(4) + " " + code.suffix(4) + Browser.Key.enter)
            try await browser.wait(for: "Choose a new password")
            #expect(try await browser.text("main").contains("code@example.com"))
            try await browser.type(Browser.Key.tab + "battery staple" + Browser.Key.enter)
            try await browser.wait(for: "Your password has changed")
            #expect(try await account.signIn(nil, "battery staple") == 200)

            // Either uses both.
            try await browser.open(link)
            try await browser.wait(for: "This link does not work")
        }
    }

    @Test func `a code with too many wrong guesses is locked, and the link of the same mail works`() async throws {
        let account = try await Account("guessed@example.com")
        let link = try await account.link("VERIFY_EMAIL")
        try await Browser.run { browser in
            try await browser.open(account.server.url + "/__/auth/action?mode=verifyEmail&lang=en")
            try await browser.wait(for: "Enter your code")
            #expect(try await browser.value("document.getElementById('purpose-field')") == .null)
            try await browser.run("document.getElementById('email-field').value = 'guessed@example.com'")
            for guess in 0...5 {
                try await browser.run("document.getElementById('code-field').value = '0000000\(guess)'")
                try await browser.press("Continue")
                try await browser.wait(until: Browser.isIdle)
            }
            #expect(try await browser.text("#problem").hasPrefix("Too many wrong codes"))
            let code = try await shortCode(account.email)
            try await browser.run("document.getElementById('code-field').value = '\(code)'")
            try await browser.press("Continue")
            try await browser.wait(until: Browser.isIdle)
            #expect(try await browser.text("#problem").hasPrefix("Too many wrong codes"))
            try await browser.open(link)
            try await browser.wait(for: "Verify your email address")
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "Your email address is verified")
        }
    }

    @Test func `a sign-in code continues to the app, and is not used without one`() async throws {
        let account = try await Account("codelink@example.com")
        let app = account.server.url + "/conflict?from=app"
        _ = try await account.link("EMAIL_SIGNIN", ["continueUrl": .string(app), "canHandleCodeInApp": true])
        let code = try await shortCode("codelink@example.com")
        let page = account.server.url + "/__/auth/action?mode=signIn"
        try await Browser.run { browser in
            func type() async throws {
                try await browser.wait(for: "Enter your code")
                try await browser.run("document.getElementById('email-field').value = 'codelink@example.com'")
                try await browser.run("document.getElementById('code-field').value = '\(code)'")
                try await browser.press("Continue")
            }
            try await browser.open(page)
            try await type()
            try await browser.wait(for: "This link does not work")
            try await browser.open(page + "&continueUrl=" + PercentEncoding.encode(app))
            try await type()
            try await browser.wait(for: "Finish signing in")
            try await browser.press("Continue to \(account.server.url.replacing("http://", with: ""))")
            try await browser.wait(until: "location.pathname === '/conflict'")
            let parameters = try await browser.value("Object.fromEntries(new URLSearchParams(location.search))")
            #expect(parameters["mode"] == "signIn" && parameters["from"] == "app", "\(parameters.text)")
            let signIn: JSONValue = ["email": "codelink@example.com", "oobCode": parameters["oobCode"] ?? .null]
            let path = "/v1/accounts:signInWithEmailLink?key=any"
            #expect(try await account.server.send(.POST, path, signIn).status == 200)
        }
    }

    // MARK: What goes wrong

    @Test func `a damaged, unsuitable, expired or locked link shows its problem`() async throws {
        let account = try await Account("wrong@example.com")
        let link = try await account.link("VERIFY_EMAIL")
        let page = account.server.url + "/__/auth/action"
        try await Browser.run { browser in
            for (address, word) in [
                (page + "?mode=recoverEmail&apiKey=any", "missing"), (page + "?oobCode=x&apiKey=any", "missing"),
                (page + "?mode=nothing&oobCode=x&apiKey=any", "missing"),
                (link.replacing("mode=verifyEmail", with: "mode=recoverEmail"), "missing"),
                (link.replacing("oobCode=", with: "oobCode=x"), "used already"),
                (
                    page + "?mode=verifyEmail&apiKey=any&oobCode=%3Cb%3E" + String(repeating: "A", count: 8000),
                    "used already"
                ),
            ] {
                try await browser.open(address)
                try await browser.wait(for: "This link does not work")
                #expect(try await browser.text("main").contains(word), "\(address.prefix(120))")
            }
            try await browser.open(link)
            try await browser.wait(for: "Verify your email address")
            try await account.server.database.execute(
                "UPDATE one_time_codes SET expires_at = created_at WHERE email = 'wrong@example.com'"
            )
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "This link does not work")
            #expect(try await browser.text("main").contains("has expired"))
            #expect(try await account.isVerified() == false)
            #expect(try await browser.text("main a") == "Back to the app")
            let back = try await browser.value("document.querySelector('main a').href").string
            #expect(back == account.server.url + "/conflict")
            try await browser.open(link.replacing("mode=verifyEmail", with: "mode=recovery"))
            try await browser.wait(for: "This link does not work")
            #expect(try await browser.text("main a") == "Back to the app")
            let foreign = link.replacing("continueUrl=", with: "continueUrl=https%3A%2F%2Fevil.example%2F&ignored=")
            try await browser.open(foreign)
            try await browser.wait(for: "This link does not work")
            #expect(try await browser.value("document.querySelector('main a')") == .null)
            #expect(try await browser.text("main").contains("You can close this page."))
        }
    }

    @Test func `without a connection the page waits, then continues`() async throws {
        let account = try await Account("offline@example.com")
        let link = try await account.link("VERIFY_EMAIL")
        try await Browser.run { browser in
            try await browser.open(link)
            try await browser.wait(for: "Verify your email address")
            try await browser.connect(false)
            try await browser.press("Yes, verify my address")
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('no connection')")
            try await browser.connect(true)
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "Your email address is verified")
        }
    }

    // MARK: Everybody

    @Test func `every step can be read and used everywhere, in the language of the mail`() async throws {
        let account = try await Account("read@example.com")
        try await Browser.run { browser in
            try await browser.open(account.server.url + "/__/auth/action")
            try await browser.wait(for: "Enter your code")
            try await browser.expectReadable("action-code")
            let app: JSONValue = ["continueUrl": .string(account.server.url + "/conflict"), "canHandleCodeInApp": true]
            try await browser.open(try await account.link("EMAIL_SIGNIN", app.object ?? [:]))
            try await browser.wait(for: "Finish signing in")
            try await browser.expectReadable("action-sign-in")
            let reset = try await account.link("PASSWORD_RESET")
            try await browser.open(reset.replacing("lang=en", with: "lang=th"))
            try await browser.wait(for: "ตั้งรหัสผ่านใหม่")
            try await browser.expectReadable("action-password")
            try await browser.run("document.getElementById('password-field').value = 'battery staple'")
            try await browser.press("Save the password")
            try await browser.wait(for: "Your password has changed")
            try await browser.expectReadable("action-password-done")
            let confirm = try await Account("confirm@example.com").link("VERIFY_EMAIL")
            try await browser.open(confirm)
            try await browser.wait(for: "Verify your email address")
            try await browser.expectReadable("action-confirm")
            try await browser.press("Yes, verify my address")
            try await browser.wait(for: "Your email address is verified")
            try await browser.expectReadable("action-confirmed")
            try await browser.reload()
            try await browser.wait(for: "This link does not work")
            try await browser.expectReadable("action-stopped")
            try await browser.open(try await Account("disown@example.com").link("VERIFY_EMAIL"))
            try await browser.wait(for: "Verify your email address")
            try await browser.press("This was not me")
            try await browser.wait(for: "You did not create this account")
            try await browser.expectReadable("action-disown")
            try await browser.press("Stop them")
            try await browser.wait(for: "Only you can sign in now")
            try await browser.expectReadable("action-disowned")
            let change = try await Account("change@example.com")
                .link("VERIFY_AND_CHANGE_EMAIL", ["newEmail": "a-very-long-address.of.somebody@subdomain.example.com"])
            try await browser.open(change)
            try await browser.wait(for: "Use your new email address")
            try await browser.expectReadable("action-change")
        }
    }

    @Test func `every text for a link exists in every language`() async throws {
        let file = try await Self.server.send(.GET, "/__/auth/action.json").json
        let strings = try #require(file["strings"]?.object)
        let english = try #require(strings["en"]?.object)
        for mode in [
            "resetPassword", "verifyEmail", "verifyAndChangeEmail", "recoverEmail", "revertSecondFactorAddition",
            "revertSignInMethodChange",
        ] {
            for part in ["title", "text", "do", "unasked", "done", "next"] {
                #expect(english["\(mode).\(part)"] != nil, "\(mode).\(part)")
            }
        }
        #expect(Set(strings.keys) == ["en", "zh-TW", "th"])
        for (language, texts) in strings {
            let texts = try #require(texts.object)
            #expect(Set(texts.keys) == Set(english.keys))
            for (name, text) in texts {
                func places(_ text: String?) -> [Substring] {
                    (text ?? "").matches(of: /\{\w+\}/).map(\.output).sorted()
                }
                #expect(places(text.string) == places(english[name]?.string), "\(language) \(name)")
            }
        }
    }
}
