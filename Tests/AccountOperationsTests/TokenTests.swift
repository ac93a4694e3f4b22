import AccountLinking
import AccountStore
import AccountTestSupport
import Foundation
import JSON
import JWTKit
import SwiftASN1
import Testing
import X509

@testable import AccountOperations

/// A signing key, its authority and one of its tokens. No database.
struct TokenScene {
    let key: SigningKey
    let authority: TokenAuthority
    let user: UserRecord
    let session: SessionRecord
    let token: String

    static let now = Timestamp(microsecondsSinceEpoch: 1_750_000_000_250_000)

    init(_ algorithm: SigningKey.Algorithm = .es256, projectID: String = "demo-test", keyID: String = "key-1") throws {
        key = try Self.key(algorithm, id: keyID)
        authority = TokenAuthority(
            projectID: projectID,
            keys: TokenAuthority.KeySet(signing: key, published: [key])
        )
        var user = UserRecord(
            tenant: .project,
            id: try #require(UserID("user-1")),
            sessionEpoch: 77,
            createdAt: Self.now
        )
        user.email = AccountEmail(address: try #require(EmailAddress("Ann@example.com")), proof: .emailCode)
        user.phoneNumber = PhoneNumber("+16505553434")
        user.profile.displayName = "Ann \"the\" Tester\n"
        let identity = try #require(ProviderIdentity(provider: .google, subject: "g-1"))
        user.linkedProviders[.google] = UserRecord.LinkedProvider(
            identity: identity,
            issuer: nil,
            email: nil,
            displayName: nil,
            photoURL: nil,
            screenName: nil,
            linkedAt: Self.now,
            updatedAt: Self.now
        )
        session = SessionRecord(
            tenant: .project,
            user: user.id,
            id: Array(repeating: 1, count: 16),
            secretHash: Array(repeating: 2, count: 32),
            epoch: 77,
            authTime: Self.now,
            signInProvider: "google.com",
            secondFactor: SessionRecord.SecondFactor(kind: "phone", enrollmentID: "enrolment-1"),
            claims: ["level": 3]
        )
        self.user = user
        token = try authority.mintIDToken(for: user, session: session, at: Self.now)
    }

    static func key(_ algorithm: SigningKey.Algorithm, id: String) throws -> SigningKey {
        let start = Date(timeIntervalSince1970: Double(now.secondsSinceEpoch))
        return try SigningKey.generate(
            id: id,
            algorithm: algorithm,
            commonName: "id-token.demo-test",
            validity: start..<start.addingTimeInterval(86_400)
        )
    }

    func rejection(of token: String, at now: Timestamp = TokenScene.now) -> TokenAuthority.Rejection? {
        authority.rejection(of: token, at: now)
    }

    /// Another server with the same key and an empty cache.
    func elsewhere() -> TokenAuthority {
        TokenAuthority(projectID: "demo-test", keys: TokenAuthority.KeySet(signing: key, published: [key]))
    }
}

extension TokenAuthority {
    func rejection(of token: String, at now: Timestamp = TokenScene.now) -> Rejection? {
        do {
            _ = try verifyIDToken(token, at: now)
            return nil
        } catch {
            return error
        }
    }
}

/// The claims as a third party's library reads them.
private struct ForeignClaims: JWTPayload {
    struct Firebase: Codable {
        var identities: [String: [String]]
        var signInProvider: String
        var signInSecondFactor: String?
        var secondFactorIdentifier: String?

        enum CodingKeys: String, CodingKey {
            case identities
            case signInProvider = "sign_in_provider"
            case signInSecondFactor = "sign_in_second_factor"
            case secondFactorIdentifier = "second_factor_identifier"
        }
    }

    enum CodingKeys: String, CodingKey {
        case iss, aud, sub, iat, exp, name, email, level, firebase
        case authTime = "auth_time"
        case isEmailVerified = "email_verified"
    }

    var iss: IssuerClaim
    var aud: AudienceClaim
    var sub: SubjectClaim
    var iat: IssuedAtClaim
    var exp: ExpirationClaim
    var authTime: Int
    var name: String
    var email: String
    var isEmailVerified: Bool
    var level: Int
    var firebase: Firebase

