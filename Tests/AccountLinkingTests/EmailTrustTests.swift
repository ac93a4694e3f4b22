import AccountLinking
import Testing

/// The trust in each provider's word about an address (docs/reference/decisions.md, "Whose word about an address is
/// proof").
struct EmailTrustTests {
    private func isVerified(
        _ provider: ProviderID,
        _ raw: String,
        flagged: Bool? = true,
        hostedDomain: String? = nil,
        issuer: String? = nil,
        isTaken: Bool = true,
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
        let claim = policy.emailClaim(of: credential, isAddressTaken: isTaken)
        #expect(claim == .verified(email) || claim == .unverified(email))
        return claim == .verified(email)
    }

    @Test func `a credential without an address has no claim`() {
        for trust in [EmailTrust.declared, .asserted] {
            let policy = LinkPolicy.policy { $0.emailTrust = trust }
            #expect(policy.emailClaim(of: .withoutEmail, isAddressTaken: false) == .absent)
        }
    }

    @Test func `google.com is trusted for gmail.com if it says that it verified the address`() {
        #expect(isVerified(.google, "ann@gmail.com"))
        #expect(isVerified(.google, "Ann@GMail.com"))
        #expect(!isVerified(.google, "ann@gmail.com", flagged: nil))
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

    @Test func `google.com is not trusted for a consumer account with an address elsewhere`() {
        #expect(!isVerified(.google, "ann@example.com"))
    }

    @Test func `apple.com is trusted for Apple's own mailboxes`() {
        for domain in ["icloud.com", "me.com", "mac.com", "privaterelay.appleid.com"] {
            for trust in [EmailTrust.declared, .compatible] {
                #expect(isVerified(.apple, "ann@" + domain, trust: trust))
                #expect(isVerified(.apple, "ann@" + domain, flagged: nil, trust: trust))
            }
            #expect(!isVerified(.apple, "ann@sub." + domain))
        }
    }

    @Test func `apple.com verifies an address elsewhere for a new account only`() {
        #expect(!isVerified(.apple, "ann@example.com", isTaken: true))
        #expect(isVerified(.apple, "ann@example.com", isTaken: false))
        #expect(!isVerified(.apple, "ann@example.com", flagged: nil, isTaken: false))
        #expect(isVerified(.apple, "ann@example.com", isTaken: true, trust: .compatible))
    }

    @Test func `a flag that says not verified is never proof, under any provider`() {
        let providers: [ProviderID] = [
            .google, .apple, .yahoo, .microsoft, .facebook, .gitHub, provider("oidc.work"), provider("saml.work"),
        ]
        let domains = ["gmail.com", "icloud.com", "yahoo.com", "outlook.com", "example.com"]
        for provider in providers {
            for domain in domains {
                for trust in [
                    EmailTrust.declared, .compatible, .asserted, EmailTrust([.init(.init(.any), .authoritative)]),
                ] {
                    for isTaken in [true, false] {
                        #expect(
                            !isVerified(
                                provider,
                                "ann@" + domain,
                                flagged: false,
                                hostedDomain: domain,
                                isTaken: isTaken,
                                trust: trust
                            )
                        )
                    }
                }
            }
        }
    }

    @Test func `yahoo.com is trusted for yahoo.com`() {
        #expect(isVerified(.yahoo, "ann@yahoo.com", flagged: nil))
        #expect(!isVerified(.yahoo, "ann@yahoo.co.uk"))
        #expect(!isVerified(.yahoo, "ann@example.com"))
    }

    @Test func `microsoft.com is trusted for its mailboxes, never for a work account`() {
        let consumers = "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0"
        let work = "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0"
        for domain in ["outlook.com", "hotmail.com"] {
            #expect(isVerified(.microsoft, "ann@" + domain, flagged: nil))
            #expect(isVerified(.microsoft, "ann@" + domain, issuer: consumers))
            #expect(!isVerified(.microsoft, "ann@" + domain, issuer: work))
        }
        #expect(!isVerified(.microsoft, "ann@live.com", issuer: consumers))
        #expect(!isVerified(.microsoft, "ann@example.com", issuer: consumers))
    }

