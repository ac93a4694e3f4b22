import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// Every algorithm against its published vectors and against invalid text.
struct PasswordHashTests {
    /// A stored hash with its password.
    struct Vector: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        var password = "password"

        var testDescription: String { name }
    }

    static let key = HashKeyID("00112233445566ff")
    private static let signerKey =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

    static let vectors = [
        Vector(
            name: "Firebase's scrypt, as published",
            text: "$firebase-scrypt$ln=14,r=8,k=00112233445566ff$TmFDbA$"
                + "V358E8LdWJXAO7muq0CufVpEOXaj8aFiC7T/rcaGieN04q/ZPJ08WhJEHGjj9lz/2TT+/86N5VjVoc5DdBhBiw"
        ),
        Vector(
            name: "STANDARD_SCRYPT of the Admin SDK",
            text: "$scrypt$ln=10,r=8,p=16$TmFDbA$"
                + "/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA"
        ),
        Vector(
            name: "scrypt, RFC 7914 section 12, empty password and salt",
            text: "$scrypt$ln=4,r=1,p=1$$"
                + "d9ZXYjhleyA7GcpCwYoEl/FrSETjB0ro39/6P+3iFEL80Aad7QlI+DJqdToPyB8X6NPg+y4NNijPNeIMONGJBg",
            password: ""
        ),
        Vector(
            name: "PBKDF2_SHA256 of the Admin SDK",
            text: "$pbkdf2-sha256$i=100000$TmFDbA$"
                + "5VnqZoKMOie1mhCQGRw7u1FV5Kv8Yb8uxEArtVAl0vSlwAQqXe8VxejCRe5enxUyNN4OWQ60PGRIVPZzEvcQtw"
        ),
        Vector(
            name: "PBKDF2 with SHA-1, RFC 6070",
            text: "$pbkdf2-sha1$i=4096$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE"
        ),
        Vector(
            name: "bcrypt of version 2a, as published by Openwall",
            text: "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
            password: "U*U"
        ),
        Vector(
            name: "bcrypt of version 2b",
            text: "$2b$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK"
        ),
        Vector(
            name: "bcrypt of version 2y",
            text: "$2y$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK"
        ),
        Vector(name: "MD5", text: "$md5$i=1,o=sp$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q"),
        Vector(name: "SHA-1", text: "$sha1$i=1,o=sp$TmFDbA$4ynUBUr/OQVsCQQZk/6FmoYdJy8"),
        Vector(
            name: "SHA256 of the Admin SDK",
            text: "$sha256$i=1,o=sp$TmFDbA$sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM"
        ),
        Vector(
            name: "SHA-256 three times, password first",
            text: "$sha256$i=3,o=ps$TmFDbA$29AoRmDJ5NwHmJx4Y2qu3SnRCLxiQC5/bkB187c0Fpw"
        ),
        Vector(
            name: "SHA-512",
            text: "$sha512$i=1,o=sp$TmFDbA$"
                + "2p0svfOgDTflOF7HK5wbHP+05l4lkdV8P+FFq+p6aHPQS7uBGa9TyGc8DfxZsfkcaV2Mfod35WxAzaj5yBEKYw"
        ),
        Vector(
            name: "Argon2id of libargon2's own tests",
            text: "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        ),
        Vector(
            name: "Argon2i of the first version",
            text: "$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"
        ),
    ]

    private func hashKey(_ key: String, separator: [UInt8] = [7]) throws -> HashKey {
        HashKey(
            id: try #require(Self.key),
            key: try #require(Base64URL.decodeEitherAlphabet(key)),
            saltSeparator: separator
        )
    }

    @Test(arguments: vectors)
    func `the published password matches and no other does`(vector: Vector) throws {
        let hash = try #require(PasswordHash(vector.text))
        let key = try hashKey(Self.signerKey)
        #expect(try hash.matches(Array(vector.password.utf8), key: key))
        for other in ["passwore", "Password", vector.password + " ", "p"] {
            #expect(try !hash.matches(Array(other.utf8), key: key))
        }
    }

    @Test(arguments: vectors)
    func `a hash survives parsing and writing`(vector: Vector) throws {
        #expect(try #require(PasswordHash(vector.text)).text == vector.text)
    }

    @Test(
        arguments: [
            ("md5", "4tZGVrzeu9LZ9eWZ03FrLg"), ("sha1", "tSjltw8SZxad1AY6k8wDYCwUeyI"),
            ("sha256", "C5WKh+Qa5RkMlq+h5DX5XKsBOsQt/DEKEaUBAMQqrlI"),
            ("sha512", "yoFsygT+IMma1lMv+IqBvfHM1DCminat6m9ku6Re5nl8QSy9Z3BwPG9FnejSRcu99tK4xSVVkY6I9euOf8nmQA"),
        ]
    )
    func `an HMAC covers password and salt under the shared key`(function: String, hash: String) throws {
        let stored = try #require(PasswordHash("$hmac-\(function)$k=00112233445566ff,o=ps$TmFDbA$\(hash)"))
        let secret = try hashKey(Base64URL.encode("secret".utf8))
        #expect(try stored.matches(Array("password".utf8), key: secret))
        #expect(try !stored.matches(Array("passwordN".utf8), key: secret))
        #expect(try !stored.matches(Array("password".utf8), key: try hashKey(Base64URL.encode("another".utf8))))
    }

    @Test func `another key or separator matches nothing`() throws {
        let hash = try #require(PasswordHash(Self.vectors[0].text))
        let password = Array("password".utf8)
        #expect(try !hash.matches(password, key: hashKey(Self.signerKey, separator: [])))
        #expect(try !hash.matches(password, key: hashKey(Base64URL.encode([UInt8](repeating: 3, count: 64)))))
        #expect(throws: PasswordHasher.MissingKey.self) { try hash.matches(password, key: nil) }
    }

    @Test(
        arguments: [
            "", "$", "plain", "$argon2id$", "$2b$31$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK",
            "$2x$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK", "$2b$10$abc",
            "$2b$10$abcdefghijklmnopqrstu:5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK",
            "$argon2id$v=19$m=1048576,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=18$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$t=2,m=256,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1$c29t$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$scrypt$ln=21,r=8,p=1$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$scrypt$ln=20,r=16,p=1$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$scrypt$ln=0,r=8,p=1$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q", "$scrypt$ln=-1,r=8,p=1$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$pbkdf2-sha256$i=120001$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q", "$pbkdf2-sha256$i=0$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$md5$i=8193,o=sp$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q", "$md5$i=1,o=xx$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$sha256$i=1,o=sp$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q", "$md5$i=1,o=sp$TmFDbA$",
            "$md5$i=1,o=sp$T$YtGffn3ctZRnKHdtJeQQ7Q",
            "$firebase-scrypt$ln=15,r=8,k=00112233445566ff$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$firebase-scrypt$ln=14,r=8,k=1$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
            "$hmac-md5$k=,o=ps$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q", "$crc32$i=1,o=sp$TmFDbA$YtGffn3ctZRnKHdtJeQQ7Q",
        ]
    )
    func `a text that cannot be checked within the cost limits is not a hash`(text: String) {
        #expect(PasswordHash(text) == nil)
    }

    @Test func `bcrypt uses the first 72 bytes of a longer password`() throws {
        let long = String(repeating: "x", count: 72)
        let hash = try #require(PasswordHash("$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i"))
        #expect(try hash.matches(Array(long.utf8), key: nil))
        #expect(try hash.matches(Array((long + String(repeating: "y", count: 900)).utf8), key: nil))
        #expect(try !hash.matches(Array(long.utf8.dropLast()), key: nil))
    }
}

