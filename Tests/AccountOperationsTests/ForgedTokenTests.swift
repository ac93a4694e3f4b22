import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import JWTKit
import Testing

@testable import AccountOperations

/// Forged tokens are refused, without a reason.
struct ForgedTokenTests {
    @Test(arguments: SigningKey.Algorithm.allCases)
    func `a token with any single bit changed is invalid`(_ algorithm: SigningKey.Algorithm) throws {
        let scene = try TokenScene(algorithm)
        let parts = try scene.token.split(separator: ".").map { try #require(Base64URL.decode($0)) }
        var accepted: [String] = []
        for part in parts.indices {
            for index in parts[part].indices {
                for bit in 0..<8 {
                    var changed = parts
                    changed[part][index] ^= 1 << UInt8(bit)
                    let token = changed.map { Base64URL.encode($0) }.joined(separator: ".")
                    if scene.rejection(of: token) != .invalid {
                        accepted.append("part \(part) byte \(index) bit \(bit)")
                    }
                }
            }
        }
        #expect(accepted == [])
        #expect(scene.rejection(of: scene.token) == nil)
        #expect(throws: Never.self) { try scene.elsewhere().verifyIDToken(scene.token, at: TokenScene.now) }
    }

    @Test func `a token with any character changed, added or removed is invalid`() throws {
        let scene = try TokenScene()
        #expect(scene.rejection(of: scene.token) == nil, "cached as valid")
        var accepted: [Int] = []
        for (position, index) in scene.token.indices.enumerated() {
            var shortened = scene.token
            shortened.remove(at: index)
            var lengthened = scene.token
            lengthened.insert("A", at: index)
            for token in [scene.token.replacingCharacters(at: index), shortened, lengthened]
            where token != scene.token && scene.rejection(of: token) != .invalid {
                accepted.append(position)
            }
        }
        #expect(accepted == [])
        for suffix in ["=", ".", " ", "\n", ".A", "A"] {
            #expect(scene.rejection(of: scene.token + suffix) == .invalid, "\(suffix.debugDescription)")
        }
    }

    @Test(
        arguments: [
            "", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "e30.e30.e30", "🙂.🙂.🙂", "\u{0}.\u{0}.\u{0}",
            String(repeating: "A", count: 100_000), String(repeating: ".", count: 10_000),
        ]
    )
    func `a text that is not a token is invalid`(_ text: String) throws {
        #expect(try TokenScene().rejection(of: text) == .invalid)
    }

    @Test func `an unsigned token is invalid for every spelling of the algorithm none`() throws {
        let scene = try TokenScene()
        let payload = scene.token.split(separator: ".")[1]
        for algorithm in ["none", "None", "NONE", "nOnE", ""] {
            for header in [
                #"{"alg":"\#(algorithm)","typ":"JWT"}"#, #"{"alg":"\#(algorithm)","kid":"key-1","typ":"JWT"}"#,
            ] {
                let unsigned = "\(Base64URL.encode(header.utf8)).\(payload)."
                #expect(scene.rejection(of: unsigned) == .invalid)
                let signature = scene.token.split(separator: ".")[2]
                #expect(scene.rejection(of: unsigned + signature) == .invalid)
            }
        }
    }

    @Test func `a token signed by HMAC with the public key is invalid`() async throws {
        for algorithm in SigningKey.Algorithm.allCases {
            let scene = try TokenScene(algorithm)
            let payload = try claims(scene.token)
            let jwk = try scene.key.publicJWK()
            var secrets = [Array(scene.key.certificatePEM.utf8), scene.key.certificate, Array(jwk.text.utf8)]
            secrets += ["x", "y", "n"].compactMap { jwk[$0]?.string }.map { Array($0.utf8) }
            for secret in secrets {
                let keys = JWTKeyCollection()
                await keys.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: "key-1")
                let forged = try await keys.sign(AnyClaims(claims: payload), kid: "key-1")
                #expect(scene.rejection(of: forged) == .invalid)
            }
        }
    }

    @Test func `a token of a foreign key is invalid, under its own key id and under ours`() throws {
        let scene = try TokenScene()
        #expect(try scene.rejection(of: TokenScene(keyID: "key-2").token) == .invalid)
        #expect(try scene.rejection(of: TokenScene(keyID: "key-1").token) == .invalid)
        #expect(try scene.rejection(of: TokenScene(.rs256, keyID: "key-1").token) == .invalid)
    }

    @Test func `a token combined from the parts of two valid tokens is invalid`() throws {
        let scene = try TokenScene()
        let other = try scene.authority.mintIDToken(
            for: scene.user,
            session: scene.session,
            at: TokenScene.now.adding(seconds: 60)
        )
        let first = scene.token.split(separator: ".")
        let second = other.split(separator: ".")
        #expect(scene.rejection(of: "\(first[0]).\(second[1]).\(first[2])") == .invalid)
        #expect(scene.rejection(of: "\(first[0]).\(first[1]).\(second[2])") == .invalid)
    }

    @Test func `a token of another project under the same key is invalid`() throws {
        let scene = try TokenScene()
        let other = TokenAuthority(
            projectID: "demo-other",
            keys: TokenAuthority.KeySet(signing: scene.key, published: [scene.key])
        )
        let token = try other.mintIDToken(for: scene.user, session: scene.session, at: TokenScene.now)
        #expect(scene.rejection(of: token) == .invalid)
        #expect(throws: TokenAuthority.Rejection.invalid) { try other.verifyIDToken(scene.token, at: TokenScene.now) }
    }

    @Test func `a signed payload without a required claim is invalid`() throws {
        let scene = try TokenScene()
        let good = try #require(try claims(scene.token).object)
        for name in ["iss", "aud", "sub", "iat", "exp", "auth_time", "firebase", "concord"] {
            var without = good
            without[name] = nil
            #expect(scene.rejection(of: try scene.key.sign(Array(JSONValue.object(without).text.utf8))) == .invalid)
            for wrong: JSONValue in [.null, true, 1, "x", [:], []] where name != "iat" || wrong != 1 {
                if ["exp", "auth_time"].contains(name), wrong == 1 { continue }
                without[name] = wrong
                let token = try scene.key.sign(Array(JSONValue.object(without).text.utf8))
                // A subject may be any text.
                let expected: TokenAuthority.Rejection? = name == "sub" && wrong == "x" ? nil : .invalid
                #expect(scene.rejection(of: token) == expected, "\(name): \(wrong.text)")
            }
        }
    }
}

/// A payload of arbitrary claims.
private struct AnyClaims: JWTPayload {
    let claims: JSONValue

    init(claims: JSONValue) { self.claims = claims }

    init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "only ever signed"))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in claims.object ?? [:] {
            switch value {
            case .string(let text): try container.encode(text, forKey: Name(name))
            case .integer(let number): try container.encode(number, forKey: Name(name))
            case .bool(let flag): try container.encode(flag, forKey: Name(name))
            case .object: try container.encode(AnyClaims(claims: value), forKey: Name(name))
            case .array(let elements): try container.encode(elements.compactMap(\.string), forKey: Name(name))
            case .null, .double: try container.encodeNil(forKey: Name(name))
            }
        }
    }

    func verify(using algorithm: some JWTAlgorithm) async throws {}

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}
