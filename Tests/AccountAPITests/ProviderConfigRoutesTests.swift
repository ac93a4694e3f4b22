import AccountAPI
import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import IdentityProviders
import JSON
import Logging
import Postgres
import Testing

/// Registrations of identity providers, as Admin SDKs make them.
@Suite struct ProviderConfigRoutesTests {
    private static let oauth = "/v2/projects/\(TestService.projectID)/oauthIdpConfigs"
    private static let supported = "/v2/projects/\(TestService.projectID)/defaultSupportedIdpConfigs"

    private static let demo: JSONValue = [
        "displayName": "Demo", "enabled": true, "clientId": "client-1", "clientSecret": "s3cret-of-oidc",
        "issuer": "https://issuer.example", "responseType": ["idToken": true], "emailDomains": ["demo.example"],
    ]

    private static func of(domains: [JSONValue], issuer: String = "https://issuer.example") -> JSONValue {
        ["clientId": "c", "issuer": .string(issuer), "emailDomains": .array(domains)]
    }

    // MARK: One registration

    @Test func `a registration can be read, changed by mask and removed`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let created = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            #expect(created.status == 200)
            var expected: JSONValue = [
                "name": "projects/demo-test/oauthIdpConfigs/oidc.demo", "enabled": true, "displayName": "Demo",
                "clientId": "client-1", "clientSecret": "s3cret-of-oidc", "issuer": "https://issuer.example",
                "responseType": ["idToken": true], "emailDomains": ["demo.example"],
            ]
            #expect(created.json == expected)
            #expect(try await api.asAdministrator(.get, Self.oauth + "/oidc.demo").json == expected)

            let changed = try await api.asAdministrator(
                .patch,
                Self.oauth + "/oidc.demo?updateMask=enabled,display_name",
                ["enabled": false, "displayName": "Other", "clientId": "not named by the mask"]
            )
            expected = expected.setting(false, at: ["enabled"]).setting("Other", at: ["displayName"])
            #expect(changed.json == expected)

            let responseTypes: [(sent: JSONValue, answered: JSONValue)] = [
                (["code": true, "idToken": false], ["code": true]),
                (["code": true, "idToken": true], ["code": true, "idToken": true]),
            ]
            for (sent, answered) in responseTypes {
                let path = Self.oauth + "/oidc.demo?updateMask=responseType"
                let answer = try await api.asAdministrator(.patch, path, .object(["responseType": sent]))
                #expect(answer.json["responseType"] == answered)
            }

