import AccountTestSupport
import Foundation
import Glibc
import JSON
import NIOHTTP1
import Testing

/// A headless Chromium: one device of one person. Driven by the W3C's WebDriver protocol
/// (https://www.w3.org/TR/webdriver2/), which `chromedriver` speaks.
struct Browser: Sendable {
    private let session: String

    static let widthAtStart = 375
    static let heightAtStart = 800

    /// Runs `body` with a browser that no other test uses meanwhile, in its initial state: online, bright, in English.
    static func run<Output: Sendable>(_ body: (Browser) async throws -> Output) async throws -> Output {
        let browsers = try #require(PageTrait.current?.browsers)
        let browser = try await browsers.take()
        do {
            try await browser.connect(true)
            try await browser.darken(false)
            try await browser.resize(widthAtStart, heightAtStart)
            try await browser.prefer("en")
            _ = try await browser.complaints()
            let output = try await body(browser)
            await browsers.giveBack(browser)
            return output
        } catch {
            try await browser.close()
            throw error
        }
    }

    /// Starts one; `driver` is where `chromedriver` listens.
    init(driver: String) async throws {
        var arguments: [JSONValue] = [
            // Frames of other sites in the same process: what is injected reaches them too.
            "--disable-site-isolation-trials", "--disable-features=IsolateOrigins,site-per-process",
            "--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
            // Chromium ends with the pipe, and so with the driver.
            "--remote-debugging-pipe",
        ]
        // Chromium's sandbox wants another user than root, whom containers know only.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        let capabilities: JSONValue = [
            "capabilities": [
                "alwaysMatch": [
                    "browserName": "chrome",
                    "goog:loggingPrefs": ["browser": "ALL"],
                    "goog:chromeOptions": ["args": .array(arguments)],
                ]
            ]
        ]
        let answer = try await HTTP.send(.POST, driver + "/session", capabilities).json
        session = "\(driver)/session/\(try #require(answer["value"]?["sessionId"]?.string, "\(answer.text)"))"
    }

    func close() async throws {
        _ = try await HTTP.send(.DELETE, session)
    }

    @discardableResult
    private func command(_ method: HTTPMethod, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let answer = try await HTTP.send(method, session + path, body)
        guard answer.status == 200 else { throw BrowserFailure(description: answer.json.text) }
        return answer.json["value"] ?? .null
    }

    /// A command of Chromium's own, beside the standard.
    @discardableResult
    private func chromium(_ name: String, _ parameters: JSONValue) async throws -> JSONValue {
        try await command(.POST, "/goog/cdp/execute", ["cmd": .string(name), "params": parameters])
    }

    // MARK: Going and looking

    func open(_ url: String) async throws {
        // The same page with another fragment would not be loaded anew.
        try await command(.POST, "/url", ["url": "about:blank"])
        try await command(.POST, "/url", ["url": .string(url)])
    }

    func reload() async throws {
        try await command(.POST, "/refresh", [:])
    }

    func back() async throws {
        try await command(.POST, "/back", [:])
    }

    /// The value of the expression `script` in the page.
    func value(_ script: String) async throws -> JSONValue {
        try await command(.POST, "/execute/sync", ["script": .string("return (\(script))"), "args": []])
    }

    func run(_ script: String) async throws {
        try await command(.POST, "/execute/sync", ["script": .string(script), "args": []])
    }

    /// The text of the elements at `selector`, as it is seen.
    func text(_ selector: String = "body") async throws -> String {
        let texts = "[...document.querySelectorAll(\(JSONValue.string(selector).text))].map(e => e.innerText)"
        return try await value("\(texts).join('\\n')").string ?? ""
    }

    /// Waits until the expression holds. The bound only keeps a failure from hanging.
    func wait(until script: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now + .seconds(90)
        while try await value("Boolean(\(script))") != true {
            guard clock.now < deadline else {
                let seen = try await text()
                Issue.record("never: \(script)\n\(seen)", sourceLocation: sourceLocation)
                throw BrowserFailure(description: "never: \(script)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until these are the windows there are.
    func wait(forWindows expected: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let deadline = ContinuousClock.now + .seconds(90)
        while try await windows() != expected {
            try #require(ContinuousClock.now < deadline, "other windows are open", sourceLocation: sourceLocation)
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until the page's heading is `heading` and nothing is under way.
    func wait(for heading: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let isThere = "document.querySelector('h1')?.textContent === \(JSONValue.string(heading).text)"
        try await wait(until: "\(isThere) && \(Self.isIdle)", sourceLocation: sourceLocation)
    }

    static let isIdle = "document.querySelector('main').getAttribute('aria-busy') === 'false'"

    // MARK: Windows

    /// The windows there are, by their handles.
    func windows() async throws -> [String] {
        (try await command(.GET, "/window/handles").array ?? []).compactMap(\.string)
    }

    /// Directs the following commands to that window.
    func look(at window: String) async throws {
        try await command(.POST, "/window", ["handle": .string(window)])
    }

    /// Closes the window that commands are directed to. `look(at:)` comes next.
    func closeWindow() async throws {
        try await command(.DELETE, "/window")
    }

    /// Runs `body` in the window that is there beside `window`, which it waits for, and comes back.
    func inPopup(of window: String, _ body: () async throws -> Void) async throws {
        var others: [String] = []
        while others.isEmpty {
            others = try await windows().filter { $0 != window }
        }
        try await look(at: try #require(others.first))
        try await body()
        try await look(at: window)
    }

    /// Has `script` run in every page and frame before their own.
    func inject(_ script: String) async throws {
        try await chromium("Page.addScriptToEvaluateOnNewDocument", ["source": .string(script)])
    }

    // MARK: Doing

    /// Clicks the button that says `name`; as a person would, once more where the page drew it anew meanwhile.
    func press(_ name: String) async throws {
        for isLast in [false, false, true] {
            let button = try await element("xpath", "//button[normalize-space()='\(name)']")
            do {
                try await command(.POST, "/element/\(button)/click", [:])
                return
            } catch let failure as BrowserFailure where !isLast && failure.isStale {}
        }
    }

    /// Types into the field that has the focus.
    func type(_ keys: String) async throws {
        var actions: [JSONValue] = []
        for key in keys {
            actions.append(["type": "keyDown", "value": .string(String(key))])
            actions.append(["type": "keyUp", "value": .string(String(key))])
        }
        try await command(
            .POST,
            "/actions",
            ["actions": [["type": "key", "id": "keyboard", "actions": .array(actions)]]]
        )
    }

    /// Puts the focus into the field for the code and types `code` in place of what stands there.
    func enter(code: String) async throws {
        try await run("document.querySelector('input').focus(); document.querySelector('input').select()")
        try await type(code + Key.enter)
    }

    /// Presses Tab until the button that says `name` has the focus.
    func tab(to name: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for _ in 1...12 {
            try await type(Key.tab)
            if try await focused == name { return }
        }
        Issue.record("the keyboard does not reach \(name)", sourceLocation: sourceLocation)
    }

    /// The text of what has the focus.
    var focused: String {
        get async throws { try await value("document.activeElement.innerText").string ?? "" }
    }

    /// Keys without a character (WebDriver §17.4.2).
    enum Key {
        static let tab = "\u{E004}"
        static let enter = "\u{E007}"
    }

    private func element(_ strategy: String, _ value: String) async throws -> String {
        let found = try await command(.POST, "/element", ["using": .string(strategy), "value": .string(value)])
        return try #require(found.object?.values.first?.string)
    }

    // MARK: Surroundings

    func resize(_ width: Int, _ height: Int) async throws {
        try await chromium(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(Int64(width)), "height": .integer(Int64(height)), "deviceScaleFactor": 1,
                "mobile": false,
            ]
        )
    }

    func darken(_ isDark: Bool) async throws {
        let feature: JSONValue = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try await chromium("Emulation.setEmulatedMedia", ["features": [feature]])
    }

    /// The languages its user reads, as in `Accept-Language`. For pages that are opened from now on.
    func prefer(_ languages: String) async throws {
        let agent = try await value("navigator.userAgent")
        try await chromium(
            "Emulation.setUserAgentOverride",
            ["userAgent": agent, "acceptLanguage": .string(languages)]
        )
    }

    func connect(_ isOnline: Bool) async throws {
        try await chromium("Network.enable", [:])
        try await chromium(
            "Network.emulateNetworkConditions",
            ["offline": .bool(!isOnline), "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1]
        )
    }

    // MARK: What others perceive

    /// The role and the name for assistive technology (WebDriver §12.4.9 and §12.4.10).
    func accessible(_ selector: String) async throws -> (role: String, name: String) {
        let element = try await element("css selector", selector)
        return (
            try await command(.GET, "/element/\(element)/computedrole").string ?? "",
            try await command(.GET, "/element/\(element)/computedlabel").string ?? ""
        )
    }

    /// The complaints of the browser since the last call, as `source: message`. `network` is the source for answers
    /// that are not successful.
    func complaints() async throws -> [String] {
        let entries = try await command(.POST, "/se/log", ["type": "browser"]).array ?? []
        return entries.map { "\($0["source"]?.string ?? ""): \($0["message"]?.string ?? "")" }
    }

    /// Saves a picture of the whole page: `NAME.png` in the folder of `scripts/screenshots`, else in
    /// `.build/screenshots`.
    func screenshot(_ name: String) async throws {
        let picture = try await chromium("Page.captureScreenshot", ["captureBeyondViewport": true])["data"]?.string
        let folder = Look.folder ?? AccountTestSupport.Repository.root + "/.build/screenshots"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let bytes = try #require(Data(base64Encoded: picture ?? ""))
        try bytes.write(to: URL(filePath: "\(folder)/\(name).png"))
    }
}

/// The browsers of a suite: as many as its tests have used at once, each of them started once.
actor Browsers {
    private let driver: String
    private var free: [Browser] = []

    init(driver: String) {
        self.driver = driver
    }

    func take() async throws -> Browser {
        if let browser = free.popLast() { return browser }
        return try await Browser(driver: driver)
    }

    func giveBack(_ browser: Browser) {
        free.append(browser)
    }

    func closeAll() async throws {
        while let browser = free.popLast() { try await browser.close() }
    }
}

struct BrowserFailure: Error, CustomStringConvertible {
    let description: String

    /// True if the page has replaced the element since it was found (WebDriver, "stale element reference").
    var isStale: Bool { description.contains("\"stale element reference\"") }
}
