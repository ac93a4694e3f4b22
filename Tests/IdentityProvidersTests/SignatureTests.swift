import AccountLinking
import AccountTestSupport
import Crypto
import CryptoExtras
import FoundationEssentials
import IdentityProviders
import JSON
import Testing

/// Tokens with a wrong signature, algorithm or key are refused.
struct SignatureTests {
    @Test(arguments: ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"])
    func `every allowed algorithm verifies, and refuses another key of its type`(algorithm: String) async throws {
        let scene = try Scene(Scene.openIDConnect, key: try .key("key-1", for: algorithm))
        #expect(try await scene.verify(try scene.token()).verified != nil)
        let impostor = try ProviderKey.key("key-1", for: algorithm)
        #expect(try await scene.verify(try impostor.token(scene.claims())) == .invalid(.badSignature))
    }

    @Test(arguments: ["RS256", "ES256"])
    func `a token with one flipped bit is refused`(algorithm: String) async throws {
        let scene = try Scene(Scene.openIDConnect, key: try .key("key-1", for: algorithm))
        let parts = try scene.token().split(separator: ".").map { String($0) }
        for part in parts.indices {
            let bytes = try #require(Base64URL.decode(parts[part]))
            for index in bytes.indices {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(index % 8)
                var changed = parts
                changed[part] = Base64URL.encode(flipped)
                let result = try await scene.verify(changed.joined(separator: "."))
                #expect(result.verified == nil, "part \(part), byte \(index)")
            }
        }
    }

    @Test
    func `a changed last character that decodes to the same bytes is refused`() async throws {
        let scene = try Scene(.google)
        let token = try scene.token()
        // Only 2 bits of the last character of 256 encoded bytes are significant.
        #expect(token.hasSuffix("A") || token.hasSuffix("Q") || token.hasSuffix("g") || token.hasSuffix("w"))
        for character in "BRhx" {
            #expect(try await scene.verify(token.dropLast() + String(character)) == .invalid(.malformed))
        }
    }

    @Test(arguments: Scene.verified)
    func `unsigned tokens are refused in every spelling of the algorithm`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        for algorithm in ["none", "None", "NONE", "nOnE", ""] {
            let token = CompactToken.unsigned(scene.claims(), algorithm: .string(algorithm))
            #expect(try await scene.verify(token) == .invalid(.algorithmNotAllowed))
            #expect(try await scene.verify(token + "AAAA") == .invalid(.algorithmNotAllowed))
        }
        #expect(scene.stub.requests == 0)
    }

    @Test(arguments: Scene.verified)
    func `a token signed with the public key as a shared secret is refused`(provider: ProviderID) async throws {
        let scene = try Scene(provider)
        guard case .rsa(let key) = scene.key.material else { return }
        let secrets: [[UInt8]] = [
            Array(key.publicKey.pemRepresentation.utf8), Array(key.publicKey.pkcs1PEMRepresentation.utf8),
            Array(key.publicKey.derRepresentation), Array(try key.publicKey.getKeyPrimitives().modulus),
        ]
        for secret in secrets {
            let header: JSONValue = ["alg": "HS256", "kid": "key-1"]
            let input = CompactToken.signingInput(header: header, claims: .object(scene.claims()))
            let code = HMAC<SHA256>.authenticationCode(for: Array(input.utf8), using: SymmetricKey(data: secret))
            let token = input + "." + Base64URL.encode(code)
            #expect(try await scene.verify(token) == .invalid(.algorithmNotAllowed))
        }
    }

    @Test
    func `a key verifies only the algorithm that it declares`() async throws {
        // The RSA key is published for RS256, so it must not verify a PS256 or RS512 signature.
        let scene = try Scene(Scene.openIDConnect)
        for algorithm in ["PS256", "RS512"] {
            var key = scene.key
            key.algorithm = algorithm
            #expect(try await scene.verify(try key.token(scene.claims())) == .invalid(.unknownKey))
        }
    }