/// A sign-in replaces an imported hash by a new one, under concurrency too.
struct RehashTests {
    /// `password`, by SHA-256 with the salt `NaCl`.
    private static let imported = "$sha256$i=1,o=sp$TmFDbA$sgq3SqJUn34ToOiGy0RxzC5w/NLOgHXA7mSDq7phMvM"

    private func hash(_ service: TestService, _ id: UserID) async throws -> String {
        let query: Query<String?> = "SELECT hash FROM password_credentials WHERE user_id = \(id.rawValue)"
        return try await service.database.rows(query).first.flatMap { $0 } ?? ""
    }

    private func setHash(_ service: TestService, _ id: UserID, _ hash: String) async throws {
        try await service.database.execute(
            "UPDATE password_credentials SET hash = '\(hash)' WHERE user_id = '\(id.rawValue)'"
        )
    }

    @Test func `a wrong password keeps the hash, and the correct one replaces it and signs in again`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let id = try await service.signUp(email).value.user.id
            try await setHash(service, id, Self.imported)
            let before = try #require(await service.user(id)).passwordUpdatedAt
            #expect(try await service.signIn(email, password: "passwore").denial != nil)
            #expect(try await hash(service, id) == Self.imported)
            service.clock.advance(seconds: 5)
            for _ in 0..<2 {
                #expect(try await service.signIn(email, password: "password").denial == nil)
                #expect(try await hash(service, id).hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            }
            #expect(try #require(await service.user(id)).passwordUpdatedAt == before, "the password is the same")
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `a disabled account keeps its hash`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let id = try await service.signUp(email).value.user.id
            try await setHash(service, id, Self.imported)
            try await service.edit(id) { $0.isDisabled = true }
            #expect(try await service.signIn(email, password: "password").denial != nil)
            #expect(try await hash(service, id) == Self.imported)
        }
    }

    @Test func `a hash with a shared key is checked with the key it names`() async throws {
        try await TestService.with { service in
            let email = service.newAddress()
            let id = try await service.signUp(email).value.user.id
            let operations = service.operations
            let keys = HashKeys(store: operations.store, sealer: operations.sealer, effects: operations.effects)
            let key = try await keys.id(of: Array("secret".utf8), saltSeparator: [])
            try await setHash(
                service,
                id,
                "$hmac-sha256$k=\(key.rawValue),o=ps$TmFDbA$C5WKh+Qa5RkMlq+h5DX5XKsBOsQt/DEKEaUBAMQqrlI"
            )
            #expect(try await service.signIn(email, password: "passwore").denial != nil)
            #expect(try await service.signIn(email, password: "password").denial == nil)
            #expect(try await hash(service, id).hasPrefix("$argon2id$"))
            let sealed: [Bytes] = try await service.database.rows("SELECT sealed_key FROM hash_keys" as Query<Bytes>)
            #expect(sealed.count == 1)
            #expect(sealed.allSatisfy { $0.firstRange(of: Array("secret".utf8)) == nil })
        }
    }

    @Test func `callers that store the same key at once get one id, and different keys get different ids`() async throws
    {
        try await TestService.withTwo { first, second in
            let names = try await first.race(with: second, count: 24) { service, caller in
                let operations = service.operations
                let keys = HashKeys(store: operations.store, sealer: operations.sealer, effects: operations.effects)
                return try await keys.id(of: Array("key \(caller % 3)".utf8), saltSeparator: [1])
            }
            #expect(Set(names).count == 3)
            #expect(try await first.database.count("SELECT count(*) FROM hash_keys") == 3)
        }
    }

    @Test func `when sign-ins race with a change of the password, the new password wins`() async throws {
        try await TestService.withTwo { first, second in
            let email = first.newAddress()
            let id = try await first.signUp(email).value.user.id
            try await setHash(first, id, Self.imported)
            _ = try await first.race(with: second, count: 32) { service, caller in
                if caller == 7 {
                    var update = AdminUpdateAccount()
                    update.password = "a newer password"
                    _ = try await outcome(await service.operations.updateAccount(update, of: id, tenant: .project))
                } else {
                    // Refused if the change was first.
                    _ = try await service.signIn(email, password: "password")
                }
            }
            #expect(try await first.signIn(email, password: "password").denial != nil)
            #expect(try await first.signIn(email, password: "a newer password").denial == nil)
            #expect(try await first.database.inconsistencies() == [])
        }
    }
}
