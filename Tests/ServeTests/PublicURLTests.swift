import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

/// `concord serve` with a configured public URL.
struct PublicURLTests {
    @Test func `a discovery document with the configured URL may be cached`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            let settings = ["CONCORD_LISTEN_PUBLIC_URL": "https://id.example.com"]
            try await ServeProcess.run(database: database.url, settings) { server in
                let answer = try await server.send(.GET, "/.well-known/openid-configuration", key: nil)
                #expect(answer.json["jwks_uri"]?.string?.hasPrefix("https://id.example.com/") == true)
                #expect(answer.headers.first(name: "Cache-Control") == "public, max-age=900")
            }
        }
    }

    @Test(arguments: ["evil.example", "evil.example:8080", "localhost@evil.example", "127.0.0.1.evil.example", ""])
    func `a caller's Host does not choose whose keys a discovery document names`(host: String) async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server in
                for path in ["", "/\(TestService.projectID)"].map({ $0 + "/.well-known/openid-configuration" }) {
                    let answer = try await server.send(.GET, path, key: nil, headers: ["Host": host])
                    let address = try #require(answer.json["jwks_uri"]?.string)
                    #expect(address.hasPrefix(server.url + "/"), "\(address)")
                    #expect(answer.headers.first(name: "Cache-Control") == "no-store")
                }
            }
        }
    }

    @Test func `the pages that mails link to exist`() async throws {
        try await TestDatabase.with { database in
            try await database.makeProject()
            try await ServeProcess.run(database: database.url) { server async throws in
                for page in [
                    "/conflict", "/account", "/__/auth/action?mode=verifyEmail&oobCode=x&apiKey=y",
                    "/__/auth/links?link=z",
                ] {
                    for method in [HTTPMethod.GET, .HEAD] {
                        let answer = try await server.send(method, page, key: nil)
                        #expect(answer.status == 200)
                        #expect(answer.headers.first(name: "Content-Type") == "text/html; charset=utf-8")
                        #expect(answer.text.isEmpty == (method == .HEAD))
                    }
                }
            }
        }
    }
}
