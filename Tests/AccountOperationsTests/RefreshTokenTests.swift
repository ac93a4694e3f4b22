import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

@Suite(.service)
struct RefreshTokenTests {
    @Test func `a refresh token with any byte changed is refused`() async throws {
        let service = try TestService.shared
        let token = try await service.signUp(service.newAddress()).value.tokens.refreshToken
        let bytes = try #require(Base64URL.decode(token))
        let denials = try await withThrowingTaskGroup { group in
            for index in bytes.indices {
                for change: UInt8 in [0x01, 0x80] {
                    group.addTask {
                        var changed = bytes
                        changed[index] ^= change
                        return try await service.refresh(Base64URL.encode(changed)).denial
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(denials.count == bytes.count * 2)
        for denial in denials {
            // `userNotFound` is the answer to an unknown user id, as in the token of a deleted user.
            #expect(
                [.invalidRefreshToken, .refusal(.tokenExpired), .refusal(.userNotFound)].contains(denial),
                "\(String(describing: denial))"
            )
        }
        _ = try await service.refresh(token).value
    }

    @Test func `a refresh token with any character changed is refused`() async throws {
        let service = try TestService.shared
        let token = try await service.signUpAnonymously().tokens.refreshToken
        for index in token.indices {
            let changed = token.replacingCharacters(at: index)
            #expect(
                try await service.refresh(changed).denial != nil,
                "\(token.distance(from: token.startIndex, to: index))"
            )
        }
    }

    @Test func `the secret of one session is refused for another`() async throws {
        let service = try TestService.shared
        let mine = try #require(RefreshToken(try await service.signUpAnonymously().tokens.refreshToken))
        let theirs = try #require(RefreshToken(try await service.signUpAnonymously().tokens.refreshToken))
        var forged = theirs
        forged.secret = mine.secret
        #expect(try await service.refresh(forged.encoded).denial == .invalidRefreshToken)
        forged = mine
        forged.user = theirs.user
        #expect(try await service.refresh(forged.encoded).denial == .refusal(.tokenExpired))
        forged = mine
        forged.tenant = TenantID("elsewhere")
        #expect(try await service.refresh(forged.encoded).denial == .refusal(.userNotFound))
    }

    @Test(arguments: ["", " ", "nonsense", "AQ", "AQA", "AQAA", "AQAAAA", "====", "AQAAAQ", "/////", "\u{0}", "🙂"])
    func `a text that is not a token is refused without a database query`(_ text: String) async throws {
        #expect(RefreshToken(text) == nil)
        #expect(try await TestService.shared.refresh(text).denial == .invalidRefreshToken)
    }

    @Test func `a very long text is not decoded`() async throws {
        #expect(RefreshToken(String(repeating: "A", count: 100_000)) == nil)
    }

    @Test func `a token survives encoding and decoding, for every length of ids`() throws {
        for tenant in ["", "t", String(repeating: "t", count: 128)] {
            for user in ["u", String(repeating: "é", count: 128)] {
                let token = RefreshToken(
                    tenant: TenantID(tenant),
                    user: try #require(UserID(user)),
                    session: Array(0..<16),
                    secret: Array(0..<32)
                )
                let read = try #require(RefreshToken(token.encoded))
                #expect(read.tenant == token.tenant && read.user == token.user)
                #expect(read.session == token.session && read.secret == token.secret)
            }
        }
    }

    @Test func `the secret is stored only as a hash`() async throws {
        let service = try TestService.shared
        let token = try #require(RefreshToken(try await service.signUpAnonymously().tokens.refreshToken))
        let stored = try await service.operations.store.session(token.session, of: token.user, tenant: .project)
        #expect(stored.session?.secretHash.count == 32)
        #expect(stored.session?.secretHash != token.secret)
    }
}

extension String {
    /// The text with another base64url character at `index`.
    func replacingCharacters(at index: Index) -> String {
        var changed = self
        changed.replaceSubrange(index...index, with: self[index] == "A" ? "B" : "A")
        return changed
    }
}
