import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// `/conflict` as a person meets it: the real program, a real browser.
@Suite(.serialized, .page) struct PageTests {
    private static var server: DevServer {
        get throws { try #require(PageTrait.current?.server) }
    }

    // MARK: The whole way

    @Test func `a conflict leads to the linked account after the code is typed`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("typed@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            let facts = try await browser.text("dl")
            #expect(facts.contains("GitHub") && facts.contains("t***@e***.com"))
            #expect(!(try await browser.text()).contains("Password"), "nothing of the account before the proof")
            #expect(try await conflict.read().json["proof"] == nil, "looking asks for nothing")
            try await browser.screenshot("1-start")

            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.screenshot("2-code")
            let code = try await conflict.mail().code
            try await browser.enter(code: "\(code.prefix(4)) \(code.suffix(4))")

            try await browser.wait(for: "Connect GitHub")
            let methods = try await browser.text("ul").split(separator: "\n")
            #expect(methods == ["Password", "stops working", "GitHub", "new"])
            try await browser.screenshot("3-proven")
            #expect(try await conflict.read().json["state"] == "proven", "nothing is linked before the last click")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            #expect(try await browser.text("main").contains("sign in with GitHub"))
            try await browser.screenshot("4-resolved")

            let session = try await server.signIn(conflict.email)
            #expect(session["localId"]?.string == conflict.account && session["idToken"] != nil, "\(session.text)")
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func `a method that stops working is struck through, and the result explains how to restore it`()
        async throws
    {
        let server = try Self.server
        let conflict = try await server.openConflict("struck@example.com")
        try await conflict.askForMail()
        try await Browser.run { browser in
            let struck = "[...document.querySelectorAll('s')].map((name) => name.textContent)"
            try await browser.open(try await conflict.mail().link)
            try await browser.wait(for: "Connect GitHub to your account?")
            #expect(try await browser.value(struck) == [])
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            #expect(try await browser.value(struck) == ["Password"])
            #expect(
                try await browser.text("main").contains(
                    "When you connect GitHub, you can no longer sign in with: Password."
                )
            )
            try await browser.press("繁體中文")
            #expect(try await browser.value(struck) == ["密碼"])
            try await browser.press("English")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            for _ in 1...2 {
                #expect(try await browser.value(struck) == ["Password"])
                let shown = try await browser.text("main")
                #expect(shown.contains("No longer works") && shown.contains("enter the old password there before"))
                try await browser.reload()
                try await browser.wait(for: "GitHub is connected")
            }
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func `if no method stops working, nothing is struck through`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("kept@example.com")
        let update: JSONValue = ["localId": .string(conflict.account), "emailVerified": true]
        let path = "/v1/projects/demo-concord/accounts:update"
        #expect(try await server.send(.POST, path, update, bearer: "owner").status == 200)
        try await conflict.askForMail()
        try await Browser.run { browser in
            try await browser.open(try await conflict.mail().link)
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            #expect(try await browser.text("ul").split(separator: "\n") == ["Password", "GitHub", "new"])
            #expect(!(try await browser.text("main")).contains("stops working"))
            try await browser.screenshot("3-proven-nothing-stops")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            #expect(!(try await browser.text("main")).contains("No longer works"))
        }
        let body: JSONValue = ["email": .string(conflict.email), "password": "correct horse"]
        #expect(try await server.send(.POST, "/v1/accounts:signInWithPassword?key=any", body).status == 200)
    }

    @Test func `if the mailed link is opened on another device, the first one updates`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("devices@example.com")
        try await Browser.run { laptop in
            try await laptop.open(conflict.page)
            try await laptop.wait(for: "Is this account yours?")
            try await laptop.press("Send me the code")
            try await laptop.wait(for: "Check your email")

            try await Browser.run { phone in
                try await phone.open(try await conflict.mail().link)
                try await phone.wait(for: "Connect GitHub to your account?")
                let asked = try await phone.text("main")
                #expect(
                    asked.contains("GitHub") && asked.contains("d***@e***.com") && asked.contains("Continue only if")
                )
                #expect(!asked.contains("Password"), "nothing of the account before the proof")
                #expect(try await conflict.read().json["state"] == "open", "opening the link proves nothing")
                try await phone.screenshot("5-consent")
                try await phone.press("Yes, this was me")
                try await phone.wait(for: "Connect GitHub")

                try await laptop.wait(for: "Verified on another device")
                #expect(!(try await laptop.text("main")).contains("Password"), "the proof is the phone's alone")
                try await laptop.screenshotEverywhere("conflict-6-elsewhere")
                #expect(try await laptop.value("document.querySelectorAll('main button').length") == 2)
                try await phone.press("Connect GitHub")
                try await phone.wait(for: "GitHub is connected")
                #expect(try await phone.complaints() == [])
            }
            try await laptop.wait(for: "GitHub is connected")
            #expect(try await laptop.complaints() == [])
        }
        #expect(try await server.signIn(conflict.email)["localId"]?.string == conflict.account)
    }

