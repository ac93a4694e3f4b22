import AccountLinking
import AccountStore
import AccountTestSupport
import JSON
import Testing

@testable import AccountOperations

/// The domains of registered providers in the policy.
struct RegisteredDomainsTests {
    private static let corp = provider("oidc.corp")

    private static func provider(_ name: String) -> ProviderID {
        guard let provider = ProviderID(name) else { preconditionFailure("not a provider") }
        return provider
    }

    private func settings(own: [JSONValue] = [], isEnabled: Bool = true) -> ProjectSettings {
        var record = ProviderConfigRecord(provider: Self.corp, isEnabled: isEnabled)
        record.issuer = "https://id.corp.example"
        record.emailDomains = ["corp.example", "xn--bcher-kva.example"]
        return ProjectSettings(
            projectID: "demo-test",
            projectNumber: 1,
            stored: ["concord": ["emailTrust": .array(own)]],
            version: 1,
            trust: .preset,
            registrations: [record]
        )
    }

    private func trust(
        _ settings: ProjectSettings,
        _ address: String,
        of provider: ProviderID = corp
    ) throws -> EmailTrustClass {
        settings.policy.emailTrust.trust(
            of: provider,
            issuer: "https://id.corp.example",
            for: try #require(EmailAddress(address)),
            hostedDomain: nil
        )
    }

    @Test(arguments: [true, false])
    func `a registration makes its provider authoritative for its domains only`(isEnabled: Bool) throws {
        let settings = settings(isEnabled: isEnabled)
        for address in ["ann@corp.example", "ANN@Corp.Example", "ann@bücher.example"] {
            #expect(try trust(settings, address) == .authoritative, "\(address)")
        }
        for address in [
            "ann@sub.corp.example", "ann@example", "ann@notcorp.example", "ann@corp.example.evil.example",
            "ann@gmail.com",
        ] where EmailAddress(address) != nil {
            #expect(try trust(settings, address) == .asserting, "\(address)")
        }
        #expect(try trust(settings, "ann@corp.example", of: Self.provider("oidc.other")) == .asserting)
        #expect(try trust(settings, "ann@corp.example", of: .google) == .asserting)
    }

    @Test func `an operator's rule for the same domain takes precedence over the registration's`() throws {
        let own: JSONValue = ["provider": "oidc.corp", "domain": "corp.example", "trust": "untrusted"]
        let settings = settings(own: [own])
        #expect(try trust(settings, "ann@corp.example") == .untrusted)
        #expect(try trust(settings, "ann@bücher.example") == .authoritative)
        // A rule without a domain is wider than the registration's.
        let wider = self.settings(own: [["provider": "oidc.corp", "trust": "untrusted"]])
        #expect(try trust(wider, "ann@corp.example") == .authoritative)
        #expect(try trust(wider, "ann@other.example") == .untrusted)
    }

    @Test func `a registration's domains apply at once on its server, and on others after their next refresh`()
        async throws
    {
        try await TestService.withTwo { first, second in
            func rules(_ service: TestService) -> Set<String> {
                Set(
                    service.operations.project.settings.policy.emailTrust.rules.compactMap { rule in
                        guard rule.scope.providers == .only(Self.corp), case .only(let domain) = rule.scope.domains
                        else {
                            return nil
                        }
                        return domain
                    }
                )
            }
            func follow(_ expected: Set<String>) async throws {
                #expect(rules(first) == expected)
                try await second.operations.project.refresh()
                #expect(rules(second) == expected)
            }
            let version = first.operations.project.settings.policy.version
            var config = ProviderConfig(provider: Self.corp)
            config.isEnabled = true
            config.clientID = "client"
            config.issuer = "https://id.corp.example"
            config.emailDomains = [try #require(EmailDomain("corp.example"))]
            #expect(try await first.operations.addProviderConfig(config) == nil)
            try await follow(["corp.example"])
            let other = try #require(EmailDomain("other.example"))
            _ = try await first.operations.updateProviderConfig(Self.corp) { $0.emailDomains = [other] }.get()
            try await follow(["other.example"])
            _ = try await first.operations.updateProviderConfig(Self.corp) { $0.isEnabled = false }.get()
            try await follow(["other.example"])
            // The project's own settings have not changed.
            #expect(first.operations.project.settings.policy.version == version)
            #expect(try await first.operations.removeProviderConfig(Self.corp) == nil)
            try await follow([])
        }
    }

    @Test func `a simulation uses the domains of registrations, and their removal`() async throws {
        try await TestService.with { service in
            var config = ProviderConfig(provider: Self.corp)
            config.isEnabled = true
            config.clientID = "client"
            config.issuer = "https://id.corp.example"
            config.emailDomains = [try #require(EmailDomain("corp.example"))]
            #expect(try await service.operations.addProviderConfig(config) == nil)
            let present = try #require(try await PolicyState.load(service.operations.store))
            let removal = PolicyProposal(settings: nil, providers: [Self.corp: .removed])
            let proposed = try present.after(removal).get()
            func isNamed(_ state: PolicyState) -> Bool {
                state.terms(service.operations.providers, trust: .preset).policy.emailTrust.rules
                    .contains { $0.scope.providers == .only(Self.corp) }
            }
            #expect(isNamed(present) && !isNamed(proposed))
        }
    }
}
