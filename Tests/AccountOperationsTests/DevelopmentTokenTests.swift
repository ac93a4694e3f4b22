import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

/// The tokens of `concord dev`: unsigned for SDKs, signed for Concord.
struct DevelopmentTokenTests {
    private let scene: TokenScene
    private let development: TokenAuthority
    private let token: String

    init() throws {
        scene = try TokenScene()
        development = Self.authority(scene.key)
        token = try development.mintIDToken(for: scene.user, session: scene.session, at: TokenScene.now)
    }

    /// Another server in development with an empty cache.
    private static func authority(_ key: SigningKey) -> TokenAuthority {
        TokenAuthority(
            projectID: "demo-test",
            keys: TokenAuthority.KeySet(signing: key, published: [key]),
            development: DevelopmentTokens()
        )
    }

    private func rejection(of token: String, at now: Timestamp = TokenScene.now) -> TokenAuthority.Rejection? {
        Self.authority(scene.key).rejection(of: token, at: now)
    }

    private func token(_ payload: [UInt8]) -> String { "\(header).\(Base64URL.encode(payload))." }

    private var header: Substring { token.prefix { $0 != "." } }
    private var payload: [UInt8] {
        get throws { try #require(Base64URL.decode(token.split(separator: ".")[1])) }
    }

    @Test func `a development token has the algorithm none and an empty signature`() throws {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        #expect(parts.count == 3 && parts[2].isEmpty)
        let header = try #require(Base64URL.decode(parts[0]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"none","typ":"JWT"}"#)
        var members = try #require(try claims(token).object)
        let signature = try #require(members.removeValue(forKey: "concord_signature")?.string)
        #expect(signature.hasPrefix("key-1."))
        #expect(JSONValue.object(members) == (try claims(scene.token)))
        #expect(development.algorithms == ["none"] && scene.authority.algorithms == ["ES256"])
    }

    @Test(arguments: SigningKey.Algorithm.allCases)
    func `another server with the key reads a development token like a signed one`(
        _ algorithm: SigningKey.Algorithm
    ) throws {
        let scene = try TokenScene(algorithm)
        let token = try Self.authority(scene.key).mintIDToken(
            for: scene.user,
            session: scene.session,
            at: TokenScene.now
        )
        let verified = try Self.authority(scene.key).verifyIDToken(token, at: TokenScene.now)
        #expect(verified == (try scene.elsewhere().verifyIDToken(scene.token, at: TokenScene.now)))
    }

    @Test func `a development token is cached, expires, and becomes invalid with its key`() throws {
        let verified = try development.verifyIDToken(token, at: TokenScene.now)
        #expect(verified == (try Self.authority(scene.key).verifyIDToken(token, at: TokenScene.now)))
        let expiry = Timestamp(secondsSinceEpoch: 1_750_003_600)
        #expect(development.rejection(of: token, at: expiry) == .expired(verified))
        #expect(rejection(of: token, at: expiry) == .expired(verified))
        let next = try TokenScene.key(.es256, id: "key-2")
        development.replaceKeys(TokenAuthority.KeySet(signing: next, published: [next]))
        #expect(development.rejection(of: token) == .invalid)
    }

    @Test func `development accepts signed tokens too, so that sessions survive the switch`() throws {
        #expect(rejection(of: scene.token) == nil)
    }

    @Test func `a development token with any single bit changed is invalid`() throws {
        let sealed = try payload
        var accepted: [String] = []
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                if rejection(of: token(changed)) != .invalid { accepted.append("byte \(index) bit \(bit)") }
            }
        }
        #expect(accepted == [])
        #expect(rejection(of: token(sealed)) == nil)
    }

    @Test func `a forged unsigned token is invalid in development`() throws {
        let good = try claims(scene.token)
        let foreign = try TokenScene().key
        let text = String(decoding: try payload, as: UTF8.self)
        let claim = try #require(text.firstRange(of: #","concord_signature""#)).lowerBound
        let forgeries = [
            token(Array(good.text.utf8)),
            token(Array("\(text[..<claim])}".utf8)),
            try DevelopmentTokens().mint(Array(good.text.utf8), signedBy: foreign),
            token(Array(text.replacing("\"sub\":\"user-1\"", with: "\"sub\":\"user-2\"").utf8)),
            token(Array(text.replacing("key-1.", with: "key-2.").utf8)),
            token(Array("\(text[..<claim]),\"sub\":\"user-2\"\(text[claim...])".utf8)),
            token(Array("\(text.dropLast()),\"sub\":\"user-2\"}".utf8)),
            token(Array("\(text.dropLast())\(text[claim...])".utf8)),
            token(Array("\(text.dropLast()) }".utf8)),
            token + "AAAA", "\(token).", "x" + token, String(token.dropLast()), "..", "\(header)..",
        ]
        for forgery in forgeries { #expect(rejection(of: forgery) == .invalid, "\(forgery)") }
    }

    /// A production server may be started on a database of development, or get a token of it.
    @Test func `outside development a development token is invalid, even under the keys that signed it`() throws {
        #expect(scene.elsewhere().rejection(of: token) == .invalid)
        // Rebuilt as a signed token, under either header.
        let text = String(decoding: try payload, as: UTF8.self)
        let claim = try #require(text.firstRange(of: #","concord_signature""#)).lowerBound
        let signature = try #require(try claims(token)["concord_signature"]?.string).dropFirst("key-1.".count)
        let signedHeader = scene.token.prefix { $0 != "." }
        for payload in [Base64URL.encode("\(text[..<claim])}".utf8), Base64URL.encode(text.utf8)] {
            for header in [header, signedHeader] {
                for signature in ["", signature] {
                    let rebuilt = "\(header).\(payload).\(signature)"
                    #expect(scene.elsewhere().rejection(of: rebuilt) == .invalid)
                }
            }
        }
    }

    @Test func `a signature of one form is invalid in the other`() throws {
        let parts = scene.token.split(separator: ".")
        let payload = try #require(Base64URL.decode(parts[1]))
        let claim = #","concord_signature":"key-1.\#(parts[2])"}"#
        #expect(rejection(of: token(payload.dropLast() + Array(claim.utf8))) == .invalid)
    }

    @Test func `no custom claim replaces the signature`() throws {
        var user = scene.user
        user.customAttributes = #"{"concord_signature":"key-1.AAAA"}"#
        var session = scene.session
        session.claims = ["concord_signature": "key-1.AAAA", "b": #","concord_signature":"key-1.AAAA"#]
        for authority in [development, scene.authority] {
            let token = try authority.mintIDToken(for: user, session: session, at: TokenScene.now)
            #expect(try claims(token)["concord_signature"]?.string != "key-1.AAAA")
            #expect(rejection(of: token) == nil)
        }
    }

    @Test func `a development session cookie has its own signature and is no ID token`() throws {
        let key = try TokenScene.key(.es256, id: "cookie-1")
        let keys = TokenAuthority.KeySet(signing: key, published: [key])
        let cookies = SessionCookieAuthority(projectID: "demo-test", keys: keys, development: DevelopmentTokens())
        let cookie = try #require(try cookies.mint(fromVerified: token, lifetimeSeconds: 600, at: TokenScene.now))
        #expect(cookie.hasPrefix("\(header).") && cookie.hasSuffix("."))
        #expect(try claims(cookie)["iss"] == "https://session.firebase.google.com/demo-test")
        #expect(try claims(cookie)["concord_signature"]?.string?.hasPrefix("cookie-1.") == true)
        let read = DevelopmentTokens().verifiedPayload(of: Array(cookie.utf8), keys: [key])
        #expect(try JSONValue(parsing: try #require(read?.payload))["concord_signature"] == nil)
        #expect(rejection(of: cookie) == .invalid)
        // The reverse: a cookie of a production server contains no development signature.
        let signed = try #require(
            try SessionCookieAuthority(projectID: "demo-test", keys: keys)
                .mint(fromVerified: token, lifetimeSeconds: 600, at: TokenScene.now)
        )
        #expect(try claims(signed)["concord_signature"] == nil)
    }
}
