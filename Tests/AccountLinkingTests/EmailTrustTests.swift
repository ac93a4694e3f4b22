import AccountLinking
import Testing

/// Whose word about an address is proof, provider by provider (`spec/03` §1).
struct EmailTrustTests {
    private func isVerified(
        _ provider: ProviderID,
        _ raw: String,
        flagged: Bool = true,
        hostedDomain: String? = nil,
        issuer: String? = nil,
        trust: EmailTrust = .declared
    ) -> Bool {
        let policy = LinkPolicy.policy { $0.emailTrust = trust }
        let email = address(raw)
        let credential = incoming(
            provider,
            "s",
            email,
            flagged: flagged,
            hostedDomain: hostedDomain,
            issuer: issuer
        )
        let claim = policy.emailClaim(of: credential)
        #expect(claim == .verified(email) || claim == .unverified(email))
        return claim == .verified(email)
    }

    @Test func `a credential without an address claims none`() {
        for trust in EmailTrust.allCases {
            let policy = LinkPolicy.policy { $0.emailTrust = trust }
            #expect(policy.emailClaim(of: .withoutEmail) == .absent)
        }
    }

    @Test func `google.com is trusted for gmail.com when it says so itself`() {
        #expect(isVerified(.google, "ann@gmail.com"))
        #expect(isVerified(.google, "Ann@GMail.com"))
        #expect(!isVerified(.google, "ann@gmail.com", flagged: false))
        #expect(!isVerified(.google, "ann@googlemail.com"))
        #expect(!isVerified(.google, "ann@gmail.com.example.org"))
        #expect(!isVerified(.google, "ann@notgmail.com"))
    }

    @Test func `google.com is trusted for the Workspace domain of the account and no other`() {
        #expect(isVerified(.google, "ann@example.com", hostedDomain: "example.com"))
        #expect(isVerified(.google, "ann@bücher.example", hostedDomain: "Bücher.Example"))
        #expect(!isVerified(.google, "ann@example.com", flagged: false, hostedDomain: "example.com"))
        #expect(!isVerified(.google, "ann@example.com", hostedDomain: "example.org"))
        #expect(!isVerified(.google, "ann@sub.example.com", hostedDomain: "example.com"))
        #expect(!isVerified(.google, "ann@example.com", hostedDomain: ""))
        #expect(!isVerified(.google, "ann@example.com", hostedDomain: "x@example.com"))
    }

    @Test func `google.com is not trusted for a consumer account on a foreign address`() {
        #expect(!isVerified(.google, "ann@example.com"))
    }

    @Test func `apple.com is always trusted`() {
        #expect(isVerified(.apple, "ann@example.com"))
        #expect(isVerified(.apple, "x7@privaterelay.appleid.com", flagged: false))
    }

    @Test func `yahoo.com is trusted for yahoo.com`() {
        #expect(isVerified(.yahoo, "ann@yahoo.com", flagged: false))
        #expect(!isVerified(.yahoo, "ann@yahoo.co.uk"))
        #expect(!isVerified(.yahoo, "ann@example.com"))
    }

    @Test func `microsoft.com is trusted for its mailboxes, never for a work account`() {
        let consumers = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"
        let work = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
        for domain in ["outlook.com", "hotmail.com"] {
            #expect(isVerified(.microsoft, "ann@" + domain, flagged: false))
            #expect(isVerified(.microsoft, "ann@" + domain, issuer: consumers))
            #expect(!isVerified(.microsoft, "ann@" + domain, issuer: work))
        }
        #expect(!isVerified(.microsoft, "ann@live.com", issuer: consumers))
        #expect(!isVerified(.microsoft, "ann@example.com", issuer: consumers))
    }

    @Test(arguments: [ProviderID.facebook, .twitter, .gitHub, .linkedIn, provider("example.com")])
    func `a provider that is not named is not trusted`(provider: ProviderID) {
        #expect(!isVerified(provider, "ann@gmail.com", hostedDomain: "gmail.com"))
    }

    @Test func `an OpenID Connect provider is trusted when it says verified`() {
        #expect(isVerified(provider("oidc.work"), "ann@example.com"))
        #expect(!isVerified(provider("oidc.work"), "ann@example.com", flagged: false))
    }

    @Test func `a SAML provider is always trusted`() {
        #expect(isVerified(provider("saml.work"), "ann@example.com", flagged: false))
    }

    @Test(arguments: EmailTrust.allCases)
    func `game services have no addresses`(trust: EmailTrust) {
        let policy = LinkPolicy.policy { $0.emailTrust = trust }
        #expect(policy.emailClaim(of: incoming(.playGames, "s", ann, flagged: true)) == .absent)
        #expect(policy.emailClaim(of: incoming(.gameCenter, "s", ann, flagged: true)) == .absent)
    }

    @Test(arguments: [ProviderID.google, .apple, .facebook, .gitHub, .microsoft, .yahoo, provider("oidc.work")])
    func `with asserted trust every provider's flag is taken at face value`(provider: ProviderID) {
        #expect(isVerified(provider, "ann@example.com", trust: .asserted))
        #expect(!isVerified(provider, "ann@gmail.com", flagged: false, trust: .asserted))
    }
}