    @Test(arguments: [ProviderID.facebook, .twitter, .gitHub, .linkedIn, provider("example.com")])
    func `a provider without a rule is not trusted`(provider: ProviderID) {
        #expect(!isVerified(provider, "ann@gmail.com", hostedDomain: "gmail.com"))
    }

    @Test func `an OpenID Connect provider asserts addresses unless a rule names a domain`() {
        let work = provider("oidc.work")
        #expect(!isVerified(work, "ann@example.com"))
        #expect(!isVerified(work, "ann@example.com", isTaken: false))
        #expect(isVerified(work, "ann@example.com", trust: .compatible))
        let named = EmailTrust.declared.adding([.init(.init(.only(work), .any, .only("example.com")), .authoritative)])
        #expect(isVerified(work, "ann@example.com", flagged: nil, trust: named))
        #expect(!isVerified(work, "ann@sub.example.com", trust: named))
    }

    @Test func `a known issuer that is registered as oidc follows the rules of its provider`() {
        let work = provider("oidc.work")
        let issuers = [
            "https://accounts.google.com", "https://appleid.apple.com", "https://www.linkedin.com/oauth",
            "https://www.facebook.com", "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
        ]
        for issuer in issuers {
            #expect(!isVerified(work, "victim@corp.example", issuer: issuer), "\(issuer)")
        }
        #expect(isVerified(work, "ann@gmail.com", issuer: "https://accounts.google.com"))
        #expect(isVerified(work, "ann@icloud.com", issuer: "https://appleid.apple.com"))
        #expect(!isVerified(work, "ann@gmail.com", issuer: "https://accounts.google.com.evil.example"))
        // The preset `firebase` accepts the flag of every `oidc.*`, as production does.
        #expect(isVerified(work, "victim@corp.example", issuer: issuers[2], trust: .compatible))
        // An operator's rule precedes the rules of the issuer's provider.
        let own = EmailTrust.declared.adding([.init(.init(.only(work)), .verifying)])
        #expect(isVerified(work, "victim@corp.example", issuer: issuers[0], trust: own))
    }

    @Test func `a SAML provider is trusted`() {
        #expect(isVerified(provider("saml.work"), "ann@example.com", flagged: nil))
    }

    @Test(arguments: [EmailTrust.declared, .asserted])
    func `game services have no addresses`(trust: EmailTrust) {
        let policy = LinkPolicy.policy { $0.emailTrust = trust }
        #expect(policy.emailClaim(of: incoming(.playGames, "s", ann, flagged: true), isAddressTaken: false) == .absent)
        #expect(policy.emailClaim(of: incoming(.gameCenter, "s", ann, flagged: true), isAddressTaken: false) == .absent)
    }

    @Test(arguments: [ProviderID.google, .apple, .facebook, .gitHub, .microsoft, .yahoo, provider("oidc.work")])
    func `with asserted trust every provider's flag is taken at face value`(provider: ProviderID) {
        #expect(isVerified(provider, "ann@example.com", trust: .asserted))
        #expect(!isVerified(provider, "ann@gmail.com", flagged: false, trust: .asserted))
    }
}

/// Operators' rules beside the rules of the preset.
struct EmailTrustTableTests {
    private let work = provider("oidc.work")

    private func trust(_ own: [EmailTrustRule], _ provider: ProviderID, issuer: String? = nil) -> EmailTrustClass {
        EmailTrust.declared.adding(own).trust(of: provider, issuer: issuer, for: ann, hostedDomain: nil)
    }