    @Test func `the keyboard alone is enough for every step`() async throws {
        let conflict = try await Self.server.openConflict("keys@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.tab(to: "Send me the code")
            let outline = try await browser.value("getComputedStyle(document.activeElement).outlineWidth")
            #expect(outline == "3px", "who uses the keyboard sees where they are")
            try await browser.type(Browser.Key.enter)
            try await browser.wait(for: "Check your email")
            #expect(try await browser.focused == "Check your email")
            try await browser.type(Browser.Key.tab)
            try await browser.type(try await conflict.mail().code + Browser.Key.enter)
            try await browser.wait(for: "Connect GitHub")
            #expect(try await browser.focused == "Connect GitHub")
            try await browser.tab(to: "Connect GitHub")
            #expect(try await browser.value("document.activeElement.tagName") == "BUTTON")
            try await browser.type(Browser.Key.enter)
            try await browser.wait(for: "GitHub is connected")
            #expect(try await browser.focused == "GitHub is connected")
        }
    }

    // MARK: Secrets

    @Test func `secrets leave the URL at once, survive a reload, and are deleted at the end`() async throws {
        let conflict = try await Self.server.openConflict("secrets@example.com")
        try await conflict.askForMail()
        try await Browser.run { browser in
            let link = try await conflict.mail().link
            let secret = try #require(link.split(separator: "proof=").last.map(String.init))
            func kept() async throws -> String { try await browser.value("JSON.stringify(history.state)").string ?? "" }
            func expectNothingElsewhere() async throws {
                let places = "[location.href, localStorage.length, sessionStorage.length, document.cookie]"
                let address = "\(try Self.server.url)/conflict"
                #expect(try await browser.value(places) == [.string(address), 0, 0, ""])
            }
            try await browser.open(link)
            try await browser.wait(for: "Connect GitHub to your account?")
            #expect(try await kept().contains(secret))
            try await expectNothingElsewhere()
            try await browser.reload()
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            #expect(!(try await kept().contains(secret)), "a secret that was used is forgotten")
            try await browser.reload()
            try await browser.wait(for: "Connect GitHub")
            try await expectNothingElsewhere()
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            let state = try JSONValue(parsing: Array(try await kept().utf8))
            // What was suspended is no secret, and named again after a reload.
            #expect(Set(state.object?.keys.map { $0 } ?? []) == ["handle", "suspended"], "\(state.text)")
            try await expectNothingElsewhere()
            try await browser.reload()
            try await browser.wait(for: "GitHub is connected")
        }
    }

    @Test func `a mail scanner that opens the link ten times and runs scripts uses nothing (pain B35)`()
        async throws
    {
        let conflict = try await Self.server.openConflict("scanned@example.com")
        try await conflict.askForMail()
        let before = try await conflict.read()
        let link = try await conflict.mail().link
        try await Browser.run { scanner in
            for _ in 1...10 {
                for method in ["GET", "HEAD"] {
                    let answer = try await HTTP.send(.init(rawValue: method), String(link.prefix { $0 != "#" }))
                    #expect(answer.status == 200)
                }
                try await scanner.open(link)
                try await scanner.wait(for: "Connect GitHub to your account?")
            }
            let after = try await conflict.read()
            #expect(after.json == before.json && after.version == before.version)
            try await scanner.press("Yes, this was me")
            try await scanner.wait(for: "Connect GitHub")
        }
    }

