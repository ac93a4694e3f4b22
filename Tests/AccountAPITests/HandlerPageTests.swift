import AccountTestSupport
import Crypto
import FoundationEssentials
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The pages of a sign-in on a provider's own page, as they are served. What they do is tried in a browser, by
/// `HandlerTests`.
@Suite(.api) struct HandlerPageTests {
    private func send(_ method: HTTPRequest.Method, _ path: String, _ body: String = "") async throws -> Wire.Answer {
        try await TestAPI.shared.send(method, path, Array(body.utf8), key: nil)
    }

    @Test(arguments: ["/__/auth", "/emulator/auth"])
    func `the content security policy of the pages allows only what they need`(folder: String) async throws {
        let opener = try #require(HTTPField.Name("Cross-Origin-Opener-Policy"))
        let rest = "style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
        let handler = try await send(.get, folder + "/handler?apiKey=k")
        #expect(handler.status == 200 && handler.headers[.contentType] == "text/html; charset=utf-8")
        #expect(
            handler.headers[.contentSecurityPolicy] == "default-src 'none'; script-src 'self'; " + rest
                + "; frame-ancestors 'none'; require-trusted-types-for 'script'"
        )
        #expect(handler.headers[opener] == nil, "the window would not know who opened it")
        let frame = try await send(.get, folder + "/iframe?apiKey=k&appName=a")
        #expect(
            frame.headers[.contentSecurityPolicy]
                == "default-src 'none'; script-src 'self' https://apis.google.com; " + rest
        )
        for file in ["handler.js", "common.js", "native.js", "handler.json", "page.css", "icon.svg", "iframe.js"] {
            #expect(try await send(.get, "\(folder)/\(file)").status == 200, "\(file)")
        }
        for text in [handler.text, frame.text] {
            #expect(!text.contains("<style") && !text.contains(" style=") && !text.contains(#/\son[a-z]+=/#))
            #expect(text.matches(of: #/<script(?! src=| type="module" src=)/#).isEmpty)
        }
    }

    @Test func `a provider's POST is redirected with its fields in the fragment`() async throws {
        let body = "state=s&code=c%2F1&user=%7B%22name%22%3A1%7D"
        let answer = try await send(.post, "/__/auth/handler", body)
        #expect(answer.status == 303 && answer.text.isEmpty)
        #expect(
            answer.headers[.location]
                == "handler#post=state%3Ds%26code%3Dc%252F1%26user%3D%257B%2522name%2522%253A1%257D"
        )
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(try await send(.post, "/__/auth/handler", String(repeating: "x", count: 17_000)).status == 413)
        #expect(try await send(.post, "/__/auth/iframe", body).status == 404)
    }

    @Test func `every language has every text`() async throws {
        let strings = try await send(.get, "/__/auth/handler.json").json.object ?? [:]
        #expect(Set(strings.keys) == ["en", "zh-TW", "th"])
        let script = try await send(.get, "/__/auth/handler.js").text
        let english = strings["en"]?.object ?? [:]
        for (language, said) in strings {
            #expect(Set(said.object?.keys.map { $0 } ?? []) == Set(english.keys), "\(language)")
            for (name, text) in said.object ?? [:] where language != "en" {
                #expect(text.string?.isEmpty == false && text != english[name], "\(language) \(name)")
            }
        }
        for name in english.keys { #expect(script.contains("\"\(name)\"") || script.contains(".\(name)"), "\(name)") }
    }
}

/// The beginning of a sign-in on a provider's own page, with providers that are made up.
@Suite struct MadeUpProviderFlowTests {
    private static let handler = "http://localhost/__/auth/handler"

    private func begin(_ api: TestAPI, _ changes: [String: JSONValue] = [:]) async throws -> TestAPI.Answer {
        var body: [String: JSONValue] = ["providerId": "github.com", "continueUri": .string(Self.handler)]
        body.merge(changes) { $1 }
        return try await api.post("/v1/accounts:createAuthUri", .object(body))
    }

