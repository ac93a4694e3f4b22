import AccountLinking
import AccountTestSupport
import Testing

/// Methods of an account that work now, and the ways to sign in again.
struct WorkingMethodsTests {
    private let everything = LinkPolicy.policy { $0.recentSignInSeconds = 60 }
    private let nothing = LinkPolicy.policy {
        $0.allowsPasswordSignIn = false
        $0.allowsEmailLinkSignIn = false
        $0.allowsPhoneSignIn = false
    }

    private func standings(
        _ account: Account,
        _ policy: LinkPolicy? = nil,
        enabled: Set<ProviderID> = [.google]
    ) -> [String] {
        methodStatuses(of: account, policy: policy ?? everything, enabledProviders: enabled)
            .map { "\($0.method.name): \($0.obstacle?.rawValue ?? "works")" }
    }

    private func ways(
        _ account: Account,
        _ policy: LinkPolicy? = nil,
        enabled: Set<ProviderID> = [.google]
    ) -> [String] {
        reauthenticationMethods(of: account, policy: policy ?? everything, enabledProviders: enabled).map(\.name)
    }

    @Test func `every method works or has an obstacle`() {
        let full = Account.fixture(
            "a",
            email: ann,
            password: true,
            emailLink: true,
            phone: true,
            providers: [.gitHub: "h", .google: "g"]
        )
        #expect(
            standings(full) == [
                "password: works", "emailLink: works", "phone: works", "github.com: not-enabled",
                "google.com: works",
            ]
        )
        #expect(
            standings(full, nothing, enabled: []) == [
                "password: not-enabled", "emailLink: not-enabled", "phone: not-enabled", "github.com: not-enabled",
                "google.com: not-enabled",
            ]
        )
        var disabled = full
        disabled.isDisabled = true
        #expect(Set(standings(disabled).map { $0.split(separator: " ")[1] }) == ["account-disabled"])
        #expect(standings(.fixture("a", password: true)) == ["password: no-address"])
        #expect(standings(.fixture("a", emailLink: true)) == [])
        #expect(standings(.fixture("a", phone: true, secondFactor: true)) == ["phone: not-available"])
    }

    @Test func `hasWorkingMethod agrees with the list of working methods`() {
        let enabled: [Set<ProviderID>] = [[], [.google], [.gitHub], [.google, .gitHub]]
        for bits in 0..<128 {
            func has(_ bit: Int) -> Bool { bits & 1 << bit != 0 }
            var account = Account.fixture(
                "a",
                email: has(0) ? ann : nil,
                password: has(1),
                emailLink: has(2),
                phone: has(3),
                providers: has(4) ? [.google: "g", .gitHub: "h"] : [:],
                secondFactor: has(5)
            )
            account.isDisabled = has(6)
            for policy in [everything, nothing] {
                for enabled in enabled {
                    let all = workingMethods(of: account, policy: policy, enabledProviders: enabled)
                    #expect(
                        hasWorkingMethod(account, policy: policy, isEnabled: enabled.contains) == !all.isEmpty,
                        "\(account), \(enabled)"
                    )
                }
            }
        }
    }

    @Test func `every kind of user has a way to sign in again`() {
        #expect(ways(.fixture("password", email: ann, password: true)) == ["password"])
        #expect(ways(.fixture("proven", email: ann, proof: .emailCode, password: true)) == ["password", "emailLink"])
        #expect(ways(.fixture("link", email: ann, proof: .emailLink, emailLink: true)) == ["emailLink"])
        #expect(ways(.fixture("provider", providers: [.google: "g"])) == ["google.com"])
        #expect(ways(.fixture("provider off", providers: [.gitHub: "h"])) == ["custom"])
        #expect(ways(.fixture("custom", customTokens: true)) == ["custom"])
        #expect(ways(.fixture("custom too", email: ann, password: true, customTokens: true)) == ["password", "custom"])
        #expect(ways(.fixture("phone", phone: true)) == ["phone"])
        #expect(ways(.fixture("phone off", phone: true), nothing) == ["custom"])
        #expect(ways(.fixture("left over", password: true)) == ["custom"])
        #expect(ways(.fixture("address", email: ann)) == ["emailLink"])
        #expect(ways(.fixture("factors", email: ann, password: true, secondFactor: true)) == ["password"])
        // The link would remove the provider from an account with an unproven address.
        #expect(ways(.fixture("unproven", email: ann, providers: [.gitHub: "h"])) == ["custom"])
        #expect(ways(.fixture("off", email: ann, proof: .emailCode, password: true), nothing) == ["custom"])
        #expect(ways(.fixture("disabled", email: ann, password: true, disabled: true)) == [])
    }

    @Test func `every account is exempt, disabled, or has a way to sign in again, under every policy`() {
        struct Point {
            let account: Account
            let policy: LinkPolicy
            let enabled: Set<ProviderID>
        }
        let points = everyPoint { choices in
            var policy = LinkPolicy()
            policy.allowsPasswordSignIn = choices.chooseBool()
            policy.allowsEmailLinkSignIn = choices.chooseBool()
            policy.allowsPhoneSignIn = choices.chooseBool()
            let email = choices.choose(from: [nil, ann])
            return Point(
                account: .fixture(
                    "a",
                    email: email,
                    proof: email != nil && choices.chooseBool() ? .emailCode : nil,
                    password: choices.chooseBool(),
                    emailLink: choices.chooseBool(),
                    phone: choices.chooseBool(),
                    providers: choices.choose(from: [[:], [.google: "g"]]),
                    disabled: choices.chooseBool(),
                    secondFactor: choices.chooseBool(),
                    customTokens: choices.chooseBool()
                ),
                policy: policy,
                enabled: choices.choose(from: [[], [.google]])
            )
        }
        checkLaw(points) { point in
            if point.account.isDisabled { return nil }
            let requirement = reauthentication(
                policy: point.policy,
                operation: .deleteAccount,
                account: point.account,
                isSessionAnonymous: true
            )
            if requirement == .notRequired { return point.account.isAnonymous }
            let ways = reauthenticationMethods(
                of: point.account,
                policy: point.policy,
                enabledProviders: point.enabled
            )
            return !ways.isEmpty && Set(ways).count == ways.count
                && ways.allSatisfy { way in
                    switch way {
                    case .customToken: true
                    case .signIn(.password): point.policy.allowsPasswordSignIn && point.account.hasPassword
                    case .signIn(.emailLink): point.policy.allowsEmailLinkSignIn && point.account.email != nil
                    case .signIn(.provider(let provider)): point.enabled.contains(provider)
                    case .signIn(.phone): point.policy.allowsPhoneSignIn && !point.account.hasSecondFactor
                    }
                }
        }
        checkLaw(points) { point in
            let works = workingMethods(of: point.account, policy: point.policy, enabledProviders: point.enabled)
            return Set(works).isSubset(of: point.account.signInMethods) && (!point.account.isDisabled || works.isEmpty)
        }
    }

    @Test func `a recent sign-in is not challenged, an older one gets the maximum age and the methods`() {
        let account = Account.fixture("a", email: ann, password: true)
        func challenge(_ account: Account, after seconds: Int64) -> ReauthenticationChallenge? {
            reauthenticationChallenge(
                policy: everything,
                operation: .deleteAccount,
                account: account,
                enabledProviders: [],
                isSessionAnonymous: true,
                authTime: Timestamp(secondsSinceEpoch: 1000),
                now: Timestamp(secondsSinceEpoch: 1000 + seconds)
            )
        }
        #expect(challenge(account, after: 60) == nil)
        #expect(challenge(account, after: 61)?.maximumAgeSeconds == 60)
        #expect(challenge(account, after: 61)?.methods == [.signIn(.password)])
        #expect(challenge(.fixture("anonymous"), after: 1_000_000) == nil)
    }
}
