import AccountTestSupport
import Foundation
import JSON
import NIOHTTP1
import Subprocess
import Testing

/// `clients/web/concord-elements.js` in a real browser: the page `elements.html` of `examples/web`, with its strict
/// content security policy.
@Suite(.serialized, .page) struct WebElementsTests {
    // MARK: The files

    @Test func `the module and the elements have at most 15 KB after gzip -9`() async throws {
        var sum = 0
        for path in [WebClientApp.module, WebExample.elements] {
            let result = try await Subprocess.run(
                .name("gzip"),
                arguments: ["-9", "-n", "-c", path],
                input: .none,
                output: .bytes(limit: 1 << 20),
                error: .string(limit: 1 << 20)
            )
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            sum += result.standardOutput.count
        }
        #expect(sum <= 15 * 1024)
    }

    @Test func `every text is in three languages with the same places, and is used`() throws {
        let module = try String(contentsOfFile: WebExample.elements, encoding: .utf8)
        let words = try #require(module.firstMatch(of: #/new Map\(\s*`([\s\S]*?)`/#)).output.1
        for line in words.split(separator: "\n") {
            let columns = line.split(separator: "|", omittingEmptySubsequences: false)
            #expect(columns.count == 4 && !columns.contains(""), "\(line)")
            let places = columns.dropFirst().map { Set($0.matches(of: #/\{\w+\}/#).map(\.output)) }
            #expect(Set(places).count == 1, "\(line)")
            // Names of methods come from the server.
            guard let key = columns.first, !["emailLink", "phone"].contains(key) else { continue }
            #expect(module.contains("\"\(key)\""), "\(key) is not used")
        }
    }

    // MARK: Sign-in

    @Test func `a new account, a wrong password, a known device and a mailed code`() async throws {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            let email = "elements-new@example.com"
            try await example.wait(for: "Sign in")
            try await browser.expectReadable("elements-01-start")
            try await example.press("Continue")
            try await example.wait(forProblem: "Check this field")
            #expect(try await browser.value("document.activeElement.ariaInvalid") == "true")
            try await example.press("Create an account")
            try await example.wait(for: "Create an account")
            try await example.fill("email", email)
            try await example.fill("password", "x")
            try await example.press("Create an account")
            try await example.wait(forProblem: "does not meet the requirements")
            try await example.fill("password", WebExample.password)
            try await example.press("Create an account")
            try await example.wait(for: "Your account")
            try await browser.expectReadable("elements-02-account")
            try await example.press("Sign out")
            try await example.wait(forText: "Your account", isShown: false)
            try await browser.reload()

            // The device of this address needs no mail.
            try await example.wait(for: "Sign in")
            #expect(try await browser.value("document.querySelector('input').value").string == email)
            try await example.press("Continue")
            try await example.wait(forText: "Password")
            try await browser.expectReadable("elements-03-password")
            try await example.fill("password", "wrong")
            try await example.press("Sign in")
            try await example.wait(forProblem: "The address or the password is wrong")
            try await example.fill("password", WebExample.password)
            try await example.press("Sign in")
            try await example.wait(for: "Your account")
        }
    }

    @Test func `a mailed code shows what it suspends, and signs in after a press`() async throws {
        try await WebExample.open("elements.html") { example in
            let email = "elements-mail@example.com"
            try await example.signUp(email)
            try await example.wait(for: "Sign in")
            try await example.fill("email", email)
            try await example.press("Continue")
            try await example.wait(forText: "Password")
            try await example.press("Email me how to sign in")
            try await example.wait(for: "Check your email")
            try await example.fill("code", "12345678")
            try await example.press("Continue")
            try await example.wait(forProblem: "The code is wrong")
            try await example.fill("code", try await example.mailedCode(to: email))
            try await example.press("Continue")
            try await example.wait(forText: "These methods stop working")
            try await example.browser.expectReadable("elements-04-stops")
            try await example.press("Email link")
            try await example.wait(for: "Your account")
        }
    }

    @Test func `a provider's first sign-in asks, and a redirect returns to the page`() async throws {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            try await example.wait(for: "Sign in")
            try await example.signIn(by: "Continue with GitHub", as: "elements-first@gmail.com")
            try await example.wait(for: "Is this your first visit?")
            try await browser.expectReadable("elements-05-first")
            try await example.press("Create an account")
            try await example.wait(for: "Your account")
            try await example.press("Sign out")
            try await example.wait(for: "Sign in")

            try await browser.run("document.querySelector('concord-signin').setAttribute('redirect', '')")
            try await example.press("Continue with GitHub")
            try await example.consent("elements-first@gmail.com")
            try await example.wait(for: "Your account")
            #expect(try await browser.value("location.hash") == "")
        }
    }

    @Test func `an authenticator app completes the sign-in`() async throws {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            let app: JSONValue = [["state": "ENABLED", "totpProviderConfig": ["adjacentIntervals": 5]]]
            try await example.configure(
                "mfa",
                ["state": "ENABLED", "enabledProviders": ["PHONE_SMS"], "providerConfigs": app]
            )
            let email = "elements-factor@example.com"
            let account = try await example.signUp(email)
            let proven: JSONValue = ["localId": .string(account), "emailVerified": true]
            _ = try await example.server.send(.POST, "/v1/accounts:update", proven, bearer: "owner")
            let signIn: JSONValue = [
                "email": .string(email), "password": .string(WebExample.password), "returnSecureToken": true,
            ]
            let path = "/v1/accounts:signInWithPassword?key=any"
            let token = try await example.server.send(.POST, path, signIn).json["idToken"] ?? .null
            let begun = try await example.server.send(
                .POST,
                "/v2/accounts/mfaEnrollment:start?key=any",
                ["idToken": token, "totpEnrollmentInfo": [:]]
            ).json["totpSessionInfo"]
            let secret = try #require(begun?["sharedSecretKey"]?.string)
            try await example.wait(for: "Sign in")
            let earlier = try await Self.code(of: secret, stepsFromNow: -1, browser)
            let info: JSONValue = [
                "sessionInfo": begun?["sessionInfo"] ?? .null, "verificationCode": .string(earlier),
            ]
            let enrolled = try await example.server.send(
                .POST,
                "/v2/accounts/mfaEnrollment:finalize?key=any",
                ["idToken": token, "totpVerificationInfo": info]
            )
            #expect(enrolled.status == 200, "\(enrolled.json.text)")
            try await example.fill("email", email)
            try await example.press("Continue")
            try await example.fill("password", WebExample.password)
            try await example.press("Sign in")
            try await example.wait(for: "Confirm that it is you")
            try await browser.expectReadable("elements-06-factor")
            try await example.fill("code", "000000")
            try await example.press("Continue")
            try await example.wait(forProblem: "The code is wrong")
            try await example.fill("code", try await Self.code(of: secret, stepsFromNow: 0, browser))
            try await example.press("Continue")
            try await example.wait(for: "Your account")
        }
    }

