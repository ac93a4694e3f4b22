import AccountTestSupport
import HTTPTypes
import JSON
import Testing

struct PublicKeysRouteTests {
    private static let paths = [
        "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com",
        "/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com",
    ]

    @Test func `public keys need no API key and can be cached`() async throws {
        try await TestAPI.with { api in
            var transcript = Transcript("")
            for path in Self.paths {
                let answer = try await api.wire.send(.get, path, key: nil)
                #expect(answer.status == 200)
                #expect(answer.headers[.cacheControl] == "public, max-age=900")
                transcript.note(path, "GET \(path)", answer)
                let head = try await api.wire.send(.head, path, key: nil)
                #expect(head.status == 200)
            }
            try transcript.expect(matches: "public-keys.txt")
        }
    }

    @Test func `both formats contain the key that signs`() async throws {
        try await TestAPI.with { api in
            let account = try await api.signUpAnonymously()
            let encoded = try #require(account["idToken"]?.string?.prefix { $0 != "." })
            let header = try JSONValue(parsing: try #require(Base64URL.decode(encoded)))
            let kid = try #require(header["kid"]?.string)
            let certificates = try await api.wire.send(.get, Self.paths[0], key: nil).json
            #expect(certificates.object.map { Array($0.keys) } == [kid])
            let set = try await api.wire.send(.get, Self.paths[1], key: nil).json
            #expect(set["keys"]?.array?.map { $0["kid"]?.string } == [kid])
        }
    }

    @Test func `both formats are also served below the host name that SDKs use`() async throws {
        try await TestAPI.with { api in
            for path in Self.paths {
                let answer = try await api.wire.send(.get, path, key: nil)
                let prefixed = try await api.wire.send(.get, "/www.googleapis.com" + path, key: nil)
                #expect(prefixed.status == 200)
                #expect(prefixed.text == answer.text)
                #expect(prefixed.headers[.cacheControl] == answer.headers[.cacheControl])
            }
        }
    }

    @Test func `a discovery document that repeats the caller's Host is kept by no cache`() async throws {
        try await TestAPI.with { api in
            let answer = try await api.wire.send(.get, "/.well-known/openid-configuration", key: nil)
            #expect(answer.status == 200)
            #expect(answer.json["jwks_uri"]?.string?.hasSuffix(Self.paths[1]) == true)
            #expect(answer.headers[.cacheControl] == "no-store")
        }
    }
}