    func verify(using algorithm: some JWTAlgorithm) async throws {
        try aud.verifyIntendedAudience(includes: "demo-test")
    }
}

struct TokenTests {
    @Test(arguments: SigningKey.Algorithm.allCases)
    func `another library verifies a token with the JSON Web Key Set`(_ algorithm: SigningKey.Algorithm) async throws {
        let scene = try TokenScene(algorithm)
        let keys = try await JWTKeyCollection()
            .add(jwksJSON: String(decoding: scene.authority.jsonWebKeySet(), as: UTF8.self))
        let claims = try await keys.verify(scene.token, as: ForeignClaims.self)
        #expect(claims.iss.value == "https://securetoken.google.com/demo-test")
        #expect(claims.aud.value == ["demo-test"])
        #expect(claims.sub.value == "user-1")
        #expect(claims.iat.value == Date(timeIntervalSince1970: 1_750_000_000))
        #expect(claims.exp.value == Date(timeIntervalSince1970: 1_750_003_600))
        #expect(claims.authTime == 1_750_000_000)
        #expect(claims.name == "Ann \"the\" Tester\n")
        #expect(claims.email == "ann@example.com" && claims.isEmailVerified)
        #expect(claims.level == 3)
        #expect(
            claims.firebase.identities == [
                "email": ["ann@example.com"], "phone": ["+16505553434"], "google.com": ["g-1"],
            ]
        )
        #expect(claims.firebase.signInProvider == "google.com")
        #expect(claims.firebase.signInSecondFactor == "phone")
        #expect(claims.firebase.secondFactorIdentifier == "enrolment-1")
    }

    @Test(arguments: SigningKey.Algorithm.allCases)
    func `another library verifies a token with the certificate under its key id`(
        _ algorithm: SigningKey.Algorithm
    ) async throws {
        let scene = try TokenScene(algorithm)
        let published = try #require(try JSONValue(parsing: scene.authority.certificates()).object)
        #expect(Set(published.keys) == ["key-1"])
        let pem = try #require(published["key-1"]?.string)
        #expect(pem.hasPrefix("-----BEGIN CERTIFICATE-----\n") && pem.hasSuffix("-----END CERTIFICATE-----\n"))
        let certificate = try Certificate(pemEncoded: pem)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
        #expect(certificate.notValidBefore <= Date(timeIntervalSince1970: 1_750_000_000))
        #expect(certificate.notValidAfter > Date(timeIntervalSince1970: 1_750_003_600))

        let keys = JWTKeyCollection()
        switch algorithm {
        case .es256: await keys.add(ecdsa: try ES256PublicKey(certificate: pem), kid: "key-1")
        case .rs256:
            let key = try Insecure.RSA.PublicKey(certificatePEM: pem)
            await keys.add(rsa: key, digestAlgorithm: .sha256, kid: "key-1")
        }
        _ = try await keys.verify(scene.token, as: ForeignClaims.self)
    }

    @Test func `a header has exactly algorithm, key id and type`() throws {
        let scene = try TokenScene()
        let header = try #require(Base64URL.decode(scene.token.prefix { $0 != "." }))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","kid":"key-1","typ":"JWT"}"#)
    }

    @Test func `a token survives minting and verification`() throws {
        let scene = try TokenScene()
        let token = try scene.elsewhere().verifyIDToken(scene.token, at: TokenScene.now)
        #expect(token.user == scene.user.id && token.tenant == .project && token.sessionEpoch == 77)
        #expect(token.authTime == Timestamp(secondsSinceEpoch: 1_750_000_000))
        #expect(token.issuedAt == token.authTime)
        #expect(token.expiresAt == Timestamp(secondsSinceEpoch: 1_750_003_600))
        #expect(token.signInProvider == "google.com")
        #expect(token.secondFactor == scene.session.secondFactor)
    }

    @Test(arguments: ["password", "google.com", "anonymous", "custom", "phone"], [false, true])
    func `the minting server's cache equals a verification elsewhere`(
        _ signInProvider: String,
        _ hasFactor: Bool
    ) throws {
        let scene = try TokenScene()
        var session = scene.session
        session.signInProvider = signInProvider
        if !hasFactor { session.secondFactor = nil }
        session.authTime = Timestamp(microsecondsSinceEpoch: 1_749_990_000_999_999)
        let token = try scene.authority.mintIDToken(for: scene.user, session: session, at: TokenScene.now)
        let remembered = try scene.authority.verifyIDToken(token, at: TokenScene.now)
        #expect(remembered == (try scene.elsewhere().verifyIDToken(token, at: TokenScene.now)))
    }

