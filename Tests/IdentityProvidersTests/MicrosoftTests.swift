import AccountLinking
import AccountTestSupport
import IdentityProviders
import JSON
import Testing

/// Microsoft's peculiarities: an issuer for each tenant, and another subject in each app.
struct MicrosoftTests {
    private static let personal = "9188040d-6c67-4c5b-b112-36a304b66dad"

    private static func issuer(_ tenant: String) -> JSONValue {
        .string("https://login.microsoftonline.com/\(tenant)/v2.0")
    }

    @Test
    func `a user of a tenant is identified by its object id, not by the subject`() async throws {
        let scene = try Scene(.microsoft)
        for subject in ["one", "two"] {
            let verified = try #require(try await scene.verify(claims: ["sub": .string(subject)]).verified)
            #expect(verified.incoming.identity.subject == Scene.object)
            #expect(verified.federatedID == Scene.object)
            #expect(verified.incoming.issuer == scene.issuer)
        }
        let upper = try await scene.verify(claims: ["oid": .string(Scene.object.uppercased())]).verified
        #expect(upper?.incoming.identity.subject == Scene.object)
    }

    @Test
    func `a personal account is identified by the last 16 digits of its object id`() async throws {
        let scene = try Scene(.microsoft)
        let claims: [String: JSONValue] = [
            "iss": Self.issuer(Self.personal), "tid": .string(Self.personal),
            "oid": "00000000-0000-0000-00AB-1234567890cd",
        ]
        let verified = try #require(try await scene.verify(claims: claims).verified)
        #expect(verified.incoming.identity.subject == "00ab1234567890cd")
    }

    @Test(arguments: [.null, "", "no GUID", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeeg", 7] as [JSONValue])
    func `a token without an object id is refused`(object: JSONValue) async throws {
        #expect(try await Scene(.microsoft).verify(claims: ["oid": object]) == .invalid(.missingSubject))
    }

    @Test(
        arguments: [
            ["iss": "https://login.microsoftonline.com/99999999-2222-3333-4444-555555555555/v2.0"],
            ["tid": "99999999-2222-3333-4444-555555555555"], ["tid": .null], ["tid": "common"],
            ["iss": "https://login.microsoftonline.com/common/v2.0", "tid": "common"],
            ["iss": "https://login.microsoftonline.com/common/v2.0"],
            ["iss": "https://evil.example/11111111-2222-3333-4444-555555555555/v2.0"],
            ["iss": "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0/"],
            ["iss": "https://login.microsoftonline.com/x/v2.0", "tid": "x"],
        ] as [[String: JSONValue]]
    )
    func `a token is refused if issuer and tenant differ`(claims: [String: JSONValue]) async throws {
        #expect(try await Scene(.microsoft).verify(claims: claims) == .invalid(.wrongIssuer))
    }

    @Test(
        arguments: [
            (nil, .absent), (true, .isTrue), ("true", .isTrue), ("1", .isTrue), (1, .isTrue),
            (false, .isFalse), ("0", .isFalse),
        ] as [(JSONValue?, VerifiedFlag)]
    )
    func `the flag of a tenant's address is xms_edov, and proves nothing by default`(
        flag: JSONValue?,
        expected: VerifiedFlag
    ) async throws {
        let scene = try Scene(.microsoft)
        var claims: [String: JSONValue] = ["email_verified": true, "email": "victim@outlook.com"]
        claims["xms_edov"] = flag
        let verified = try #require(try await scene.verify(claims: claims).verified)
        let address = try #require(EmailAddress("victim@outlook.com"))
        #expect(verified.incoming.email == .present(address, flag: expected, hostedDomain: nil))
        let trust = EmailTrust.declared.trust(of: .microsoft, issuer: scene.issuer, for: address, hostedDomain: nil)
        #expect(trust == .asserting)
    }

    @Test
    func `Microsoft's consumer tenant proves the addresses of Outlook`() async throws {
        let claims: [String: JSONValue] = [
            "iss": Self.issuer(Self.personal), "tid": .string(Self.personal), "email": "ada@outlook.com",
            "email_verified": .null,
        ]
        let verified = try #require(try await Scene(.microsoft).verify(claims: claims).verified)
        let address = try #require(EmailAddress("ada@outlook.com"))
        let issuer = verified.incoming.issuer
        let trust = EmailTrust.declared.trust(of: .microsoft, issuer: issuer, for: address, hostedDomain: nil)
        #expect(trust == .authoritative)
    }

    @Test(
        arguments: [
            (Scene.tenant, true), (Scene.tenant.uppercased(), true), ("common", true), ("organizations", true),
            ("contoso.example", true), ("consumers", false), ("99999999-2222-3333-4444-555555555555", false),
        ]
    )
    func `the custom parameter tenant limits sign-ins to that tenant`(tenant: String, isAccepted: Bool) async throws {
        try await SimulatedScene.run(.microsoft) { scene async throws in
            let result = try await scene.signIn(customParameters: ["tenant": tenant])
            #expect((result.verified != nil) == isAccepted)
            if !isAccepted { #expect(result == .invalid(.wrongIssuer)) }
        }
    }

    @Test
    func `the address of the page contains the tenant, and no tenant parameter`() async throws {
        try await SimulatedScene.run(.microsoft) { scene async throws in
            scene.configuration.addresses = [:]
            let prepared = try #require(try await scene.begin(customParameters: ["tenant": "Contoso.example"]).prepared)
            #expect(
                prepared.address.hasPrefix("https://login.microsoftonline.com/contoso.example/oauth2/v2.0/authorize?")
            )
            #expect(!prepared.address.contains("tenant="))
            #expect(AuthorizationFlow(stored: prepared.flow.stored) == prepared.flow)
            let common = try #require(try await scene.begin().prepared)
            #expect(common.address.hasPrefix("https://login.microsoftonline.com/common/oauth2/v2.0/authorize?"))
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "a?b", "a#b", "a@b", "-a", "é", String(repeating: "a", count: 254)])
    func `an invalid tenant is refused before the browser is redirected`(tenant: String) async throws {
        try await SimulatedScene.run(.microsoft) { scene async throws in
            #expect(try await scene.begin(customParameters: ["tenant": tenant]) == .invalid(.unknownTenant))
        }
    }

    @Test
    func `an answer that names an issuer must name that of a tenant`() async throws {
        try await SimulatedScene.run(.microsoft) {
            $0.namesItself = true
        } _: { scene async throws in
            #expect(try await scene.signIn().verified != nil)
            for name in ["https://login.microsoftonline.com/common/v2.0", "https://accounts.google.com", ""] {
                scene.simulator.change { $0.otherName = name }
                let isIgnored = name.isEmpty
                #expect((try await scene.signIn().verified != nil) == isIgnored)
            }
        }
    }

    // MARK: Yahoo and LinkedIn

    @Test
    func `both issuers of LinkedIn are the same issuer`() async throws {
        let scene = try Scene(.linkedIn)
        let verified = try await scene.verify(claims: ["iss": "https://www.linkedin.com"]).verified
        #expect(verified?.incoming.issuer == "https://www.linkedin.com/oauth")
    }

    @Test(arguments: ["ES256", "RS256"])
    func `Yahoo signs with ES256 or RS256`(algorithm: String) async throws {
        let scene = try Scene(.yahoo, key: ProviderKey.key("key-1", for: algorithm))
        #expect(try await scene.verify(claims: [:]).verified != nil)
        let other = try Scene(.yahoo, key: ProviderKey.key("key-1", for: "PS256"))
        #expect(try await other.verify(claims: [:]) == .invalid(.algorithmNotAllowed))
    }
}