    private func finish(_ api: TestAPI, _ authURI: String?, session: JSONValue?) async throws -> TestAPI.Answer {
        let query = authURI?.split(separator: "?").last.map { PercentEncoding.pairs(Array($0.utf8), plusIsSpace: true) }
        let state = try #require(query?["state"])
        var body: [String: JSONValue] = [
            "requestUri": .string("\(Self.handler)#state=\(state)&id_token=%7B%22sub%22%3A%22s1%22%7D")
        ]
        body["sessionId"] = session
        return try await api.post("/v1/accounts:signInWithIdp", .object(body))
    }

    @Test func `the page for a simulated user returns a credential that signs in`() async throws {
        try await TestAPI.with { api in
            let begun = try await begin(api, ["identifier": "ada@example.com"])
            #expect(begun.json["kind"] == "identitytoolkit#CreateAuthUriResponse")
            #expect(begun.json["providerId"] == "github.com")
            let address = try #require(begun.json["authUri"]?.string)
            #expect(address.hasPrefix("http://localhost/emulator/auth/provider?provider=github.com&redirect_uri="))
            #expect(address.hasSuffix("&login_hint=ada%40example.com"))
            let answer = try await finish(api, address, session: begun.json["sessionId"])
            #expect(answer.json["idToken"] != nil && answer.json["providerId"] == "github.com", "\(answer.text)")
        }
    }

    @Test func `the hashed secret proves a session that is known by its digest`() async throws {
        try await TestAPI.with { api in
            let digest = Hexadecimal.encode(Array(SHA256.hash(data: Array("kept by the app".utf8))))
            let begun = try await begin(api, ["sessionIdDigest": .string(digest)])
            #expect(begun.status == 200 && begun.json["sessionId"] == nil)
            let address = begun.json["authUri"]?.string
            for session: JSONValue? in [nil, .string(digest), "another"] {
                let refused = try await finish(api, address, session: session)
                #expect(refused.errorMessage?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(refused.text)")
            }
            #expect(try await finish(api, address, session: "kept by the app").json["idToken"] != nil)
            for text in ["zz", String(digest.dropLast(2))] {
                let answer = try await begin(api, ["sessionIdDigest": .string(text)])
                #expect(answer.status == 400 && answer.errorMessage?.contains("sessionIdDigest") == true)
            }
        }
    }

    @Test func `only the handler's own host may receive the redirect`() async throws {
        try await TestAPI.with { api in
            let own = try await begin(api, ["continueUri": "http://127.0.0.1:9099/emulator/auth/handler"])
            #expect(own.status == 200, "\(own.text)")
            for (uri, error) in [
                ("http://evil.example/handler", "UNAUTHORIZED_DOMAIN"), ("http://localhost/#x", "INVALID_CONTINUE_URI"),
                ("http://evil.example\\@localhost/", "INVALID_CONTINUE_URI"), ("nonsense", "INVALID_CONTINUE_URI"),
            ] {
                let answer = try await begin(api, ["continueUri": .string(uri)])
                #expect(answer.errorMessage?.hasPrefix(error) == true, "\(uri): \(answer.text)")
            }
            #expect(try await begin(api, ["continueUri": .null]).errorMessage == "MISSING_CONTINUE_URI")
        }
    }

    @Test func `a request is refused if the provider's address would be too long for browsers`() async throws {
        try await TestAPI.with { api in
            let long = JSONValue.string(String(repeating: "x", count: 4097))
            for changes: [String: JSONValue] in [
                ["customParameter": ["a": long]], ["oauthScope": long], ["identifier": long],
            ] {
                let answer = try await begin(api, changes)
                #expect(answer.errorMessage?.hasPrefix("INVALID_ARGUMENT") == true, "\(answer.text)")
            }
            #expect(try await api.service.database.rowCounts()["provider_flows"] == 0)
        }
    }

    @Test func `a provider that needs a registration cannot be simulated`() async throws {
        try await TestAPI.with { api in
            let answer = try await begin(api, ["providerId": "oidc.unheard-of"])
            #expect(answer.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true, "\(answer.text)")
        }
    }
}