    // MARK: Conflicts

    @Test func `a conflict outlives a reload, settles by the mailed code, and the account restores the password`()
        async throws
    {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            let email = "elements-conflict@example.com"
            let account = try await example.signUp(email)
            try await example.wait(for: "Sign in")
            try await example.signIn(by: "Continue with GitHub", as: email, isVerified: false)
            try await example.wait(for: "Is this account yours?")
            try await browser.expectReadable("elements-07-conflict")
            try await example.press("Email me a code")
            try await example.wait(for: "Check your email")
            try await browser.expectReadable("elements-08-code")
            try await browser.reload()
            try await example.wait(for: "Check your email")
            try await example.fill("code", "00000000")
            try await example.press("Continue")
            try await example.wait(forProblem: "The code is wrong")
            let conflict = OpenConflict(server: example.server, email: email, account: account, handle: "")
            try await example.fill("code", try await conflict.mail().code)
            try await example.press("Continue")
            try await example.wait(for: "Connect GitHub")
            try await example.wait(forText: "These methods stop working")
            try await browser.expectReadable("elements-09-link")
            try await example.press("Connect GitHub")
            try await example.wait(for: "Your account")

            try await example.wait(forText: "Suspended")
            try await browser.expectReadable("elements-10-suspended")
            try await example.press("Restore Password")
            try await example.wait(for: "Restore Password")
            try await example.fill("password", "wrong")
            try await example.press("Restore Password")
            try await example.wait(forProblem: "wrong")
            try await example.fill("password", WebExample.password)
            try await example.press("Restore Password")
            try await example.wait(for: "Your account")
            try await example.wait(forText: "Suspended", isShown: false)
            try await example.press("Remove GitHub")
            try await example.wait(for: "Remove GitHub")
            try await browser.expectReadable("elements-11-remove")
            try await example.press("Remove GitHub")
            try await example.wait(for: "Your account")
            try await example.wait(forText: "Connect GitHub")
            // No message of the content security policy: refused calls alone.
            let complaints = try await browser.complaints()
            #expect(complaints.filter { !$0.hasPrefix("network") && !$0.hasPrefix("recommendation") } == [])
        }
    }

    @Test func `a conflict settles by a sign-in with the account's own method`() async throws {
        try await WebExample.open("elements.html") { example in
            let email = "elements-settled@example.com"
            try await example.signUp(email)
            try await example.wait(for: "Sign in")
            try await example.browser.run(
                """
                window.events = [];
                for (const name of ["concord-conflict", "concord-session"]) {
                  addEventListener(name, ({ type, detail }) => events.push([type, detail.state ?? ""].join(" ")));
                }
                """
            )
            try await example.signIn(by: "Continue with GitHub", as: email, isVerified: false)
            try await example.wait(for: "Is this account yours?")
            try await example.press("I already have an account")
            try await example.wait(forText: "GitHub is connected afterwards")
            try await example.press("Continue")
            try await example.fill("password", WebExample.password)
            try await example.press("Sign in")
            try await example.wait(for: "Your account")
            try await example.wait(forText: "Remove GitHub")
            let expected: JSONValue = ["concord-conflict open", "concord-conflict resolved", "concord-session "]
            #expect(try await example.browser.value("events") == expected)
        }
    }

    @Test func `a declined conflict leaves the account as it is`() async throws {
        try await WebExample.open("elements.html") { example in
            let conflict = try await example.server.openConflict("elements-declined@example.com")
            try await example.wait(for: "Sign in")
            try await example.signIn(by: "Continue with GitHub", as: conflict.email, isVerified: false)
            try await example.wait(for: "Is this account yours?")
            try await example.press("This was not me")
            try await example.wait(forText: "Nothing was connected")
            try await example.browser.reload()
            try await example.wait(for: "Sign in")
        }
    }

    @Test func `a credential that waits for its mailbox creates an account, or links one`() async throws {
        try await WebExample.open("elements.html") { example in
            try await example.configure("linkPolicy.unprovenAddress", "confirm")
            for (email, isNew) in [("elements-waits@example.com", true), ("elements-has@example.com", false)] {
                if !isNew { try await example.signUp(email) }
                try await example.wait(for: "Sign in")
                try await example.signIn(by: "Continue with GitHub", as: email, isVerified: false)
                try await example.wait(for: "Check your email")
                try await example.fill("code", try await example.mailedCode(to: email))
                try await example.press("Continue")
                if !isNew {
                    try await example.wait(for: "Connect GitHub")
                    try await example.press("Connect GitHub")
                }
                try await example.wait(for: "Your account")
                try await example.press("Sign out")
                try await example.wait(forText: "Your account", isShown: false)
                try await example.browser.run("localStorage.clear()")
                try await example.browser.reload()
            }
            try await example.configure("linkPolicy.unprovenAddress", "link")
        }
    }

    // MARK: The account

    @Test func `a deletion asks for a recent sign-in, and another account does not count`() async throws {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            let other = "elements-other@gmail.com"
            try await example.wait(for: "Sign in")
            try await example.signIn(by: "Continue with Google", as: other)
            try await example.wait(for: "Is this your first visit?")
            try await example.press("Create an account")
            try await example.wait(for: "Your account")
            try await example.press("Sign out")
            try await example.wait(forText: "Your account", isShown: false)

            let email = "elements-deleted@example.com"
            let account = try await example.signUp(email)
            func signIn() async throws {
                try await browser.run("localStorage.clear()")
                try await browser.reload()
                try await example.wait(for: "Sign in")
                try await example.fill("email", email)
                try await example.press("Continue")
                try await example.fill("password", WebExample.password)
                try await example.press("Sign in")
                try await example.wait(for: "Your account")
            }
            func delete() async throws {
                try await example.age(account)
                try await browser.reload()
                try await example.wait(for: "Your account")
                try await example.press("Delete my account")
                try await example.wait(for: "Delete my account")
                try await example.press("Delete my account")
                try await example.wait(for: "Confirm that it is you")
            }
            try await signIn()
            try await example.signIn(by: "Connect Google", as: email)
            try await example.wait(forText: "Remove Google")
            try await delete()
            try await browser.expectReadable("elements-12-again")
            try await example.signIn(by: "Continue with Google", as: other)
            try await example.wait(forProblem: "This belongs to another account")
            try await example.wait(forText: other)
            #expect(try await example.exists(account))

            try await example.press("Sign out")
            try await example.wait(forText: "Your account", isShown: false)
            try await signIn()
            try await delete()
            try await example.fill("password", "wrong")
            try await example.press("Sign in")
            try await example.wait(forProblem: "wrong")
            try await example.fill("password", WebExample.password)
            try await example.press("Sign in")
            try await example.wait(forText: "Confirm that it is you", isShown: false)
            #expect(try await !example.exists(account))
        }
    }

    @Test func `a server without an answer leaves a button to repeat`() async throws {
        try await WebExample.open("elements.html") { example in
            let browser = example.browser
            try await example.wait(for: "Sign in")
            try await browser.run(
                """
                window.real = fetch;
                window.fetch = () => Promise.reject(new TypeError());
                document.querySelector("main").append(document.querySelector("concord-signin").cloneNode());
                """
            )
            try await example.wait(forProblem: "The service does not answer")
            try await browser.run("window.fetch = real")
            try await example.press("Continue")
            try await browser.wait(until: "document.querySelectorAll('concord-signin h2').length === 2")
        }
    }

    /// The code of an authenticator app (RFC 6238), computed by the browser.
    private static func code(of secret: String, stepsFromNow: Int, _ browser: Browser) async throws -> String {
        let code = try await browser.value(
            """
            (async () => {
              const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
              const bits = [...'\(secret)'].map((letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
              const bytes = bits.match(/.{8}/g).map((byte) => parseInt(byte, 2));
              const counter = new DataView(new ArrayBuffer(8));
              counter.setBigUint64(0, BigInt(Math.floor(Date.now() / 30000) + (\(stepsFromNow))));
              const usage = { name: "HMAC", hash: "SHA-1" };
              const key = await crypto.subtle.importKey("raw", new Uint8Array(bytes), usage, false, ["sign"]);
              const mac = new DataView(await crypto.subtle.sign("HMAC", key, counter));
              const number = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff;
              return String(number % 1000000).padStart(6, "0");
            })()
            """
        )
        return try #require(code.string)
    }
}