    @Test func `another link in the same tab and the back button work`() async throws {
        let first = try await Self.server.openConflict("first@example.com")
        let second = try await Self.server.openConflict("second@example.com")
        try await second.askForMail()
        try await Browser.run { browser in
            try await browser.open(first.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.run("location.hash = '\(second.handle)'")
            try await browser.wait(for: "Check your email")
            try await browser.back()
            try await browser.wait(for: "Is this account yours?")
            #expect(try await browser.text("dl").contains("f***@e***.com"))
        }
    }

    // MARK: What goes wrong

    @Test func `an incomplete code costs no attempt, a wrong one does, and five wrong codes end the proof`()
        async throws
    {
        let conflict = try await Self.server.openConflict("wrong@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: "1234")
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('8 digits')")
            #expect(try await conflict.read().json["proof"]?["attemptsLeft"] == 5)

            let code = try await conflict.mail().code
            let wrong = String(code.reversed()) == code ? "01234567" : String(code.reversed())
            for left in [4, 3, 2, 1] {
                try await browser.enter(code: wrong)
                try await browser.wait(
                    until: "document.getElementById('problem').textContent.endsWith('Tries left: \(left).')"
                )
                #expect(try await browser.value("document.activeElement.getAttribute('aria-invalid')") == "true")
            }
            try await browser.screenshot("7-wrong")
            try await browser.enter(code: wrong)
            try await browser.wait(for: "Is this account yours?")
            #expect(try await browser.text("#problem").contains("Too many wrong attempts"))

            // The way on: a new mail, whose code is taken as Thai keyboards write it.
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            let thai = try await conflict.mail().code.unicodeScalars.compactMap { UnicodeScalar($0.value + 0xE20) }
            try await browser.enter(code: thai.map(String.init).joined())
            try await browser.wait(for: "Connect GitHub")
            #expect(try await browser.complaints().allSatisfy { $0.hasPrefix("network: ") })
        }
    }

    @Test func `if the user denies the request, the conflict ends on every device`() async throws {
        let conflict = try await Self.server.openConflict("declined@example.com")
        try await conflict.askForMail()
        try await Browser.run { laptop in
            try await laptop.open(conflict.page)
            try await laptop.wait(for: "Check your email")
            try await Browser.run { phone in
                try await phone.open(try await conflict.mail().link)
                try await phone.wait(for: "Connect GitHub to your account?")
                try await phone.press("No, this was not me")
                try await phone.wait(for: "Nothing was connected")
                try await phone.screenshotEverywhere("conflict-8-declined")
            }
            try await laptop.wait(for: "Nothing was connected")
        }
        #expect(try await conflict.read().json["state"] == "declined")
        #expect(try await Self.server.signIn(conflict.email)["idToken"] == nil)
    }

    @Test func `an expired conflict is shown as expired, also to later visitors`() async throws {
        let conflict = try await Self.server.openConflict("late@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await conflict.age()
            try await browser.wait(for: "This cannot be finished here")
            #expect(try await browser.text("main").contains("has expired"))
            try await browser.open(conflict.page)
            try await browser.wait(for: "This cannot be finished here")
            #expect(try await browser.text("main").contains("Go back to the app and sign in again"))
        }
    }

    @Test func `a forged, truncated, empty or foreign link is refused`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("forged@example.com")
        let other = try await server.openConflict("other@example.com")
        try await conflict.askForMail()
        try await other.askForMail()
        let page = "\(server.url)/conflict"
        let links = [
            (page, "missing"), ("\(page)#", "missing"), ("\(page)#proof=x", "missing"),
            ("\(page)#\(conflict.handle.dropLast(3))", "damaged"), ("\(page)#\(conflict.handle)A", "damaged"),
            ("\(page)#handle=%E0%B8%81%20%0A", "damaged"), ("\(page)#<b>x</b>", "damaged"),
            ("\(page)#" + String(repeating: "A", count: 20_000), "damaged"),
        ]
        try await Browser.run { browser in
            for (link, word) in links {
                try await browser.open(link)
                try await browser.wait(for: "This cannot be finished here")
                #expect(try await browser.text("main").contains(word), "\(link.prefix(80))")
            }
            let secret = try #require(try await other.mail().link.split(separator: "proof=").last)
            try await browser.open("\(page)#handle=\(conflict.handle)&proof=\(secret)")
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Check your email")
            #expect(try await browser.text("#problem").contains("not the newest link"))
            for untouched in [conflict, other] { #expect(try await untouched.read().json["state"] == "open") }
        }
    }

    @Test func `a change in the meantime is shown, and the next click continues`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("meanwhile@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            // A page in the background does not look for what others do.
            try await browser.run("Object.defineProperty(document, 'hidden', { value: true })")
            let before = try await conflict.read().version
            #expect(try await server.signIn(conflict.email)["needConfirmation"] == true)
            #expect(try await conflict.read().version != before)
            try await browser.press("Send me the code")
            try await browser.wait(
                until: "document.getElementById('problem').textContent.includes('in the meantime')"
            )
            try await browser.wait(for: "Is this account yours?")
            #expect(try await conflict.read().json["proof"] == nil)
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
        }
    }

