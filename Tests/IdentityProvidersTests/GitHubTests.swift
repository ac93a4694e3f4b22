import AccountLinking
import AccountTestSupport
import JSON
import NIOHTTP1
import Testing

@testable import IdentityProviders

/// GitHub over a real socket.
struct GitHubTests {
    private typealias Simulator = ProviderSimulator<SimulatedGitHub>

    private func scene(
        _ simulator: Simulator,
        client: String = SimulatedGitHub.client,
        secret: String? = SimulatedGitHub.secret,
        timeout: Duration = .seconds(120)
    ) -> ProviderScene {
        ProviderScene(simulator, .gitHub, clientID: client, secret: secret, timeout: timeout)
    }

    private func native(_ token: String) -> ProviderCredential {
        ProviderCredential(provider: .gitHub, accessToken: token)
    }

    // MARK: Success

    @Test func `the whole flow returns GitHub's profile, token and primary address`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            let begun = try await scene.begin(["allow_signup": "false"], scopes: ["repo", "user:email"])
            #expect(
                begun.address.contains("&scope=user%3Aemail%20repo&") && begun.address.hasSuffix("&allow_signup=false")
            )
            #expect(begun.flow.nonce == nil && begun.flow.codeVerifier != nil)

            let callback = try await simulator.visit(begun.address)
            let answer = scene.credential(callback, answering: begun.flow)
            let verified = try #require(try await scene.verify(answer).verified)
            let person = SimulatedPerson()
            #expect(verified.incoming.identity == ProviderIdentity(provider: .gitHub, subject: person.id))
            #expect(verified.incoming.issuer == nil && verified.federatedID == person.id)
            let address = try #require(EmailAddress("ada@example.com"))
            #expect(verified.incoming.email == .present(address, flag: .isTrue, hostedDomain: nil))
            #expect(
                verified.incoming.profile
                    == Profile(displayName: person.name, photoURL: person.picture, screenName: person.screenName)
            )
            let raw = try JSONValue(parsing: Array(verified.rawUserInfo.utf8))
            #expect(raw == SimulatedGitHub.profile(of: person))

            let token = try #require(verified.tokens.accessToken)
            #expect(verified.tokens == ProviderTokens(accessToken: token))
            // A code already proves that the token is the app's.
            #expect(simulator.requests(at: .tokenInfo).isEmpty)
            #expect(try await scene.verify(native(token)).verified?.incoming == verified.incoming)
            #expect(simulator.requests(at: .tokenInfo).count == 1)
        }
    }

    @Test func `an address is verified only if GitHub lists it as verified`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            func email(_ person: SimulatedPerson, scopes: Set<String> = ["user:email"]) async throws -> EmailAssertion?
            {
                let token = simulator.provider.issueToken(for: person, scopes: scopes)
                return try await scene.verify(native(token)).verified?.incoming.email
            }
            let ada = try #require(EmailAddress("ada@example.com"))
            let shown = try #require(EmailAddress("public@example.com"))
            var person = SimulatedPerson()
            person.emailIsVerified = false
            #expect(try await email(person) == .present(ada, flag: .isFalse, hostedDomain: nil))
            // Without the permission to read the addresses, the profile's address is unverified.
            let unverified = EmailAssertion.present(shown, flag: .absent, hostedDomain: nil)
            #expect(try await email(person, scopes: []) == unverified)
            person.email = nil
            #expect(try await email(person) == unverified)
            simulator.reply(.json(["message": "Resource not accessible"], status: .forbidden), at: .emails)
            #expect(try await email(person) == unverified)
        }
    }

    // MARK: Refusals

    @Test func `a refusal by the user cancels the sign-in`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            simulator.provider.change { $0.consents = false }
            let begun = try await scene.begin()
            let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            #expect(try await scene.verify(answer) == .invalid(.cancelledByUser))
        }
    }

    @Test func `a code is accepted once, and only for its flow`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            func answered() async throws -> ProviderCredential {
                let begun = try await scene.begin()
                return scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
            }
            let right = try await answered()
            #expect(try await scene.verify(right).verified != nil)
            #expect(try await scene.verify(right) == .invalid(.refusedByProvider))

            var wrong = try await answered()
            wrong.flow?.codeVerifier = "another-verifier"
            #expect(try await scene.verify(wrong) == .invalid(.refusedByProvider))
            wrong = try await answered()
            wrong.flow?.redirectURI = "http://localhost/elsewhere"
            #expect(try await scene.verify(wrong) == .invalid(.refusedByProvider))
            wrong = try await answered()
            wrong.authorizationCode = "made up"
            #expect(try await scene.verify(wrong) == .invalid(.refusedByProvider))
            // A flow requests a code: a token in its answer belongs to another flow.
            wrong = try await answered()
            wrong.authorizationCode = nil
            wrong.accessToken = simulator.provider.issueToken(for: SimulatedPerson())
            #expect(try await scene.verify(wrong) == .invalid(.missingCredential))
        }
    }

    @Test func `tokens that are forged, revoked or of another app are refused`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            let others = simulator.provider.issueToken(to: "Iv1.another", for: SimulatedPerson())
            #expect(try await scene.verify(native(others)) == .invalid(.refusedByProvider))
            #expect(try await scene.verify(native("gho_madeup")) == .invalid(.refusedByProvider))
            let token = simulator.provider.issueToken(for: SimulatedPerson())
            simulator.provider.revoke(token)
            #expect(try await scene.verify(native(token)) == .invalid(.refusedByProvider))
            #expect(simulator.requests(at: .profile).isEmpty)
            simulator.reply(.json(SimulatedGitHub.tokenInfo(of: SimulatedPerson())), at: .tokenInfo)
            #expect(try await scene.verify(native(token)) == .invalid(.refusedByProvider))
        }
    }

    @Test(arguments: ["gho_1\r\nHost: elsewhere", "gho 1", "gho_\u{E9}", String(repeating: "a", count: 4097)])
    func `a text that cannot be a token is not sent to the provider`(token: String) async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            #expect(try await scene(simulator).verify(native(token)) == .invalid(.malformed))
            #expect(simulator.requests(at: .tokenInfo).isEmpty)
        }
    }

    @Test func `a registration that GitHub does not know, or that lacks its secret, verifies nothing`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let begun = try await scene(simulator).begin()
            let answer = scene(simulator)
                .credential(try await simulator.visit(begun.address), answering: begun.flow)
            let token = simulator.provider.issueToken(for: SimulatedPerson())
            let wrong = scene(simulator, secret: "wrong")
            #expect(try await wrong.verify(answer) == .invalid(.clientRefused))
            #expect(try await wrong.verify(native(token)) == .invalid(.clientRefused))
            for secret in [nil, ""] {
                let scene = scene(simulator, secret: secret)
                #expect(try await scene.verify(native(token)) == .invalid(.incompleteConfiguration))
                #expect(try await scene.prepare() == .invalid(.incompleteConfiguration))
            }
            #expect(try await scene(simulator, secret: nil).verify(answer) == .invalid(.incompleteConfiguration))
            #expect(
                try await scene(simulator).verify(ProviderCredential(provider: .gitHub, idToken: "x.y.z"))
                    == .invalid(.missingCredential)
            )
        }
    }

    // MARK: Wrong answers and outages

    @Test func `a token of another app, or of another user, is no proof, even if the provider accepts it`() async throws
    {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            let person = SimulatedPerson()
            let token = native(simulator.provider.issueToken(for: person))
            simulator.reply(.json(SimulatedGitHub.tokenInfo(of: person, client: "Iv1.another")), at: .tokenInfo)
            #expect(try await scene.verify(token) == .invalid(.wrongAudience))
            var other = person
            other.id = "666"
            simulator.reply(.json(SimulatedGitHub.tokenInfo(of: other)), at: .tokenInfo)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene.verify(token) }
        }
    }

    @Test func `a profile without a user is malformed`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let token = native(simulator.provider.issueToken(for: SimulatedPerson()))
            for profile in [[:], ["id": "7588892"], ["id": .null], ["login": "ada"]] as [JSONValue] {
                simulator.reply(.json(profile), at: .profile)
                await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene(simulator).verify(token) }
            }
            simulator.reply(nil, at: .profile)
            simulator.reply(.json(["email": "ada@example.com", "primary": true, "verified": true]), at: .emails)
            await #expect(throws: ProviderUnavailable.malformedAnswer) { try await scene(simulator).verify(token) }
        }
    }

    @Test func `outages are distinguished from refusals at every endpoint`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let scene = scene(simulator)
            let token = native(simulator.provider.issueToken(for: SimulatedPerson()))
            for (reply, failure) in LocalServer.Reply.outages {
                for address in [ProviderAddress.tokenInfo, .profile, .emails] {
                    simulator.reply(reply, at: address)
                    await #expect(throws: failure) { try await scene.verify(token) }
                    simulator.reply(nil, at: address)
                }
                let begun = try await scene.begin()
                let answer = scene.credential(try await simulator.visit(begun.address), answering: begun.flow)
                simulator.reply(reply, at: .token)
                await #expect(throws: failure) { try await scene.verify(answer) }
                simulator.reply(nil, at: .token)
            }
        }
    }

    @Test func `a provider that does not answer in time is an outage`() async throws {
        try await Simulator.run(SimulatedGitHub()) { simulator async throws in
            let hurried = scene(simulator, timeout: .milliseconds(300))
            let token = native(simulator.provider.issueToken(for: SimulatedPerson()))
            let begun = try await scene(simulator).begin()
            let answer = scene(simulator)
                .credential(try await simulator.visit(begun.address), answering: begun.flow)
            for stall in LocalServer.Reply.stalls {
                for address in [ProviderAddress.tokenInfo, .profile, .emails] {
                    simulator.reply(stall, at: address)
                    await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.verify(token) }
                    simulator.reply(nil, at: address)
                }
                simulator.reply(stall, at: .token)
                await #expect(throws: ProviderUnavailable.timedOut) { try await hurried.verify(answer) }
            }
        }
    }
}
