import AccountLinking
import AccountTestSupport
import JSON
import Testing

@testable import IdentityProviders

/// The part of a token that distinguishes it from others.
struct IDTokenDigestTests {
    private static func digest(_ idToken: String) -> [UInt8]? { ProviderTokens(idToken: idToken).idTokenDigest }

    @Test func `tokens that differ only in their signature have the same digest`() throws {
        let token = try Scene(.google).token()
        let parts = token.split(separator: ".").map(String.init)
        let digest = try #require(Self.digest(token))
        #expect(digest.count == 32)
        for signature in ["", "AA", parts[2] + "="] {
            let rewritten = [parts[0], parts[1], signature].joined(separator: ".")
            #expect(Self.digest(rewritten) == digest)
        }
        let other = try Scene(.google).token(["jti": "2"])
        #expect(Self.digest(other) != digest)
    }

    @Test func `different unsigned tokens have different digests`() {
        let first = Self.digest(#"{"email":"a@example.com","sub":"1"}"#)
        let second = Self.digest(#"{"email":"a@example.com","sub":"2"}"#)
        #expect(first != second)
        let none = ProviderTokens(accessToken: "x").idTokenDigest
        #expect(none == nil)
    }
}