    @Test func `the longest possible token can be verified`() throws {
        let scene = try TokenScene()
        var user = scene.user
        let text = String(repeating: "\u{10FFFF}", count: 990)
        user.customAttributes = JSONValue.object(["a": .string(text)]).text
        user.profile.displayName = String(text.prefix(256))
        user.profile.photoURL = String(repeating: "\u{10FFFF}", count: 2048)
        var session = scene.session
        session.claims = ["b": .string(text)]
        session.signInAttributes = ["c": .string(String(repeating: "c", count: 12_288))]
        let token = try scene.authority.mintIDToken(for: user, session: session, at: TokenScene.now)
        #expect(token.utf8.count > 40_000)
        #expect(throws: Never.self) { try scene.elsewhere().verifyIDToken(token, at: TokenScene.now) }
    }

    @Test func `a token of an unpublished key is not cached`() throws {
        let scene = try TokenScene()
        let taken = try TokenScene.key(.es256, id: "key-2")
        let authority = TokenAuthority(
            projectID: "demo-test",
            keys: TokenAuthority.KeySet(signing: taken, published: [scene.key])
        )
        let token = try authority.mintIDToken(for: scene.user, session: scene.session, at: TokenScene.now)
        #expect(authority.rejection(of: token) == .invalid)
    }

    @Test func `claims of the session and the account never have a reserved name`() throws {
        let scene = try TokenScene()
        var user = scene.user
        user.customAttributes = #"{"sub":"x","iss":"x","user_id":"x","phone_number":"x","concord":{"epoch":0},"a":1}"#
        var session = scene.session
        session.claims = ["aud": "x", "exp": 1, "firebase": [:], "email_verified": false, "a": 2, "b": ["deep": 1]]
        let token = try scene.authority.mintIDToken(for: user, session: session, at: TokenScene.now)
        let claims = try claims(token)
        #expect(claims["sub"] == "user-1" && claims["user_id"] == "user-1" && claims["aud"] == "demo-test")
        #expect(claims["phone_number"] == "+16505553434" && claims["email_verified"] == true)
        #expect(claims["a"] == 2 && claims["b"] == ["deep": 1])
        #expect(try scene.elsewhere().verifyIDToken(token, at: TokenScene.now).sessionEpoch == 77)
    }

    @Test func `a token is expired after an hour, even if its signature is cached`() throws {
        let scene = try TokenScene()
        let expiry = Timestamp(secondsSinceEpoch: 1_750_003_600)
        #expect(scene.rejection(of: scene.token) == nil)
        #expect(scene.rejection(of: scene.token, at: Timestamp(microsecondsSinceEpoch: 1_750_003_599_999_999)) == nil)
        guard case .expired(let token) = scene.rejection(of: scene.token, at: expiry) else {
            Issue.record("not expired")
            return
        }
        #expect(token.user == scene.user.id)
    }

    @Test func `a token is refused once its key is not published any more`() throws {
        let scene = try TokenScene()
        #expect(scene.rejection(of: scene.token) == nil)
        let next = try TokenScene.key(.es256, id: "key-2")
        scene.authority.replaceKeys(TokenAuthority.KeySet(signing: next, published: [scene.key, next]))
        #expect(scene.rejection(of: scene.token) == nil)
        scene.authority.replaceKeys(TokenAuthority.KeySet(signing: next, published: [next]))
        #expect(scene.rejection(of: scene.token) == .invalid)
    }

    @Test(arguments: SigningKey.Algorithm.allCases)
    func `a stored key is restored unchanged`(_ algorithm: SigningKey.Algorithm) throws {
        let scene = try TokenScene(algorithm)
        let read = try #require(
            SigningKey(
                id: "key-1",
                algorithm: algorithm,
                privateKeyBytes: scene.key.privateKeyBytes,
                certificate: scene.key.certificate
            )
        )
        let elsewhere = scene.elsewhere()
        elsewhere.replaceKeys(TokenAuthority.KeySet(signing: read, published: [read]))
        #expect(elsewhere.rejection(of: scene.token) == nil)
        #expect(SigningKey(id: "k", algorithm: algorithm, privateKeyBytes: [1, 2, 3], certificate: []) == nil)
    }
}
