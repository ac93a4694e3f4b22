import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// Malformed ID tokens are refused without a request to the issuer.
struct TokenStructureTests {
    static let garbage: [String] = [
        " ", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30", "eyJ.eyJ.x", "null.null.null", "{}", "[]",
        "{\"sub\":\"1\"}", String(repeating: ".", count: 5), "\u{0}", "é.é.é", "eyJhbGciOiJSUzI1NiJ9.W10.AAAA",
        "eyJhbGciOiJSUzI1NiJ9.IiI.AAAA", "eyJhbGciOiJSUzI1NiJ9=.e30=.AAAA", "eyJhbGciOiJSUzI1NiJ9.e30.AA+/",
        "eyJhbGciOiJSUzI1NiJ9.e30.AAAA.AAAA.AAAA", "eyJhbGciOjF9.e30.AAAA",
    ]

    @Test(arguments: garbage)
    func `a text that is not a token is malformed`(text: String) async throws {
        for provider in Scene.verified {
            let scene = try Scene(provider)
            #expect(try await scene.verify(text) == .invalid(.malformed))
            #expect(scene.stub.requests == 0)
        }
    }

    @Test
    func `a payload with too deep nesting is malformed`() async throws {
        let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
        let payload = Base64URL.encode("{\"sub\":\(deep)}".utf8)
        #expect(try await Scene(.google).verify("eyJhbGciOiJSUzI1NiJ9.\(payload).AAAA") == .invalid(.malformed))
    }

    @Test
    func `a token of 16 KiB is accepted, a larger one is refused`() async throws {
        let scene = try Scene(.google)
        var padding = 11_000
        while try scene.token(["pad": .string(String(repeating: "p", count: padding))]).utf8.count < 16_384 {
            padding += 1
        }
        let fits = try scene.token(["pad": .string(String(repeating: "p", count: padding - 1))])
        #expect(fits.utf8.count <= 16_384)
        #expect(try await scene.verify(fits).verified != nil)
        let large = try scene.token(["pad": .string(String(repeating: "p", count: padding + 3))])
        #expect(try await scene.verify(large) == .invalid(.tooLarge))
    }

    @Test
    func `tokens of types for other purposes are refused`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        for type: JSONValue in ["at+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt", "", 1, ["JWT"]] {
            #expect(try await scene.verify(try scene.token(header: ["typ": type])) == .invalid(.unacceptableType))
        }
        for type: JSONValue in ["JWT", "jwt"] {
            #expect(try await scene.verify(try scene.token(header: ["typ": type])).verified != nil)
        }
    }

    @Test
    func `a critical extension is refused`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        for extensions: JSONValue in [["b64"], [], "exp"] {
            let header: [String: JSONValue] = ["crit": extensions, "b64": false]
            #expect(try await scene.verify(try scene.token(header: header)) == .invalid(.unacceptableType))
        }
    }
}