            let removed = try await api.asAdministrator(.delete, Self.oauth + "/oidc.demo")
            #expect(removed.text == "{}")
            #expect(try await api.asAdministrator(.get, Self.oauth + "/oidc.demo").status == 404)
        }
    }

    @Test func `registrations of a tenant are not found`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            for collection in ["oauthIdpConfigs", "defaultSupportedIdpConfigs"] {
                let path = "/v2/projects/\(TestService.projectID)/tenants/t1/\(collection)"
                let answers = [
                    try await api.asAdministrator(.get, path), try await api.asAdministrator(.post, path),
                    try await api.asAdministrator(.get, path + "/x"),
                    try await api.asAdministrator(.patch, path + "/x"),
                    try await api.asAdministrator(.delete, path + "/x"),
                ]
                for answer in answers { #expect(answer.errorMessage == "TENANT_NOT_FOUND", "\(answer.text)") }
            }
        }
    }

    @Test func `every address of a provider can be replaced`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let addresses = Dictionary(
                uniqueKeysWithValues: ProviderAddress.allCases.map { name in
                    (name.rawValue, JSONValue.string("https://idp.example/\(name.rawValue)?a=b"))
                }
            )
            let created = try await api.asAdministrator(
                .post,
                Self.supported + "?idpId=twitter.com",
                ["enabled": true, "clientId": "key", "clientSecret": "secret", "addresses": .object(addresses)]
            )
            #expect(created.json["addresses"] == .object(addresses), "\(created.text)")
            let path = Self.supported + "/twitter.com"
            #expect(try await api.asAdministrator(.get, path).json["addresses"] == .object(addresses))
            for address in [
                "http://idp.example/", "https://idp.example/#x", "https://a:b@idp.example/", "idp", "ftp://x/",
            ] {
                let refused = try await api.asAdministrator(
                    .patch,
                    path + "?updateMask=addresses",
                    ["addresses": ["token": .string(address)]]
                )
                #expect(refused.errorMessage?.hasPrefix("INVALID_CONFIG") == true, "\(address): \(refused.text)")
            }
            let misspelt = try await api.asAdministrator(
                .patch,
                path,
                ["addresses": ["tokens": "https://idp.example/"]]
            )
            #expect(misspelt.errorMessage?.hasPrefix("INVALID_CONFIG") == true)
            let removed = try await api.asAdministrator(.patch, path + "?updateMask=addresses", [:])
            #expect(removed.status == 200 && removed.json["addresses"] == nil)
        }
    }

    @Test func `without a mask a change replaces every field`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            let changed = try await api.asAdministrator(
                .patch,
                Self.oauth + "/oidc.demo",
                ["clientId": "client-2", "issuer": "https://issuer.example"]
            )
            #expect(changed.json["clientId"] == "client-2")
            #expect(changed.json["enabled"] == false)
            #expect(changed.json["displayName"] == nil)
            #expect(changed.json["clientSecret"] == nil)
        }
    }

    @Test func `known providers have a separate collection`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let body: JSONValue = ["enabled": true, "clientId": "g", "clientSecret": "s3cret-of-google"]
            let google = try await api.asAdministrator(.post, Self.supported + "?idpId=google.com", body)
            #expect(google.json["name"] == "projects/demo-test/defaultSupportedIdpConfigs/google.com")
            #expect(google.json["issuer"] == nil)
            let apple = try await api.asAdministrator(
                .post,
                Self.supported + "?idpId=apple.com",
                [
                    "enabled": true, "clientId": "services-id",
                    "appleSignInConfig": [
                        "bundleIds": ["com.example.app"],
                        "codeFlowConfig": ["teamId": "T1", "keyId": "K1", "privateKey": "s3cret-of-apple"],
                    ],
                ]
            )
            #expect(apple.json["appleSignInConfig"]?["bundleIds"] == ["com.example.app"])
            #expect(apple.json["appleSignInConfig"]?["codeFlowConfig"]?["keyId"] == "K1")
            #expect(try await api.asAdministrator(.get, Self.oauth + "/google.com").status == 404)
            #expect(try await api.asAdministrator(.get, Self.supported + "/oidc.demo").status == 404)
        }
    }

    // MARK: Refusals

    @Test(
        arguments: [
            ("", [:], 400, "MISSING_CONFIG_ID"),
            ("?oauthIdpConfigId=", [:], 400, "MISSING_CONFIG_ID"),
            ("?oauthIdpConfigId=google.com", [:], 400, "INVALID_CONFIG_ID"),
            ("?oauthIdpConfigId=oidc.", [:], 400, "INVALID_CONFIG_ID"),
            ("?oauthIdpConfigId=oidc.x", ["clientId": "c"], 400, "MISSING_ISSUER"),
            ("?oauthIdpConfigId=oidc.x", ["issuer": "https://issuer.example"], 400, "MISSING_OAUTH_CLIENT_ID"),
            ("?oauthIdpConfigId=oidc.x", ["issuer": "nonsense", "clientId": "c"], 400, "INVALID_CONFIG"),
            ("?oauthIdpConfigId=oidc.x", ["issuer": "http://issuer.example", "clientId": "c"], 400, "INVALID_CONFIG"),
            ("?oauthIdpConfigId=oidc.x", ["issuer": "https://i.example/?a=b", "clientId": "c"], 400, "INVALID_CONFIG"),
            ("?oauthIdpConfigId=oidc.x", ["issuer": "https://u@i.example", "clientId": "c"], 400, "INVALID_CONFIG"),
            ("?oauthIdpConfigId=oidc.x", ["enabled": "perhaps"], 400, "Invalid value at 'enabled'"),
            (
                "?oauthIdpConfigId=oidc.x", of(domains: ["user@corp.example"]), 400,
                "INVALID_CONFIG : Each of emailDomains"
            ),
            ("?oauthIdpConfigId=oidc.x", of(domains: ["*.corp.example"]), 400, "INVALID_CONFIG : Each of emailDomains"),
            ("?oauthIdpConfigId=oidc.x", of(domains: ["corp"]), 400, "INVALID_CONFIG : Each of emailDomains"),
            ("?oauthIdpConfigId=oidc.x", of(domains: [" corp.example"]), 400, "INVALID_CONFIG : Each of emailDomains"),
            ("?oauthIdpConfigId=oidc.x", of(domains: [""]), 400, "INVALID_CONFIG : Each of emailDomains"),
            ("?oauthIdpConfigId=oidc.x", of(domains: [1]), 400, "Invalid value at 'emailDomains'"),
            (
                "?oauthIdpConfigId=oidc.x", of(domains: (0...100).map { .string("d\($0).example") }), 400,
                "INVALID_CONFIG : emailDomains may have at most 100 domains."
            ),
            (
                "?oauthIdpConfigId=oidc.x",
                of(domains: ["corp.example"], issuer: "https://accounts.google.com"), 400,
                "INVALID_CONFIG : The issuer belongs to google.com"
            ),
            (
                "?oauthIdpConfigId=oidc.x",
                of(domains: ["corp.example"], issuer: "https://login.microsoftonline.com/common/v2.0"), 400,
                "INVALID_CONFIG : The issuer belongs to microsoft.com"
            ),
        ] as [(String, JSONValue, Int, String)]
    )
    func `an invalid registration is refused and stores nothing`(
        query: String,
        body: JSONValue,
        status: Int,
        message: String
    ) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let answer = try await api.asAdministrator(.post, Self.oauth + query, body)
            #expect(answer.status == status)
            #expect(answer.errorMessage?.hasPrefix(message) == true, "\(answer.text)")
            #expect(try await api.service.database.count("SELECT count(*) FROM provider_configs") == 0)
        }
    }

    @Test func `a second registration of one provider is a conflict`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let path = Self.oauth + "?oauthIdpConfigId=oidc.demo"
            #expect(try await api.asAdministrator(.post, path, Self.demo).status == 200)
            let second = try await api.asAdministrator(.post, path, Self.demo)
            #expect(second.status == 409)
            #expect(second.errorMessage == "CONFIGURATION_EXISTS")
        }
    }

    @Test func `an unregistered provider is not found`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            for method in [HTTPRequest.Method.get, .patch, .delete] {
                let answer = try await api.asAdministrator(method, Self.oauth + "/oidc.demo", Self.demo)
                #expect(answer.status == 404)
                #expect(answer.errorMessage == "CONFIGURATION_NOT_FOUND")
            }
        }
    }

    @Test func `an unknown field in a mask is refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            let answer = try await api.asAdministrator(.patch, Self.oauth + "/oidc.demo?updateMask=luck", [:])
            #expect(answer.status == 400)
        }
    }

    @Test func `only administrators have access to registrations`() async throws {
        try await TestAPI.with { api async throws in
            for path in [Self.oauth, Self.supported] {
                #expect(try await api.send(.get, path, key: nil).status == 401)
                #expect(try await api.send(.get, path, key: nil, bearer: "owner").status == 401)
            }
        }
    }

    // MARK: E-mail domains

    @Test func `domains are stored in canonical form without duplicates, and a mask can change them alone`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let domains: JSONValue = ["Corp.Example", "bücher.example", "corp.example", "a.example"]
            let created = try await api.asAdministrator(
                .post,
                Self.oauth + "?oauthIdpConfigId=oidc.demo",
                Self.demo.setting(domains, at: ["emailDomains"])
            )
            let kept: JSONValue = ["a.example", "corp.example", "xn--bcher-kva.example"]
            #expect(created.json["emailDomains"] == kept, "\(created.text)")
            let item = Self.oauth + "/oidc.demo"
            let renamed = try await api.asAdministrator(.patch, item + "?updateMask=displayName", ["displayName": "x"])
            #expect(renamed.json["emailDomains"] == kept)
            #expect(try await api.asAdministrator(.get, item).json["emailDomains"] == kept)
            let changed = try await api.asAdministrator(
                .patch,
                item + "?updateMask=email_domains",
                ["emailDomains": ["other.example"], "displayName": "not named by the mask"]
            )
            #expect(changed.json["emailDomains"] == ["other.example"] && changed.json["displayName"] == "x")
            let issuer = try await api.asAdministrator(
                .patch,
                item + "?updateMask=issuer",
                ["issuer": "https://accounts.google.com"]
            )
            #expect(issuer.errorMessage?.hasPrefix("INVALID_CONFIG") == true, "\(issuer.text)")
            let removed = try await api.asAdministrator(.patch, item + "?updateMask=emailDomains", [:])
            #expect(removed.status == 200 && removed.json["emailDomains"] == nil)
            // The other collection has no such field.
            let google = try await api.asAdministrator(
                .post,
                Self.supported + "?idpId=google.com",
                ["clientId": "g", "emailDomains": ["corp.example"]]
            )
            #expect(google.status == 200 && google.json["emailDomains"] == nil)
        }
    }

    @Test
    func `a provider's addresses are proof in its registered domains, from the next request, and in no other domain`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let addresses = [
                "ann@corp.example", "ann@sub.corp.example", "ann@corp.example.evil.example", "ann@other.example",
            ]
            for address in addresses { _ = try await api.signUp(address) }
            _ = try await api.asAdministrator(
                .post,
                Self.oauth + "?oauthIdpConfigId=oidc.demo",
                Self.demo.setting(["corp.example"], at: ["emailDomains"])
            )
            // No flag: proof by the domain, or none.
            func signIn(_ address: String) async throws -> TestAPI.Answer {
                try await api.signInWithDemo(
                    ["sub": .string(address), "iss": "https://issuer.example", "email": .string(address)]
                )
            }
            for address in addresses.dropFirst() {
                let answer = try await signIn(address)
                #expect(answer.json["needConfirmation"] == true, "\(address): \(answer.text)")
            }
            let proven = try await signIn("ann@corp.example")
            #expect(proven.json["idToken"] != nil, "\(proven.text)")

            let mask = Self.oauth + "/oidc.demo?updateMask=emailDomains"
            _ = try await api.asAdministrator(.patch, mask, ["emailDomains": ["other.example"]])
            #expect(try await signIn("ann@other.example").json["idToken"] != nil)
            #expect(try await signIn("ann@sub.corp.example").json["needConfirmation"] == true)
            #expect(try await api.asAdministrator(.delete, Self.oauth + "/oidc.demo").status == 200)
            let rules = api.service.operations.project.settings.policy.emailTrust.rules
            #expect(rules.allSatisfy { $0.json["provider"] != "oidc.demo" }, "gone with the registration")
        }
    }

    // MARK: Warnings

    @Test(
        arguments: [
            ("https://accounts.google.com", [], "google.com"),
            ("https://appleid.apple.com", [], "apple.com"),
            ("https://www.linkedin.com/oauth", [], "linkedin.com"),
            (
                "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0", ["a.example"],
                "microsoft.com"
            ),
            ("https://accounts.google.com.evil.example", ["a.example"], nil),
        ] as [(String, JSONValue, String?)]
    )
    func `registering a known provider's issuer as OpenID Connect warns and names the known provider`(
        issuer: String,
        domains: JSONValue,
        known: String?
    ) async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let item = Self.demo.setting(.string(issuer), at: ["issuer"]).setting(domains, at: ["emailDomains"])
            let created = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", item)
            #expect(created.status == 200, "\(created.text)")
            let warnings = created.json["warnings"]?.array?.compactMap(\.string) ?? []
            #expect(warnings.count == (known == nil ? 0 : 1), "\(warnings)")
            if let known { #expect(warnings.first?.contains("Register \(known) instead") == true) }
            let changed = try await api.asAdministrator(
                .patch,
                Self.oauth + "/oidc.demo?updateMask=displayName",
                ["displayName": "x"]
            )
            #expect(changed.json["warnings"] == created.json["warnings"])
            #expect(try await api.asAdministrator(.get, Self.oauth + "/oidc.demo").json["warnings"] == nil)
        }
    }

    @Test func `registering a provider whose addresses are no proof warns, until it has a domain or a rule`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            func rules(_ rules: JSONValue) async throws {
                let answer = try await api.asAdministrator(.put, "/concord/v1/policy", ["emailTrust": rules])
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await rules([["provider": "oidc.*", "trust": "asserting"]])
            let item = Self.demo.setting([], at: ["emailDomains"])
            let created = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", item)
            #expect(created.status == 200)
            let warnings = created.json["warnings"]?.array?.compactMap(\.string) ?? []
            #expect(warnings.count == 1 && warnings.first?.contains("emailDomains") == true, "\(warnings)")

            let mask = Self.oauth + "/oidc.demo?updateMask=emailDomains"
            let named = try await api.asAdministrator(.patch, mask, ["emailDomains": ["corp.example"]])
            #expect(named.status == 200 && named.json["warnings"] == nil, "\(named.text)")
            #expect(try await api.asAdministrator(.patch, mask, [:]).json["warnings"]?.array?.count == 1)
            try await rules([
                ["provider": "oidc.*", "trust": "asserting"],
                ["provider": "oidc.demo", "domain": "corp.example", "trust": "authoritative"],
            ])
            #expect(try await api.asAdministrator(.patch, mask, [:]).json["warnings"] == nil)
        }
    }

    // MARK: Lists

    @Test func `a list has pages`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            #expect(try await api.asAdministrator(.get, Self.oauth).text == "{}")
            for number in 1...5 {
                _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.p\(number)", Self.demo)
            }
            _ = try await api.asAdministrator(.post, Self.supported + "?idpId=google.com", ["clientId": "g"])
            var ids: [String] = []
            var token: String?
            var pages = 0
            repeat {
                let query = "?pageSize=2" + (token.map { "&pageToken=\($0)" } ?? "")
                let page = try await api.asAdministrator(.get, Self.oauth + query).json
                ids += (page["oauthIdpConfigs"]?.array ?? []).compactMap { config in
                    config["name"]?.string?.split(separator: "/").last.map(String.init)
                }
                token = page["nextPageToken"]?.string
                pages += 1
            } while token != nil && pages < 10
            #expect(ids == (1...5).map { "oidc.p\($0)" })
            #expect(pages == 3)
            for size in ["0", "101", "x"] {
                #expect(try await api.asAdministrator(.get, Self.oauth + "?pageSize=\(size)").status == 400)
            }
        }
    }

    // MARK: Secrets

    @Test func `no secret is stored in the clear`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            _ = try await api.asAdministrator(
                .post,
                Self.supported + "?idpId=apple.com",
                ["appleSignInConfig": ["codeFlowConfig": ["keyId": "K1", "privateKey": "s3cret-of-apple"]]]
            )
            let sealed = try await api.service.database.count(
                """
                SELECT count(*) FROM provider_configs
                WHERE sealed_client_secret IS NOT NULL OR sealed_apple_key IS NOT NULL
                """
            )
            #expect(sealed == 2)
            // A row as text shows bytes in hexadecimal.
            let open = try await api.service.database.count(
                """
                SELECT count(*) FROM provider_configs p
                WHERE p::text LIKE '%s3cret%' OR p::text LIKE '%' || encode('s3cret', 'hex') || '%'
                """
            )
            #expect(open == 0)
            let read = try await api.asAdministrator(.get, Self.supported + "/apple.com").json
            #expect(read["appleSignInConfig"]?["codeFlowConfig"]?["privateKey"] == "s3cret-of-apple")
        }
    }

    @Test func `a secret that cannot be decrypted affects only its provider, and stays stored until it is replaced`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.other", Self.demo)
            let apple: JSONValue = [
                "clientId": "services-id",
                "appleSignInConfig": ["codeFlowConfig": ["teamId": "T1", "keyId": "K1", "privateKey": "s3cret"]],
            ]
            _ = try await api.asAdministrator(.post, Self.supported + "?idpId=apple.com", apple)
            // The third byte begins the name of the key-encryption key. It now names a key that does not exist.
            try await api.service.database.execute(
                """
                UPDATE provider_configs SET sealed_client_secret = set_byte(sealed_client_secret, 2, 88),
                    sealed_apple_key = set_byte(sealed_apple_key, 2, 88) WHERE provider_id <> 'oidc.other'
                """
            )

            let listed = try await api.asAdministrator(.get, Self.oauth).json["oauthIdpConfigs"]?.array
            #expect(listed?.map { $0["clientSecret"]?.string } == [nil, "s3cret-of-oidc"])
            let read = try await api.asAdministrator(.get, Self.oauth + "/oidc.demo").json
            #expect(read["issuer"] == "https://issuer.example" && read["clientSecret"] == nil)
            let readApple = try await api.asAdministrator(.get, Self.supported + "/apple.com").json
            #expect(readApple["appleSignInConfig"]?["codeFlowConfig"] == ["teamId": "T1", "keyId": "K1"])
            // ID tokens are verified without it.
            #expect(try await api.signInWithDemo(issuer: "https://issuer.example").status == 200)

            let renamed = try await api.asAdministrator(
                .patch,
                Self.oauth + "/oidc.demo?updateMask=displayName",
                ["displayName": "Other"]
            )
            #expect(renamed.json["displayName"] == "Other")
            let kept: Query<Int64?> =
                "SELECT count(*) FROM provider_configs WHERE get_byte(sealed_client_secret, 2) = 88"
            #expect(try await api.service.database.count(kept) == 1)
            let replaced = try await api.asAdministrator(
                .patch,
                Self.oauth + "/oidc.demo?updateMask=clientSecret",
                ["clientSecret": "another"]
            )
            #expect(replaced.json["clientSecret"] == "another")
            #expect(try await api.service.database.count(kept) == 0)
            #expect(try await api.asAdministrator(.delete, Self.supported + "/apple.com").text == "{}")
        }
    }

    // MARK: The issuer

    @Test func `the issuer of a provider in use cannot change, other fields can`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            let mask = Self.oauth + "/oidc.demo?updateMask=issuer"
            let other: JSONValue = ["issuer": "https://other.example"]
            #expect(try await api.asAdministrator(.patch, mask, other).status == 200)
            let back: JSONValue = ["issuer": "https://issuer.example"]
            #expect(try await api.asAdministrator(.patch, mask, back).status == 200)

            let signedIn = try await api.signInWithDemo(issuer: "https://issuer.example")
            #expect(signedIn.json["idToken"] != nil, "\(signedIn.text)")
            let refused = try await api.asAdministrator(.patch, mask, other)
            #expect(refused.status == 400)
            #expect(refused.errorMessage?.hasPrefix("INVALID_CONFIG : ") == true)
            let rest: JSONValue = [
                "clientId": "client-2", "displayName": "Renamed", "issuer": "https://issuer.example",
            ]
            #expect(try await api.asAdministrator(.patch, Self.oauth + "/oidc.demo", rest).status == 200)
            let stored = try await api.service.database.count(
                "SELECT count(*) FROM provider_configs WHERE issuer = 'https://issuer.example' AND client_id = 'client-2'"
            )
            #expect(stored == 1)
        }
    }

    @Test func `a provider in use cannot be registered again with another issuer`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            let path = Self.oauth + "?oauthIdpConfigId=oidc.demo"
            let other = Self.demo.setting("https://other.example", at: ["issuer"])
            _ = try await api.asAdministrator(.post, path, Self.demo)
            let first = try await api.signInWithDemo(issuer: "https://issuer.example")
            #expect(first.json["idToken"] != nil, "\(first.text)")
            #expect(try await api.asAdministrator(.delete, Self.oauth + "/oidc.demo").status == 200)

            let refused = try await api.asAdministrator(.post, path, other)
            #expect(refused.status == 400)
            #expect(
                refused.errorMessage
                    == "INVALID_CONFIG : Accounts are linked under another issuer: register this issuer under another id."
            )
            #expect(try await api.service.database.count("SELECT count(*) FROM provider_configs") == 0)
            // What was there before may come back, and elsewhere the other one is welcome.
            #expect(try await api.asAdministrator(.post, path, Self.demo).status == 200)
            #expect(
                try await api.signInWithDemo(issuer: "https://issuer.example").json["localId"] == first.json["localId"]
            )
            let elsewhere = Self.oauth + "?oauthIdpConfigId=oidc.other"
            #expect(try await api.asAdministrator(.post, elsewhere, other).status == 200)
        }
    }

    @Test func `a provider with an imported identity can be registered, and then its issuer cannot change`()
        async throws
    {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            _ = try await api.signUp("ada@example.com")
            try await api.service.link("oidc.demo", subject: "s-1", to: "ada@example.com")
            let path = Self.oauth + "?oauthIdpConfigId=oidc.demo"
            #expect(try await api.asAdministrator(.post, path, Self.demo).status == 200)
            // From now on the registration says.
            let other: JSONValue = ["issuer": "https://other.example"]
            let mask = Self.oauth + "/oidc.demo?updateMask=issuer"
            #expect(try await api.asAdministrator(.patch, mask, other).status == 400)
        }
    }

    @Test func `an issuer without TLS is accepted only in development and only on this machine`() async throws {
        try await TestService.with { service async throws in
            func answer(_ issuer: String, _ operations: AccountOperations) async throws -> ProviderConfigDenial? {
                var config = ProviderConfig(provider: try #require(.init("oidc.demo")))
                config.clientID = "c"
                config.issuer = issuer
                let denial = try await operations.addProviderConfig(config)
                if denial == nil { _ = try await operations.removeProviderConfig(config.provider) }
                return denial
            }
            let development = service.operations
            let production = AccountOperations(
                store: development.store,
                project: development.project,
                tokens: development.tokens,
                cookies: development.cookies,
                customTokens: development.customTokens,
                passwords: development.passwords,
                providers: ProviderRegistry(
                    keys: JWKSCache(
                        http: IssuerHTTPClient(policy: NetworkPolicy()),
                        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                    ),
                    network: ProviderNetwork(http: IssuerHTTPClient(policy: NetworkPolicy()))
                ),
                sealer: development.sealer,
                mailLinks: development.mailLinks,
                effects: development.effects,
                webhooks: development.webhooks,
                apps: AppVerifiers(),
                metrics: OperationMetrics()
            )
            for issuer in ["http://127.0.0.1:9100", "http://localhost:9100", "http://issuer.example"] {
                #expect(try await answer(issuer, production) == .invalidIssuer)
            }
            #expect(try await answer("https://issuer.example", production) == nil)
            #expect(try await answer("http://127.0.0.1:9100", development) == nil)
            #expect(try await answer("http://localhost:9100", development) == nil)
            #expect(try await answer("http://issuer.example", development) == .invalidIssuer)
        }
    }

    @Test func `a provider works from the moment it is registered until it is removed`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            #expect(try await api.signInWithDemo(issuer: "https://issuer.example").status == 400)
            _ = try await api.asAdministrator(.post, Self.oauth + "?oauthIdpConfigId=oidc.demo", Self.demo)
            #expect(try await api.signInWithDemo(issuer: "https://issuer.example").status == 200)
            let off: JSONValue = ["enabled": false]
            _ = try await api.asAdministrator(.patch, Self.oauth + "/oidc.demo?updateMask=enabled", off)
            let refused = try await api.signInWithDemo(issuer: "https://issuer.example")
            #expect(refused.errorMessage?.hasPrefix("OPERATION_NOT_ALLOWED") == true)
            _ = try await api.asAdministrator(.delete, Self.oauth + "/oidc.demo")
            #expect(try await api.signInWithDemo(issuer: "https://issuer.example").status == 400)
        }
    }

    // MARK: Races

    @Test func `if requests on two servers register one provider, one succeeds`() async throws {
        try await TestAPI.with { api in
            let services = try await api.twoServices()
            let denials = try await withThrowingTaskGroup(of: ProviderConfigDenial?.self) { group in
                for caller in 0..<64 {
                    var config = ProviderConfig(provider: try #require(.init("oidc.demo")))
                    config.clientID = "client-\(caller)"
                    config.issuer = "https://issuer.example"
                    let (operations, registration) = (services[caller % 2].operations, config)
                    group.addTask { try await operations.addProviderConfig(registration) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(denials.count { $0 == nil } == 1)
            #expect(denials.count { $0 == .alreadyRegistered } == 63)
            #expect(try await api.service.database.count("SELECT count(*) FROM provider_configs") == 1)
            await services[1].operations.passwords.shutDown()
        }
    }

    @Test func `concurrent changes of different fields on two servers all survive`() async throws {
        try await TestAPI.with { api in
            let services = try await api.twoServices()
            let provider = try #require(ProviderID("oidc.demo"))
            var config = ProviderConfig(provider: provider)
            config.clientID = "client"
            config.issuer = "https://issuer.example"
            #expect(try await services[0].operations.addProviderConfig(config) == nil)
            let changes: [@Sendable (inout ProviderConfig) -> Void] = [
                { $0.displayName = "Demo" }, { $0.isEnabled = true }, { $0.clientSecret = .text("s3cret") },
                { $0.acceptsAuthorizationCodes = true },
            ]
            try await withThrowingTaskGroup { group in
                for caller in 0..<64 {
                    let (operations, change) = (services[caller % 2].operations, changes[caller / 2 % changes.count])
                    group.addTask {
                        guard case .success = try await operations.updateProviderConfig(provider, change) else {
                            Issue.record("a change was denied")
                            return
                        }
                    }
                }
                try await group.waitForAll()
            }
            let whole = try await api.service.database.count(
                """
                SELECT count(*) FROM provider_configs WHERE display_name = 'Demo' AND enabled AND accepts_code
                    AND sealed_client_secret IS NOT NULL AND client_id = 'client'
                """
            )
            #expect(whole == 1)
            await services[1].operations.passwords.shutDown()
        }
    }
}

extension TestAPI {
    fileprivate func asAdministrator(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: JSONValue = [:]
    ) async throws -> Answer {
        try await send(method, path, method == .get ? [] : Array(body.text.utf8), key: nil, bearer: "owner")
    }

    /// A sign-in with a token as development takes it.
    fileprivate func signInWithDemo(issuer: String) async throws -> Answer {
        try await signInWithDemo(
            ["sub": "s-1", "iss": .string(issuer), "email": "s@example.com", "email_verified": false]
        )
    }

    /// The same with `claims` and an audience.
    fileprivate func signInWithDemo(_ claims: JSONValue) async throws -> Answer {
        let token = claims.setting("client-1", at: ["aud"])
        let encoded = token.text.utf8.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
        return try await post(
            "/v1/accounts:signInWithIdp",
            [
                "requestUri": "http://localhost", "returnSecureToken": true,
                "postBody": .string("providerId=oidc.demo&id_token=\(encoded)"),
            ]
        )
    }

    /// This server and another one on the same database.
    fileprivate func twoServices() async throws -> [TestService] {
        let other = try await TestService.make(
            database: service.database,
            client: service.client,
            settings: ProjectSettings.developmentDefaults
        )
        return [service, other]
    }
}