    @Test func `a rule for the same scope replaces the preset's`() {
        #expect(trust([], work) == .asserting)
        #expect(trust([.init(.init(.openIDConnect), .verifying)], work) == .verifying)
        #expect(
            EmailTrust.declared.adding([.init(.init(.openIDConnect), .verifying)]).rules.count
                == EmailTrust.declared.rules.count
        )
    }

    @Test func `the narrowest rule applies, in any order`() {
        let own: [EmailTrustRule] = [
            .init(.init(.only(work), .any, .only(String(ann.domain))), .authoritative),
            .init(.init(.only(work)), .untrusted),
        ]
        #expect(trust(own, work) == .authoritative)
        #expect(trust(own.reversed(), work) == .authoritative)
        #expect(trust([own[1]], work) == .untrusted)
    }

    @Test func `rules that disagree and of which none is narrower prove nothing`() {
        let byIssuer = EmailTrustRule(.init(.only(work), .only("https://id.example")), .authoritative)
        let byDomain = EmailTrustRule(.init(.only(work), .any, .only(String(ann.domain))), .verifying)
        #expect(trust([byIssuer, byDomain], work, issuer: "https://id.example") == .asserting)
        #expect(trust([byIssuer, byDomain], work, issuer: "https://other.example") == .verifying)
        let agreeing = EmailTrustRule(byDomain.scope, .authoritative)
        #expect(trust([byIssuer, agreeing], work, issuer: "https://id.example") == .authoritative)
        let weaker = EmailTrustRule(byDomain.scope, .untrusted)
        #expect(trust([byIssuer, weaker], work, issuer: "https://id.example") == .untrusted)
    }

    @Test func `a table without a matching rule trusts no provider`() {
        #expect(EmailTrust([]).trust(of: .google, issuer: nil, for: ann, hostedDomain: nil) == .untrusted)
    }

    @Test func `the order of two rules does not matter`() {
        let providers: [EmailTrustRule.Providers] = [.any, .openIDConnect, .only(work)]
        let issuers: [EmailTrustRule.Issuers] = [.any, .only("https://id.example")]
        let domains: [EmailTrustRule.Domains] = [.any, .only(String(ann.domain))]
        let scopes = providers.flatMap { provider in
            issuers.flatMap { issuer in domains.map { EmailTrustRule.Scope(provider, issuer, $0) } }
        }
        for first in scopes {
            for second in scopes where first != second {
                for trusts in [(EmailTrustClass.authoritative, EmailTrustClass.asserting), (.untrusted, .verifying)] {
                    let rules = [EmailTrustRule(first, trusts.0), EmailTrustRule(second, trusts.1)]
                    let verdicts = [rules, rules.reversed()].map {
                        EmailTrust($0).trust(of: work, issuer: "https://id.example", for: ann, hostedDomain: nil)
                    }
                    #expect(verdicts[0] == verdicts[1])
                    #expect(trusts.0 == verdicts[0] || trusts.1 == verdicts[0] || verdicts[0] <= .asserting)
                }
            }
        }
    }

    @Test func `an untrusted address counts as absent`() {
        let policy = LinkPolicy.policy {
            $0.emailTrust = .declared.adding([.init(.init(.only(.facebook)), .untrusted)])
        }
        #expect(policy.emailClaim(of: incoming(.facebook, "s", ann, flagged: true), isAddressTaken: false) == .absent)
    }
}

/// Rules for the proofs that settle a conflict.
struct ConflictProofPolicyTests {
    private func proofs(_ rules: [ConflictProofRule], _ methods: [SignInMethod]) -> Set<ConflictProofKind> {
        LinkPolicy.policy { $0.conflictProofRules = rules }.conflictProofs(methods: methods, bringing: .gitHub)
    }

    @Test func `without a rule every proof counts`() {
        #expect(proofs([], [.password]) == Set(ConflictProofKind.allCases))
        #expect(proofs([.init(.init(provider: .facebook), [])], [.password]) == Set(ConflictProofKind.allCases))
    }

    @Test func `the narrowest rule of a pair applies`() {
        let rules: [ConflictProofRule] = [
            .init(.init(), []), .init(.init(method: .password), [.mailbox]),
            .init(.init(method: .password, provider: .gitHub), [.session]),
        ]
        #expect(proofs(rules, [.password]) == [.session])
        #expect(proofs(rules, [.emailLink]) == [])
        #expect(proofs(rules, []) == [])
    }

    @Test func `if two rules match, or the account has two methods, the proofs that all allow count`() {
        let byMethod = ConflictProofRule(.init(method: .password), [.mailbox, .session])
        let byProvider = ConflictProofRule(.init(provider: .gitHub), [.session])
        #expect(proofs([byMethod, byProvider], [.password]) == [.session])
        let rules: [ConflictProofRule] = [
            .init(.init(method: .password), [.mailbox]), .init(.init(method: .provider(.google)), [.session]),
        ]
        #expect(proofs(rules, [.password, .provider(.google)]) == [])
        #expect(proofs(rules, [.provider(.google)]) == [.session])
    }
}
