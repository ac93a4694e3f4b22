import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// `/account` in a real browser. People come from a sign-in that the tests make over the API: to the page it is a return
/// of `/signin`.
@Suite(.serialized, .page) struct AccountPageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    /// RFC 7636, appendix B.
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

    private static let overview = "Your account"

    /// A person, and a session of the account.
    private struct Person {
        let email: String
        let id: String
        let idToken: String
        let refreshToken: String

        static let password = "correct horse"

        init(email: String, id: String, idToken: String, refreshToken: String) {
            self.email = email
            self.id = id
            self.idToken = idToken
            self.refreshToken = refreshToken
        }

        /// An account with a password.
        init(_ email: String, name: String = "Ada", sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let body: JSONValue = [
                "email": .string(email), "password": .string(Self.password), "displayName": .string(name),
                "returnSecureToken": true,
            ]
            let answer = try await AccountPageTests.server.send(.POST, "/v1/accounts:signUp?key=any", body)
            try self.init(email, of: answer.json, sourceLocation: sourceLocation)
        }

        init(_ email: String, of answer: JSONValue, sourceLocation: SourceLocation = #_sourceLocation) throws {
            self.email = email
            id = try #require(answer["localId"]?.string, "\(answer.text)", sourceLocation: sourceLocation)
            idToken = try #require(answer["idToken"]?.string, sourceLocation: sourceLocation)
            refreshToken = try #require(answer["refreshToken"]?.string, sourceLocation: sourceLocation)
        }

        /// Another session of the account.
        func again(_ password: String = Self.password) async throws -> Person {
            let body: JSONValue = [
                "email": .string(email), "password": .string(password), "returnSecureToken": true,
            ]
            let path = "/v1/accounts:signInWithPassword?key=any"
            return try Person(email, of: try await AccountPageTests.server.send(.POST, path, body).json)
        }

        /// Makes every sign-in of the account an hour old.
        func age() async throws {
            let database = try AccountPageTests.server.database
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

        var isSignedIn: Bool {
            get async throws {
                let body: JSONValue = ["grantType": "refresh_token", "refreshToken": .string(refreshToken)]
                return try await AccountPageTests.server.send(.POST, "/v1/token?key=any", body).status == 200
            }
        }

        /// The working methods, as the service reports them.
        func methods() async throws -> [String] {
            let path = "/concord/v1/account/methods"
            let answer = try await AccountPageTests.server.send(.GET, path, bearer: idToken).json
            return (answer["methods"]?.array ?? []).filter { $0["works"] == true }.compactMap { $0["method"]?.string }
        }
    }

    // MARK: Steps

    /// The address that `/signin` returns to, with a code for a session of `person`.
    private func returning(
        _ person: Person,
        state: String,
        challenge: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let server = try Self.server
        let answer = try await server.send(
            .POST,
            "/concord/v1/signIn/return:issueCode",
            [
                "refreshToken": .string(person.refreshToken), "continueUrl": .string(server.url + "/account"),
                "state": .string(state), "codeChallenge": .string(challenge),
            ]
        )
        return try #require(answer.json["url"]?.string, "\(answer.json.text)", sourceLocation: sourceLocation)
    }

    /// Opens the page as `person`, in a browser that has no data of other tests.
    private func enter(_ browser: Browser, as person: Person, expecting step: String = overview) async throws {
        try await browser.open(try Self.server.url + "/conflict")
        let trip: JSONValue = ["state": "state-1", "verifier": .string(Self.verifier)]
        try await browser.run(
            """
            localStorage.clear();
            sessionStorage.clear();
            sessionStorage.setItem("concord:account", \(JSONValue.string(trip.text).text));
            """
        )
        try await browser.open(try await returning(person, state: "state-1", challenge: Self.challenge))
        try await browser.wait(for: step)
    }

    /// A record that the page has stored for its return.
    private func record(_ browser: Browser, _ key: String) async throws -> (state: String, challenge: String) {
        try await browser.wait(until: "sessionStorage.getItem('\(key)')")
        let stored = "JSON.parse(sessionStorage.getItem('\(key)'))"
        let challenge = try await browser.value(
            """
            crypto.subtle.digest("SHA-256", new TextEncoder().encode(\(stored).verifier)).then((bytes) =>
              btoa(String.fromCharCode(...new Uint8Array(bytes)))
                .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", ""))
            """
        )
        return (try #require(try await browser.value("\(stored).state").string), try #require(challenge.string))
    }

    /// Returns from `/signin` in this tab, signed in as `person`.
    private func comeBack(_ browser: Browser, as person: Person, to step: String) async throws {
        try await browser.wait(until: "location.pathname === '/signin'")
        let (state, challenge) = try await record(browser, "concord:account")
        try await browser.open(try await returning(person, state: state, challenge: challenge))
        try await browser.wait(for: step)
    }

    /// Signs in as `person` in the tab that the page has opened. That tab closes.
    private func signInElsewhere(_ browser: Browser, as person: Person) async throws {
        let window = try #require(try await browser.windows().first)
        let (state, challenge) = try await record(browser, "concord:account:errand")
        let address = try await returning(person, state: state, challenge: challenge)
        try await browser.inPopup(of: window) {
            try await browser.wait(until: "location.pathname === '/signin' && document.readyState === 'complete'")
            try await browser.run("location.replace(\(JSONValue.string(address).text))")
        }
        try await browser.wait(forWindows: [window])
    }

    private func fill(_ browser: Browser, _ field: String, _ text: String) async throws {
        try await browser.wait(until: "document.getElementById('\(field)')")
        try await browser.run("document.getElementById('\(field)').focus(); document.activeElement.select()")
        try await browser.type(text + Browser.Key.enter)
    }

    private func section(_ browser: Browser, _ name: String) async throws -> String {
        try await browser.text("[data-section=\(name)]")
    }

    /// Waits until the section shows `text`.
    private func wait(
        _ browser: Browser,
        _ name: String,
        shows text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let place = "document.querySelector('[data-section=\(name)]')?.innerText"
        let shows = "\(place)?.includes(\(JSONValue.string(text).text)) && \(Browser.isIdle)"
        try await browser.wait(until: shows, sourceLocation: sourceLocation)
    }

    private func problem(_ browser: Browser, contains text: String) async throws {
        let place = "document.getElementById('problem').innerText"
        try await browser.wait(until: "\(place).includes(\(JSONValue.string(text).text)) && \(Browser.isIdle)")
    }

    // MARK: Session

    @Test func `without a session the page goes to the sign-in page and returns, and a reload stays signed in`()
        async throws
    {
        let server = try Self.server
        let person = try await Person("come-back@example.com")
        try await Browser.run { browser in
            try await browser.open(server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            try await browser.open(server.url + "/account")
            try await comeBack(browser, as: person, to: Self.overview)
            let left = "[location.search, location.hash, sessionStorage.getItem('concord:account')]"
            #expect(try await browser.value(left) == ["", "", .null])
            #expect(try await browser.text("main").contains("You use the app as come-back@example.com."))
            let kept = try await browser.value("JSON.stringify(history.state)").string ?? ""
            #expect(!kept.contains("eyJ"), "no ID token is stored: \(kept)")
            try await browser.expectReadable("account-1-overview")

            try await browser.reload()
            try await browser.wait(for: Self.overview)
            #expect(try await section(browser, "sessions").contains("this device"))

            try await browser.press("Sign out of this page")
            try await browser.wait(for: "You are signed out of this page")
            try await browser.expectReadable("account-2-left")
            #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
        }
    }

    @Test func `a code from elsewhere opens no session`() async throws {
        let server = try Self.server
        let person = try await Person("foreign-code@example.com")
        try await Browser.run { browser in
            try await browser.open(server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            try await browser.open(try await returning(person, state: "state-of-another", challenge: Self.challenge))
            // The page looks for the tab that began this.
            try await browser.wait(for: "Go back to the other tab")
            #expect(try await browser.value("location.search") == "")
            try await browser.expectReadable("account-3-helper")
            try await browser.press("Sign in")
            try await browser.wait(until: "location.pathname === '/signin'")

            try await browser.open(server.url + "/account?concordCode=abc")
            try await browser.wait(for: "Sign in to see your account")
            try await problem(browser, contains: "Sign in again")
        }
    }

    @Test func `if the code of the return cannot be exchanged, the person tries again with the same code`() async throws
    {
        let person = try await Person("exchange@example.com")
        try await Browser.run { browser in
            // The browser serves other tests afterwards.
            try await browser.inject(
                """
                if (location.hash.includes("exchange=none")) {
                  const send = window.fetch;
                  window.fetch = (address, request) =>
                    String(address).includes("passwordPolicy") && !window.isBack
                      ? Promise.reject(new TypeError("the connection is gone")) : send(address, request);
                }
                """
            )
            try await browser.open(try Self.server.url + "/conflict")
            let trip: JSONValue = ["state": "state-2", "verifier": .string(Self.verifier)]
            try await browser.run(
                """
                localStorage.clear();
                sessionStorage.clear();
                sessionStorage.setItem("concord:account", \(JSONValue.string(trip.text).text));
                """
            )
            let address = try await returning(person, state: "state-2", challenge: Self.challenge)
            try await browser.open(address + "#exchange=none")
            try await browser.wait(for: "The service does not answer")
            try await browser.run("window.isBack = true")
            try await browser.press("Try again")
            try await browser.wait(for: Self.overview)
        }
    }

    @Test func `a session that ended on another device ends here at the next press`() async throws {
        let person = try await Person("ended@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            let all = "/concord/v1/account/sessions"
            #expect(try await Self.server.send(.DELETE, all, bearer: person.again().idToken).status == 200)
            try await browser.press("Download my data")
            try await browser.wait(for: "You are signed out")
            #expect(try await browser.value("history.state.refreshToken ?? null") == .null)
        }
    }

    // MARK: Methods

    /// The owner of an address, after the first sign-in by a link has suspended the password of an earlier sign-up.
    private func ownerOfSuspendedPassword(_ email: String) async throws -> Person {
        let server = try Self.server
        let stranger = try await Person(email)
        _ = try await server.send(
            .POST,
            "/v1/accounts:sendOobCode?key=any",
            ["requestType": "EMAIL_SIGNIN", "email": .string(email), "continueUrl": .string(server.url + "/conflict")]
        )
        let codes = try await server.send(.GET, "/emulator/v1/projects/demo-concord/oobCodes").json["oobCodes"]
        let code = try #require(codes?.array?.last { $0["email"]?.string == email }?["oobCode"])
        let proof: JSONValue = ["email": .string(email), "oobCode": code]
        let path = "/v1/accounts:signInWithEmailLink?key=any"
        let owner = try Person(email, of: try await server.send(.POST, path, proof).json)
        #expect(owner.id == stranger.id)
        return owner
    }

    @Test func `a suspended password is restored, a method is removed, and the last one stays`() async throws {
        let owner = try await ownerOfSuspendedPassword("suspended@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: owner)
            try await wait(browser, "methods", shows: "Suspended")
            #expect(try await section(browser, "methods").contains("This is the only method that works."))
            #expect(try await section(browser, "methods").contains("Remove Email link") == false)
            try await browser.expectReadable("account-4-suspended")

            try await browser.press("Restore Password")
            try await browser.wait(for: "Restore your old password")
            try await fill(browser, "password-field", "wrong horse")
            try await problem(browser, contains: "That is not the old password.")
            #expect(try await browser.value("document.activeElement.id") == "password-field")
            try await browser.expectReadable("account-5-restore")
            try await fill(browser, "password-field", Person.password)
            try await wait(browser, "methods", shows: "You can sign in with a password again.")

            try await browser.press("Remove Email link")
            try await browser.wait(for: "Remove this method?")
            #expect(try await browser.text("main").contains("These methods will still work: a password."))
            try await browser.expectReadable("account-6-remove")
            try await browser.press("Remove")
            try await wait(browser, "methods", shows: "You can no longer sign in with an email link.")
            #expect(try await section(browser, "methods").contains("Remove Password") == false)
            #expect(try await owner.again().methods() == ["password"])
        }
    }

    @Test func `a suspended password is deleted after a confirmation, and cannot be restored`() async throws {
        let owner = try await ownerOfSuspendedPassword("discard@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: owner)
            try await wait(browser, "methods", shows: "Suspended")
            try await browser.press("Delete Password")
            try await browser.wait(for: "Delete this suspended method?")
            #expect(try await browser.text("main").contains("You will no longer be able to restore it: Password."))
            try await browser.expectReadable("account-21-discard")
            try await browser.press("Cancel")
            try await browser.wait(for: Self.overview)
            try await wait(browser, "methods", shows: "Suspended")
            try await browser.press("Delete Password")
            try await browser.wait(for: "Delete this suspended method?")
            try await browser.press("Delete")
            try await wait(browser, "methods", shows: "The suspended sign-in method was deleted: Password.")
            #expect(try await section(browser, "methods").contains("Restore Password") == false)
            #expect(try await section(browser, "methods").contains("Suspended") == false)
            #expect(try await browser.focused == "How you sign in")
        }
    }

    @Test func `a change in another tab is shown, and nothing is removed`() async throws {
        let person = try await Person("two-tabs@example.com")
        let link: JSONValue = ["sub": "two-tabs", "email": "two-tabs@example.com"]
        let linked = try await Self.server.send(
            .POST,
            "/v1/accounts:signInWithIdp?key=any",
            [
                "requestUri": "http://localhost", "idToken": .string(person.idToken), "returnSecureToken": true,
                "postBody": .string("providerId=github.com&access_token=\(link.text)"),
            ]
        )
        #expect(linked.status == 200, "\(linked.json.text)")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.press("Remove Password")
            try await browser.wait(for: "Remove this method?")
            // Another session: that of `person` ended when the page took it over.
            let other = try await person.again()
            let rename: JSONValue = ["idToken": .string(other.idToken), "displayName": "Ada Lovelace"]
            #expect(try await Self.server.send(.POST, "/v1/accounts:update?key=any", rename).status == 200)
            try await browser.press("Remove")
            try await browser.wait(for: Self.overview)
            try await problem(browser, contains: "The account changed meanwhile")
            try await browser.expectReadable("account-7-changed")
            #expect(try await Set(other.methods()) == ["password", "github.com"])

            // With the new state the same press works.
            try await browser.press("Remove Password")
            try await browser.wait(for: "Remove this method?")
            try await browser.press("Remove")
            try await wait(browser, "methods", shows: "You can no longer sign in with a password.")
        }
    }

    @Test func `a provider is connected in another tab, and one that belongs to another account is not`() async throws {
        let person = try await Person("connect@example.com")
        _ = try await Self.server.signIn("taken@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            let window = try #require(try await browser.windows().first)
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "Connect GitHub")
            try await browser.expectReadable("account-8-connect")

            for (subject, email) in [
                ("subject-of-taken@example.com", "taken@example.com"), ("connect", "connect@example.com"),
            ] {
                try await browser.press("Continue")
                try await browser.inPopup(of: window) {
                    try await browser.wait(until: "document.querySelector('#user')?.elements.sub")
                    try await browser.run(
                        """
                        const { elements } = document.querySelector("#user");
                        elements.sub.value = "\(subject)";
                        elements.email.value = "\(email)";
                        document.querySelector("#user").dispatchEvent(new Event("input"));
                        """
                    )
                    try await browser.wait(until: "document.querySelector('#outcome')?.ariaBusy === 'false'")
                    try await browser.press("Sign in")
                }
                try await browser.wait(forWindows: [window])
                guard email == "taken@example.com" else { continue }
                try await problem(browser, contains: "This sign-in belongs to another account.")
            }
            try await wait(browser, "methods", shows: "You can now sign in with GitHub.")
            #expect(try await browser.focused == "How you sign in")
            #expect(try await Set(person.again().methods()) == ["password", "github.com"])
        }
    }

    @Test func `a provider's answer for an account that left this tab links nothing`() async throws {
        let person = try await Person("next@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.run(
                """
                const errand = { purpose: "link", state: "s", method: "github.com", user: "earlier" };
                sessionStorage.setItem("concord:account:errand", JSON.stringify(errand));
                new BroadcastChannel("concord:account").postMessage({ state: "s", event: { urlResponse: "x" } });
                """
            )
            try await problem(browser, contains: "You started this in another account.")
            #expect(try await person.again().methods() == ["password"])
        }
    }

    @Test func `an account without a password reauthenticates with its provider, and the change waits`() async throws {
        let email = "provider-only@example.com"
        let person = try Person(email, of: try await Self.server.signIn(email))
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await person.age()
            try await browser.reload()
            try await browser.wait(for: Self.overview)
            try await browser.press("Set a password")
            try await browser.wait(for: "Set a password")
            try await browser.expectReadable("account-9-password")
            try await fill(browser, "password-field", "a new password")
            try await browser.wait(for: "Sign in again")
            let text = try await browser.text("main")
            #expect(text.contains("You can use GitHub."), "no user is asked for a password they do not have: \(text)")
            try await browser.expectReadable("account-10-again")

            let refreshToken = try #require(try await browser.value("history.state.refreshToken").string)
            try await browser.press("Sign in again")
            let isThere = "location.pathname === '/signin' && document.querySelector('h1')"
            try await browser.wait(until: "\(isThere) && \(Browser.isIdle)")
            #expect(try await browser.value("document.querySelector('input[type=password]')") == .null)
            let stored = try await browser.value("sessionStorage.getItem('concord:account')").string ?? ""
            #expect(!stored.contains("a new password") && !stored.contains(refreshToken))
            let again = try Person(email, of: try await Self.server.signIn(email))
            try await comeBack(browser, as: again, to: "Set a password")
            #expect(try await browser.text("#status") == "You signed in again. You can continue now.")
            let earlier = Person(email: email, id: person.id, idToken: "", refreshToken: refreshToken)
            #expect(try await earlier.isSignedIn == false, "the newer session replaces it")
            try await fill(browser, "password-field", "a new password")
            try await wait(browser, "methods", shows: "Your new password works now.")
            #expect(try await Set(again.again("a new password").methods()) == ["password", "github.com"])
        }
    }

    @Test func `a weak password stays on the screen with the requirements`() async throws {
        let person = try await Person("weak@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.press("Change the password")
            try await browser.wait(for: "Choose a new password")
            #expect(try await browser.text("#password-hint") == "At least 6 characters")
            try await browser.press("Show password")
            #expect(try await browser.value("document.getElementById('password-field').type") == "text")
            try await browser.press("Show password")
            #expect(try await browser.value("document.getElementById('password-field').type") == "password")
            try await fill(browser, "password-field", "short")
            try await problem(browser, contains: "does not meet the requirements")
            #expect(
                try await browser.value("document.getElementById('password-field').getAttribute('aria-invalid')")
                    == "true"
            )
            try await browser.press("Cancel")
            try await browser.wait(for: Self.overview)
        }
    }

    @Test func `the keyboard alone changes the password, and the focus follows`() async throws {
        let person = try await Person("keyboard@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.tab(to: "Change the password")
            try await browser.type(Browser.Key.enter)
            try await browser.wait(for: "Choose a new password")
            #expect(try await browser.focused == "Choose a new password")
            #expect(try await browser.accessible("#password-field").name == "New password")
            try await browser.type(Browser.Key.tab + "a better password" + Browser.Key.enter)
            try await wait(browser, "methods", shows: "Your new password works now.")
            #expect(try await browser.focused == "How you sign in")
            #expect(try await browser.text("#status").contains("Your new password works now."))
        }
    }

    // MARK: Sessions, devices and history

    @Test func `sessions and devices end, one and all, and the history reports it`() async throws {
        let person = try await Person("devices@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            let (second, third) = (try await person.again(), try await person.again())
            try await browser.reload()
            try await browser.wait(for: Self.overview)
            #expect(try await section(browser, "sessions").contains("Chrome on"))
            try await browser.press("Forget")
            try await wait(browser, "sessions", shows: "That device no longer knows how you sign in.")
            #expect(try await browser.focused == "Where you are signed in")
            try await browser.press("Sign out")
            try await wait(browser, "sessions", shows: "That device is signed out.")
            #expect(try await [second.isSignedIn, third.isSignedIn] == [true, false], "the latest use is first")
            try await browser.press("Sign out all other devices")
            try await wait(browser, "sessions", shows: "All other devices are signed out.")
            #expect(try await [second.isSignedIn, third.isSignedIn] == [false, false])

            let history = try await section(browser, "history")
            #expect(history.contains("A device was signed out."))
            #expect(history.contains("The account was created with a password."))
            try await browser.expectReadable("account-11-history")
        }
    }

    @Test func `a browser that signs in again stays one device`() async throws {
        let email = "one-device@example.com"
        _ = try await Person(email)
        try await Browser.run { browser in
            try await browser.open(try Self.server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            for visit in 1...3 {
                // In a new entry of the history, without the earlier session.
                try await browser.open(try Self.server.url + "/conflict")
                try await browser.open(try Self.server.url + "/account")
                try await browser.wait(until: "location.pathname === '/signin' && \(Browser.isIdle)")
                try await fill(browser, "email-field", email)
                if visit > 1 {
                    try await browser.wait(for: "Choose how to sign in")
                    try await browser.press("Use your password")
                }
                try await fill(browser, "password-field", Person.password)
                try await browser.wait(for: Self.overview)
                try await wait(browser, "sessions", shows: "this device")
                // The id of a device depends on the second of its sign-in.
                try await Task.sleep(for: .seconds(1))
            }
            let devices = "document.querySelectorAll('[data-section=sessions] ul')[1].children.length"
            #expect(try await browser.value(devices) == 1)
        }
    }

    @Test func `a long history has more pages`() async throws {
        let person = try await Person("history@example.com")
        for _ in 0..<12 { _ = try await person.again() }
        try await Browser.run { browser in
            try await enter(browser, as: person)
            let count = "document.querySelectorAll('[data-section=history] li').length"
            #expect(try await browser.value(count) == 10)
            try await browser.press("Show earlier")
            try await browser.wait(until: "\(count) > 10 && \(Browser.isIdle)")
        }
    }

    @Test func `a long list of sessions has more pages`() async throws {
        let person = try await Person("sessions@example.com")
        for _ in 0..<52 { _ = try await person.again() }
        try await Browser.run { browser in
            try await enter(browser, as: person)
            let count = "document.querySelector('[data-section=sessions] ul').children.length"
            try await browser.wait(until: "\(count) === 50 && \(Browser.isIdle)")
            try await browser.press("Show more")
            try await browser.wait(until: "\(count) > 50 && \(Browser.isIdle)")
            #expect(try await browser.value("document.activeElement.matches('li:nth-child(51)')") == true)
            #expect(try await section(browser, "sessions").contains("Show more") == false)
            let current = try await section(browser, "sessions").matches(of: /this device/)
            #expect(current.count == 1)
        }
    }

    @Test func `a section that cannot be read fails alone, and can be read again`() async throws {
        let person = try await Person("half@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.run(
                """
                const send = window.fetch;
                window.fetch = (address, request) =>
                  String(address).includes("account/events") && !window.isBack
                    ? Promise.reject(new TypeError("the connection is gone")) : send(address, request);
                """
            )
            try await browser.press("Secure my account")
            try await browser.wait(for: "This was not me")
            try await browser.press("Cancel")
            try await wait(browser, "history", shows: "There is no connection to the service.")
            #expect(try await section(browser, "methods").contains("Password"))
            try await browser.expectReadable("account-12-half")
            try await browser.run("window.isBack = true")
            try await browser.press("Try again")
            try await wait(browser, "history", shows: "The account was created with a password.")
        }
    }

    // MARK: Merge

    @Test func `two accounts are merged after a preview, and separated again`() async throws {
        let (one, two) = (try await Person("one@example.com"), try await Person("two@example.com", name: "Augusta"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await browser.press("Merge another account")
            try await browser.wait(for: "Merge another account")
            try await browser.expectReadable("account-13-other")
            try await browser.press("Sign in to the other account")
            let window = try #require(try await browser.windows().first)
            try await browser.inPopup(of: window) {
                try await browser.wait(until: "history.state?.except?.email === 'one@example.com'")
            }
            try await signInElsewhere(browser, as: one.again())
            try await problem(browser, contains: "Sign in to the other one.")

            try await browser.press("Sign in to the other account")
            try await signInElsewhere(browser, as: two)
            try await browser.wait(for: "Merge these accounts?")
            let stays = "The account of one@example.com stays."
            #expect(try await browser.text("main").contains(stays))
            try await browser.expectReadable("account-14-merge")
            try await browser.press("Merge")
            try await problem(browser, contains: "Choose for each value")

            try await browser.press("Keep the other account instead")
            let swapped = "document.querySelector('main').innerText.includes('The account of two@example.com stays.')"
            try await browser.wait(until: "\(swapped) && \(Browser.isIdle)")
            try await browser.press("Keep the other account instead")
            let restored = "document.querySelector('main').innerText.includes('\(stays)')"
            try await browser.wait(until: "\(restored) && \(Browser.isIdle)")
            for field in ["email", "password", "displayName"] {
                try await browser.run("document.getElementById('choice-\(field)-survivor').click()")
            }
            try await browser.press("Merge")
            try await browser.wait(for: "The accounts are merged")
            try await browser.expectReadable("account-15-merged")
            #expect(try await two.isSignedIn == false)
            try await browser.press("Back to your account")
            try await wait(browser, "merges", shows: "another account was merged into this one")

            try await browser.press("Undo the merge")
            try await browser.wait(for: "Separate the accounts again?")
            try await browser.expectReadable("account-16-undo")
            try await browser.press("Undo the merge")
            try await browser.wait(for: "The accounts are separate again")
            #expect(try await one.again().id == one.id)
            #expect(try await two.again().id == two.id)
        }
    }

    @Test func `if the kept password is the other one, the merge signs everyone out`() async throws {
        let (one, two) = (try await Person("third@example.com"), try await Person("fourth@example.com"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await browser.press("Merge another account")
            try await browser.wait(for: "Merge another account")
            try await browser.press("Sign in to the other account")
            try await signInElsewhere(browser, as: two)
            try await browser.wait(for: "Merge these accounts?")
            try await browser.run("document.getElementById('choice-email-survivor').click()")
            try await browser.run("document.getElementById('choice-password-absorbed').click()")
            let outcome = "document.querySelector('[data-outcome]').innerText"
            try await browser.wait(until: "\(outcome).includes('signed out on all devices, also on this one')")
            try await browser.press("Merge")
            try await browser.wait(for: "The accounts are merged")
            #expect(try await browser.text("main").contains("Sign in again."))
        }
    }

    /// Opens the preview of a merge of the account on the screen with that of `two`.
    private func openMerge(_ browser: Browser, with two: Person) async throws {
        try await browser.press("Merge another account")
        try await browser.wait(for: "Merge another account")
        try await browser.press("Sign in to the other account")
        try await signInElsewhere(browser, as: two)
        try await browser.wait(for: "Merge these accounts?")
        for field in ["email", "password"] {
            try await browser.run("document.getElementById('choice-\(field)-survivor').click()")
        }
        let isChosen = "document.querySelectorAll('[data-choices] input:checked').length >= 2"
        try await browser.wait(until: isChosen)
    }

    /// Has the page get `answers`, the last of which repeats, in place of the answers to a merge and to its reads.
    private func answer(_ browser: Browser, _ answers: JSONValue) async throws {
        try await browser.run(
            """
            const send = window.fetch;
            const answers = \(answers.text);
            window.fetch = (address, request) => {
              const isRead = /\\/merges\\/[^/]+$/.test(new URL(address).pathname);
              const isMerge = String(address).endsWith("/merges") && !String(request.body).includes("validateOnly");
              if (request.method === "GET" ? !isRead : !isMerge) return send(address, request);
              const next = answers.length > 1 ? answers.shift() : answers[0];
              return Promise.resolve(new Response(JSON.stringify(next)));
            };
            """
        )
    }

    @Test func `a sign-in to the other account that is too old for a merge is repeated, by that account alone`()
        async throws
    {
        let (one, two) = (try await Person("ninth@example.com"), try await Person("tenth@example.com"))
        let third = try await Person("eleventh@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await browser.press("Merge another account")
            try await browser.wait(for: "Merge another account")
            try await two.age()
            try await browser.press("Sign in to the other account")
            try await signInElsewhere(browser, as: two)
            try await browser.wait(for: "Sign in again")
            #expect(try await browser.text("main").contains("The sign-in to tenth@example.com is too old for a merge."))
            try await browser.expectReadable("account-22-recent")

            try await browser.press("Sign in again")
            try await signInElsewhere(browser, as: third)
            try await problem(browser, contains: "not part of this merge. Sign in to tenth@example.com.")
            let list = "/concord/v1/account/sessions"
            let left = try await Self.server.send(.GET, list, bearer: third.again().idToken).json
            #expect(left["sessions"]?.array?.count == 1, "\(left.text)")

            try await browser.press("Sign in again")
            try await signInElsewhere(browser, as: two.again())
            try await browser.wait(for: "Merge these accounts?")
            #expect(try await browser.text("main").contains("The account of ninth@example.com stays."))
        }
    }

    @Test func `a merge that the app stops changes nothing, and the page reports it`() async throws {
        let (one, two) = (try await Person("twelfth@example.com"), try await Person("thirteenth@example.com"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await openMerge(browser, with: two)
            let waits: JSONValue = ["id": "m", "state": "prepared", "answerUntil": "2999-01-01T00:00:00Z"]
            try await answer(browser, [waits, waits, ["id": "m", "state": "aborted", "abortReason": "vetoed"]])
            try await browser.press("Merge")
            let waiting = "document.querySelector('[data-waiting]')?.innerText"
            try await browser.wait(until: "\(waiting)?.includes('is asked whether it can merge')")
            try await problem(browser, contains: "cannot merge its data of these accounts, so nothing was merged.")
            #expect(try await browser.text("h1") == "Merge these accounts?")
            #expect(try await [one.again().id, two.again().id] == [one.id, two.id])
        }
    }

    @Test func `a merge that the app has not answered in time waits, and the page says so`() async throws {
        let (one, two) = (try await Person("fourteenth@example.com"), try await Person("fifteenth@example.com"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await openMerge(browser, with: two)
            try await answer(browser, [["id": "m", "state": "prepared", "answerUntil": "2020-01-01T00:00:00Z"]])
            try await browser.press("Merge")
            try await browser.wait(for: "The app has to agree")
            try await browser.expectReadable("account-23-asked")
            try await browser.press("Back to your account")
            try await browser.wait(for: Self.overview)
            #expect(try await one.again().id == one.id)
        }
    }

    @Test func `a merge that is cancelled changes nothing and ends the second session`() async throws {
        let (one, two) = (try await Person("fifth@example.com"), try await Person("sixth@example.com"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await browser.press("Merge another account")
            try await browser.wait(for: "Merge another account")
            try await browser.press("Sign in to the other account")
            try await signInElsewhere(browser, as: two)
            try await browser.wait(for: "Merge these accounts?")
            try await browser.press("Cancel")
            try await browser.wait(for: Self.overview)
            let list = "/concord/v1/account/sessions"
            let left = try await Self.server.send(.GET, list, bearer: two.again().idToken).json
            #expect(left["sessions"]?.array?.count == 1, "\(left.text)")
        }
    }

    @Test func `if the other account signs out during a merge, only the merge ends`() async throws {
        let (one, two) = (try await Person("seventh@example.com"), try await Person("eighth@example.com"))
        try await Browser.run { browser in
            try await enter(browser, as: one)
            try await browser.press("Merge another account")
            try await browser.wait(for: "Merge another account")
            try await browser.press("Sign in to the other account")
            try await signInElsewhere(browser, as: two)
            try await browser.wait(for: "Merge these accounts?")
            let all = "/concord/v1/account/sessions"
            #expect(try await Self.server.send(.DELETE, all, bearer: two.again().idToken).status == 200)
            try await browser.press("Keep the other account instead")
            try await browser.wait(for: Self.overview)
            try await problem(browser, contains: "A sign-in to one of the two accounts has ended.")
            // The page's session and the one that asks.
            let left = try await Self.server.send(.GET, all, bearer: one.again().idToken).json
            #expect(left["sessions"]?.array?.count == 2, "\(left.text)")
        }
    }

    // MARK: This was not me

    @Test func `all other devices lose the account, and the person checks the methods`() async throws {
        let person = try await Person("not-me@example.com")
        let intruder = try await person.again()
        try await Browser.run { browser in
            try await browser.open(try Self.server.url + "/conflict")
            try await browser.run("localStorage.clear(); sessionStorage.clear()")
            try await browser.open(try Self.server.url + "/account#notMe")
            try await comeBack(browser, as: person, to: "This was not me")
            #expect(try await browser.text("main").contains("No device remembers how you sign in."))
            try await browser.expectReadable("account-17-not-me")
            try await browser.press("Sign out all other devices")
            try await browser.wait(for: "Only this device is signed in")
            #expect(try await browser.text("main").contains("Signed out: 1."))
            #expect(try await intruder.isSignedIn == false)
            try await browser.expectReadable("account-18-secured")
            try await browser.press("Change the password")
            try await browser.wait(for: "Choose a new password")
            try await fill(browser, "password-field", "a better password")
            try await wait(browser, "methods", shows: "Your new password works now.")
            #expect(try await person.again("a better password").id == person.id)
        }
    }

    // MARK: Data

    @Test func `the data of the account is a file`() async throws {
        let person = try await Person("export@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.run(
                """
                window.files = [];
                const make = URL.createObjectURL;
                URL.createObjectURL = (blob) => {
                  blob.text().then((text) => window.files.push(text));
                  return make.call(URL, blob);
                };
                """
            )
            _ = try await browser.complaints()
            try await browser.press("Download my data")
            try await wait(browser, "data", shows: "Your browser saves the file with your data.")
            try await browser.wait(until: "window.files.length === 1")
            let file = try JSONValue(parsing: Array((try await browser.value("window.files[0]").string ?? "").utf8))
            #expect(file["account"]?["email"]?.string == person.email)
            #expect(file["methods"]?.array?.count == 1 && file["history"]?["events"] != nil)
            #expect(!file.text.contains(person.refreshToken))
            #expect(try await browser.complaints() == [], "the policy of the page allows the file")
        }
    }

    @Test func `the account is deleted after the address is typed`() async throws {
        let person = try await Person("delete@example.com")
        try await Browser.run { browser in
            try await enter(browser, as: person)
            try await browser.press("Delete my account")
            try await browser.wait(for: "Delete your account?")
            try await browser.expectReadable("account-19-delete")
            try await fill(browser, "confirm-field", "somebody@example.com")
            try await problem(browser, contains: "Nothing was deleted.")
            try await fill(browser, "confirm-field", "Delete@Example.com")
            try await browser.wait(for: "Your account is deleted")
            try await browser.expectReadable("account-20-deleted")
            let body: JSONValue = ["email": .string(person.email), "password": .string(Person.password)]
            #expect(try await Self.server.send(.POST, "/v1/accounts:signInWithPassword?key=any", body).status == 400)
            #expect(try await browser.value("localStorage.getItem('concord:accounts')") == .null)
        }
    }
}