    @Test func `if the connection is lost, no input is lost and the page continues later`() async throws {
        let conflict = try await Self.server.openConflict("offline@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.connect(false)
            try await browser.press("Send me the code")
            try await browser.wait(until: "document.getElementById('problem').textContent.includes('no connection')")
            try await browser.wait(for: "Is this account yours?")
            try await browser.connect(true)
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            #expect(try await browser.text("#problem") == "")
        }
    }

    @Test func `if responses are lost, the page repeats the change once under its key, then reads`() async throws {
        let conflict = try await Self.server.openConflict("lost@example.com")
        try await conflict.askForMail()
        try await Browser.run { browser in
            try await browser.open(try await conflict.mail().link)
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            try await browser.run(
                """
                const send = window.fetch;
                window.deeds = [];
                window.fetch = async (address, request) => {
                  const answer = await send(address, request);
                  if (request.method !== "POST") return answer;
                  window.deeds.push(request.headers["Idempotency-Key"]);
                  throw new TypeError("the connection is gone");
                }
                """
            )
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            let keys = try await browser.value("window.deeds").array ?? []
            #expect(keys.count == 2 && Set(keys).count == 1 && keys.first?.string != nil, "\(keys)")
            #expect(try await browser.text("#problem") == "")
        }
    }

    @Test func `a page that cannot read its conflict continues as soon as it can`() async throws {
        let first = try await Self.server.openConflict("before@example.com")
        let second = try await Self.server.openConflict("away@example.com")
        try await Browser.run { browser in
            try await browser.open(first.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.connect(false)
            try await browser.run("location.hash = '\(second.handle)'")
            try await browser.wait(for: "The service does not answer")
            #expect(try await browser.defects() == [])
            try await browser.screenshot("9-away")
            try await browser.press("Try again")
            try await browser.wait(for: "The service does not answer")
            try await browser.connect(true)
            try await browser.wait(for: "Is this account yours?")
            #expect(try await browser.text("dl").contains("a***@e***.com"))
        }
    }

    @Test func `a user who cannot finish on the confirming device begins again here`() async throws {
        let conflict = try await Self.server.openConflict("again@example.com")
        try await conflict.askForMail()
        try await Browser.run { browser in
            try await browser.open(try await conflict.mail().link)
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            // Another device: it has the handle, and not the token of the proof.
            try await browser.open(conflict.page)
            try await browser.wait(for: "Verified on another device")
            try await browser.press("Continue here: send a new email")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: try await conflict.mail().code)
            try await browser.wait(for: "Connect GitHub")
            // What the first proof handed out is worth nothing any more.
            for _ in 1...2 { try await browser.back() }
            try await browser.wait(for: "Verified on another device")
            #expect(try await browser.text("#problem").contains("no longer valid"))
        }
    }