    @Test
    func `a key without an algorithm verifies only algorithms of its family`() async throws {
        let scene = try Scene(Scene.openIDConnect, key: .p256("key-1"))
        var jwk = try scene.key.jwk()
        jwk["alg"] = nil
        scene.stub.publish(["keys": [.object(jwk)]], at: scene.keySetURL)
        #expect(try await scene.verify(try scene.token()).verified != nil)
        #expect(try await scene.verify(try SharedKeys.rsa().token(scene.claims())) == .invalid(.unknownKey))
        let header: [String: JSONValue] = ["alg": "ES384"]
        #expect(try await scene.verify(try scene.token(header: header)) == .invalid(.unknownKey))
    }

    @Test
    func `an algorithm the issuer does not announce is refused`() async throws {
        let scene = try Scene(Scene.openIDConnect, key: .p256("key-1"))
        scene.publishDiscovery(["id_token_signing_alg_values_supported": ["RS256"]])
        #expect(try await scene.verify(try scene.token()) == .invalid(.algorithmNotAllowed))
    }

    @Test
    func `an issuer that announces no algorithm signs with RS256`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        scene.publishDiscovery(["id_token_signing_alg_values_supported": .null])
        #expect(try await scene.verify(try scene.token()).verified != nil)
    }

    @Test(arguments: [ProviderID.google, .apple, .facebook])
    func `well-known providers sign with RS256 only`(provider: ProviderID) async throws {
        let scene = try Scene(provider, key: .p256("key-1"))
        #expect(try await scene.verify(try scene.token()) == .invalid(.algorithmNotAllowed))
    }

    @Test
    func `keys in the header of a token are ignored`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        var impostor = ProviderKey.p256("key-9")
        impostor.id = "key-9"
        let header: [String: JSONValue] = [
            "jwk": .object(try impostor.jwk()), "jku": "https://evil.example/keys", "x5u": "https://evil.example/x5u",
        ]
        #expect(try await scene.verify(try impostor.token(scene.claims(), header: header)) == .invalid(.unknownKey))
        #expect(scene.stub.requests(for: "https://evil.example/keys") == 0)
    }

    @Test
    func `a token without a key id needs a key set with one suitable key`() async throws {
        let scene = try Scene(Scene.openIDConnect)
        let token = try scene.token(header: ["kid": .null])
        var key = scene.key
        key.id = nil
        let anonymous = try key.token(scene.claims())
        #expect(try await scene.verify(token) == .invalid(.malformed))
        #expect(try await scene.verify(anonymous).verified != nil)
        let crowded = try Scene(Scene.openIDConnect)
        try crowded.stub.publish([SharedKeys.rsa(), SharedKeys.otherRSA()], at: crowded.keySetURL)
        #expect(try await crowded.verify(anonymous) == .invalid(.unknownKey))
    }

    @Test
    func `keys for encryption, weak keys and shared secrets are unusable`() async throws {
        let good = try SharedKeys.rsa().jwk()
        let weak = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1024)).publicKey.getKeyPrimitives()
        let useless: [[String: JSONValue]] = [
            good.merging(["use": "enc"]) { $1 },
            good.merging(["key_ops": ["sign"]]) { $1 },
            good.merging(["alg": "RSA-OAEP"]) { $1 },
            good.merging(["alg": "HS256"]) { $1 },
            good.merging(["n": .string(Base64URL.encode(weak.modulus))]) { $1 },
            good.merging(["n": "AQAB"]) { $1 },
            good.merging(["n": .null]) { $1 },
            good.merging(["kty": "EC"]) { $1 },
            ["kty": "oct", "k": "c2VjcmV0", "kid": "key-1", "alg": "HS256"],
            ["kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB", "kid": "key-1"],
            ["kty": "EC", "crv": "secp256k1", "x": "AQAB", "y": "AQAB", "kid": "key-1"],
        ]
        for jwk in useless {
            let scene = try Scene(Scene.openIDConnect)
            scene.stub.publish(["keys": [.object(jwk)]], at: scene.keySetURL)
            await #expect(throws: ProviderUnavailable.noUsableKeys, "\(JSONValue.object(jwk).text)") {
                try await scene.verify(try scene.token())
            }
        }
    }
}
