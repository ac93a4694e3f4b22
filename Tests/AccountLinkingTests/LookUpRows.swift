import AccountLinking
import AccountTestSupport
import Testing

private let now = Timestamp(secondsSinceEpoch: 2)

/// A usable code of a lookup that was mailed to Ann.
struct ProvenLookUpCase {
    /// The account that had the address when the mail was requested.
    var account: UserID?
    var owner: Account?

    static let all = everyPoint { choices in
        ProvenLookUpCase(
            account: choices.choose(from: [nil, user("a"), user("b")]),
            owner: choices.choose(from: [
                nil, Account.fixture("a", email: ann), .fixture("b", email: ann), .fixture("a"),
                .fixture("a", email: ann, disabled: true), .fixture("a", email: address("Ann@gmail.com")),
            ])
        )
    }

    var verdict: Verdict<LookUpDecision> { decideProveLookUp(mailedTo: ann, of: account, owner: owner) }
}

/// A proof of Ann's mailbox, of account `a`.
struct LookUpProofCase {
    var expiresAt: Timestamp
    var owner: Account?
    var policyVersion: Int64

    static let all = everyPoint { choices in
        LookUpProofCase(
            expiresAt: choices.choose(from: [now.adding(seconds: -1), now, now.adding(seconds: 1)]),
            owner: choices.choose(from: [
                nil, Account.fixture("a", email: ann), .fixture("a", epoch: 8, email: ann), .fixture("a", email: bob),
                .fixture("b", email: ann), .fixture("a"), .fixture("a", email: ann, password: true, disabled: true),
            ]),
            policyVersion: choices.choose(from: [3, 4])
        )
    }

    var refusal: Verdict<ConflictRefusal>? {
        refusalOfLookUpProof(
            LookUpProofFacts(
                account: user("a"),
                binding: ProofBinding(kind: .mailbox, sessionEpoch: 7, policyVersion: 3, address: ann),
                expiresAt: expiresAt
            ),
            owner: owner,
            policyVersion: policyVersion,
            now: now
        )
    }
}

/// An account, policy and suspended methods.
struct WaysInCase {
    var account: Account
    var policy: LinkPolicy
    var enabled: Set<ProviderID>
    var suspended: [SignInMethod]

    static let all = everyPoint { choices in
        let account = Account.fixture(
            "a",
            email: choices.chooseBool() ? ann : nil,
            proof: choices.chooseBool() ? .emailCode : nil,
            password: choices.chooseBool(),
            emailLink: choices.chooseBool(),
            phone: choices.chooseBool(),
            providers: choices.choose(from: [[:], [.google: "g"], [.google: "g", .gitHub: "h"]] as [LinkedSubjects]),
            disabled: choices.chooseBool(),
            secondFactor: choices.chooseBool(),
            customTokens: choices.chooseBool()
        )
        let (password, link) = (choices.chooseBool(), choices.chooseBool())
        return WaysInCase(
            account: account,
            policy: .policy {
                $0.allowsPasswordSignIn = password
                $0.allowsEmailLinkSignIn = link
            },
            enabled: choices.choose(from: [[], [.google]] as [Set<ProviderID>]),
            suspended: choices.choose(from: [[], [.password, .provider(.google)]] as [[SignInMethod]])
        )
    }

    var ways: WaysIn {
        waysIn(
            to: account,
            policy: policy,
            enabledProviders: enabled,
            suspended: suspended.map { ($0, now) }
        )
    }
}

struct LookUpRows {
    /// Every rule about lookups that decides something.
    static let rules: [Rule] =
        ProvenLookUpCase.all.map(\.verdict.rule) + LookUpProofCase.all.compactMap { $0.refusal?.rule }

    @Test func `M25, M31 and M32: a code proves the mailbox of the account that has the address now`() {
        checkLaw(ProvenLookUpCase.all) { point in
            guard let owner = point.owner, let mailbox = owner.email?.address,
                point.account == nil || point.account == owner.id
            else { return point.verdict == Verdict(.lookUpAccountGone, .refuse(.refused(.invalidEmailCode))) }
            if !mailbox.isSameMailbox(as: ann) {
                return point.verdict
                    == Verdict(.signInLinkOfOtherMailbox, .refuse(.refused(.invalidEmailCode)))
            }
            return point.verdict == Verdict(.lookUpProven, .proven)
        }
    }

    @Test func `M33 and M34: a proof is valid for 10 minutes, for the account, address and configuration as they were`()
    {
        checkLaw(LookUpProofCase.all) { point in
            guard now < point.expiresAt else { return point.refusal == Verdict(.lookUpProofExpired, .proofExpired) }
            let isSame =
                point.owner?.id == user("a") && point.owner?.sessionEpoch == 7
                && point.owner?.email?.address == ann && point.policyVersion == 3
            return point.refusal == (isSame ? nil : Verdict(.lookUpProofStale, .proofStale))
        }
    }

    @Test func `every way to sign in again but a custom token is listed as working`() {
        checkLaw(WaysInCase.all) { point in
            let again = reauthenticationMethods(
                of: point.account,
                policy: point.policy,
                enabledProviders: point.enabled
            )
            return again.allSatisfy { way in
                switch way {
                case .customToken: true
                case .signIn(let method): point.ways.working.contains(method)
                }
            }
        }
    }

    @Test func `an account with an address has something to offer, unless it is disabled or policy allows nothing`() {
        checkLaw(WaysInCase.all) { point in
            guard point.account.hasEmail, !point.account.isDisabled else { return nil }
            guard point.policy.allowsEmailLinkSignIn || point.policy.allowsPasswordSignIn else { return nil }
            return !point.ways.working.isEmpty || point.ways.offersPassword
        }
    }

    @Test func `a disabled account has no working method and is offered no password`() {
        checkLaw(WaysInCase.all) { point in
            guard point.account.isDisabled else { return nil }
            return point.ways.working.isEmpty && !point.ways.offersPassword
        }
    }

    @Test func `the mailbox takes no unproven account over while another method works`() {
        checkLaw(WaysInCase.all) { point in
            let works = workingMethods(of: point.account, policy: point.policy, enabledProviders: point.enabled)
            guard !point.policy.isProven(point.account), !works.isEmpty else { return nil }
            return point.ways.working == works && !point.ways.offersPassword
        }
    }

    @Test func `each method is listed once, and a suspended one only if the account does not have it`() {
        checkLaw(WaysInCase.all) { point in
            let methods = point.ways.methods.map(\.method)
            return Set(methods).count == methods.count && Set(point.suspended).isSubset(of: methods)
                && point.ways.methods.allSatisfy { way in
                    guard case .suspended = way.state else { return true }
                    return !(way.method == .password ? point.account.hasPassword : false)
                        && !point.account.signInMethods.contains(way.method)
                }
        }
    }

    @Test func `the method used last is one that works now`() {
        checkLaw(WaysInCase.all) { point in
            ["password", "phone", "google.com", "github.com", "anonymous", "custom"].allSatisfy { provider in
                usedMethod(signInProvider: provider, ways: point.ways).map(point.ways.working.contains) ?? true
            }
        }
        let both = waysIn(
            to: .fixture("a", email: ann, proof: .emailCode, password: true, emailLink: true),
            policy: .policy { _ in },
            enabledProviders: [],
            suspended: []
        )
        #expect(usedMethod(signInProvider: "password", ways: both) == .password)
        let link = waysIn(
            to: .fixture("a", email: ann, proof: .emailLink, emailLink: true),
            policy: .policy { _ in },
            enabledProviders: [],
            suspended: []
        )
        #expect(usedMethod(signInProvider: "password", ways: link) == .emailLink)
    }
}