    /// The list of problems is the program's own, so that one it gains is tried here from its first day.
    @Test func `every problem has a text and a next step`() async throws {
        let server = try Self.server
        let conflict = try await server.openConflict("problems@example.com")
        let document = try await server.send(.GET, "/openapi.json").json
        let schemas = document["components"]?["schemas"]
        let types = schemas?["Problem"]?["properties"]?["type"]?["enum"]?.array?.compactMap(\.string) ?? []
        #expect(types.count > 20)
        let strings = try await server.send(.GET, "/conflict/strings.json").json["strings"]?["en"]
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            for type in types {
                try await browser.reload()
                try await browser.wait(for: "Is this account yours?")
                try await browser.run(
                    """
                    window.fetch = async () => new Response('{"type": "\(type)"}', {
                      status: 400, headers: { "Content-Type": "application/problem+json" }
                    })
                    """
                )
                try await browser.press("Send me the code")
                try await browser.wait(until: "document.querySelector('main').innerText.length && \(Browser.isIdle)")
                let name = "problem.\(type.replacing("urn:concord:problem:", with: ""))"
                let sentence = try #require((strings?["\(name).send"] ?? strings?[name])?.string)
                    .replacing("{app}", with: "the app")
                let shown = try await browser.text("main")
                #expect(shown.contains(sentence), "\(type): \(shown)")
                let isOver = try await browser.value("!document.querySelector('main button')") == true
                let saysWhere = ["back to the app", "from the app", "support"].contains { sentence.contains($0) }
                #expect(!isOver || saysWhere, "\(type)")
                #expect(try await browser.complaints() == [], "\(type)")
            }
        }
    }

    // MARK: Everybody

    @Test func `assistive technology gets the role and name of every element`() async throws {
        let conflict = try await Self.server.openConflict("told@example.com")
        try await conflict.askForMail()
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Check your email")
            let expected = [
                ("header", "banner", ""), ("main", "main", ""), ("footer", "contentinfo", ""),
                ("nav", "navigation", "Language"), ("h1", "heading", "Check your email"),
                ("input", "textbox", "8-digit code"), ("form button.primary", "button", "Continue"),
                ("#problem", "alert", ""), ("#status", "status", ""), ("nav button", "button", "English"),
            ]
            for (selector, role, name) in expected {
                let found = try await browser.accessible(selector)
                #expect(found == (role, name), "\(selector): \(found)")
            }
            let pressed = "document.querySelector('nav button').getAttribute('aria-pressed')"
            #expect(try await browser.value(pressed) == "true")
            #expect(try await browser.value("document.documentElement.lang") == "en")
            let described = "document.querySelector('input').getAttribute('aria-describedby')"
            #expect(try await browser.value(described) == "code-hint problem")

            try await browser.press("Send another email")
            try await browser.wait(until: "document.getElementById('status').textContent.includes('another email')")
            #expect(try await browser.focused == "Send another email", "the focus stays")
        }
    }

    @Test func `the page uses its reader's language`() async throws {
        let conflict = try await Self.server.openConflict("languages@example.com")
        let headings = [
            "en": "Is this account yours?", "zh-TW": "這個帳戶是您的嗎？", "th": "บัญชีนี้เป็นของคุณใช่ไหม",
        ]
        let readers = [
            ("en-GB,en", "en"), ("de", "en"), ("zh-TW", "zh-TW"), ("zh-HK,en", "zh-TW"), ("th-TH,th,en", "th"),
            ("fr,th,en", "th"),
        ]
        try await Browser.run { browser in
            for (wanted, spoken) in readers {
                try await browser.prefer(wanted)
                try await browser.open(conflict.page)
                try await browser.wait(for: try #require(headings[spoken]))
                #expect(try await browser.value("document.documentElement.lang").string == spoken, "\(wanted)")
            }
        }
    }

    @Test func `the chosen language stays`() async throws {
        let conflict = try await Self.server.openConflict("chosen@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.press("ไทย")
            try await browser.wait(for: "บัญชีนี้เป็นของคุณใช่ไหม")
            try await browser.reload()
            try await browser.wait(for: "บัญชีนี้เป็นของคุณใช่ไหม")
            #expect(try await browser.value("document.documentElement.lang") == "th")
        }
    }

    /// Every step, in every language, light and dark, on a small phone and on a large screen.
    @Test func `every step can be read and used everywhere`() async throws {
        let conflict = try await Self.server.openConflict("read@example.com")
        try await Browser.run { browser in
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            try await browser.expectReadable("conflict-start")
            try await browser.press("Send me the code")
            try await browser.wait(for: "Check your email")
            try await browser.enter(code: "1234")
            try await browser.wait(until: "document.getElementById('problem').textContent && \(Browser.isIdle)")
            try await browser.expectReadable("conflict-code")
            try await browser.press("Send another email")
            try await browser.wait(until: "document.getElementById('status').textContent && \(Browser.isIdle)")
            try await browser.expectReadable("conflict-sent")

            try await browser.open(try await conflict.mail().link)
            try await browser.wait(for: "Connect GitHub to your account?")
            try await browser.expectReadable("conflict-consent")
            try await browser.press("Yes, this was me")
            try await browser.wait(for: "Connect GitHub")
            try await browser.expectReadable("conflict-proven")
            try await browser.press("Connect GitHub")
            try await browser.wait(for: "GitHub is connected")
            try await browser.expectReadable("conflict-resolved")

            try await browser.open("\(try Self.server.url)/conflict")
            try await browser.wait(for: "This cannot be finished here")
            try await browser.expectReadable("conflict-stopped")
        }
    }

    @Test func `the accessibility checks detect violations`() async throws {
        let conflict = try await Self.server.openConflict("planted@example.com")
        try await Browser.run { browser in
            try await browser.resize(320, 800)
            try await browser.open(conflict.page)
            try await browser.wait(for: "Is this account yours?")
            #expect(try await browser.defects() == [])
            for (change, defect) in [
                ("document.querySelector('main p').style.color = '#999999'", "contrast 2.85"),
                ("document.querySelector('main button').style.minHeight = '20px'", "small: BUTTON"),
                ("document.querySelector('dl').style.width = '500px'", "the page scrolls sideways"),
                ("document.querySelector('dd').textContent = '{provider}'", "not filled in: DD"),
                ("document.title = 'Concord'", "title"),
            ] {
                try await browser.run(change)
                #expect(try await browser.defects().contains { $0.hasPrefix(defect) }, "\(change)")
            }
        }
    }
}
