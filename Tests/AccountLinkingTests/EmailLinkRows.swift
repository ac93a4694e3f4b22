import AccountLinking
import Testing

struct EmailLinkRows {
    private func decide(
        owner: Account? = nil,
        target: Account? = nil,
        policy: LinkPolicy = LinkPolicy(),
        recent: Bool = true,
        proven: UserID? = nil
    ) -> Verdict<SignInDecision> {
        SignInWithEmailLinkQuestion(
            email: ann,
            owner: owner,
            target: target,
            isSessionRecent: recent,
            secondFactorProvenBy: proven
        ).decide(policy)
    }

    @Test func `M0: without the method no link signs in`() {
        let policy = LinkPolicy.policy { $0.allowsEmailLinkSignIn = false }
        #expect(
            decide(owner: .fixture("o", email: ann, disabled: true), policy: policy)
                == Verdict(.emailLinkNotEnabled, .refuse(.operationNotAllowed))
        )
    }

    @Test func `M1: a link to an unknown address creates an account with that address, proven`() {
        #expect(
            decide()
                == Verdict(
                    .signUpByEmailLink,
                    .createUser(
                        .only {
                            $0.email = .set(ann, proof: .emailLink)
                            $0.emailLink = true
                        }
                    )
                )
        )
    }

    @Test func `M2: a link signs in to a proven account, which keeps everything`() {
        let owner = Account.fixture("o", email: ann, proof: .emailCode, password: true)
        #expect(
            decide(owner: owner)
                == Verdict(
                    .signInByEmailLink,
                    .signIn(user("o"), .only { $0.emailLink = true }, emailWasRecycled: false)
                )
        )
        let again = Account.fixture("o", email: ann, proof: .emailCode, password: true, emailLink: true)
        #expect(
            decide(owner: again) == Verdict(.signInByEmailLink, .signIn(user("o"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `M3: a link takes over an account with an unproven address`() {
        let squatter = Account.fixture(
            "o",
            email: ann,
            password: true,
            phone: true,
            providers: [.gitHub: "squatter", .google: "squatter"]
        )
        let verdict = decide(owner: squatter)
        #expect(
            verdict
                == Verdict(
                    .takeoverByEmailLink,
                    .signIn(
                        user("o"),
                        .only {
                            $0.email = .prove(.emailLink)
                            $0.password = .remove
                            $0.emailLink = true
                            $0.phone = .remove
                            $0.unlinkedProviders = [.gitHub, .google]
                            $0.quarantinesRemovals = true
                            $0.endsSessions = true
                            $0.voidsOutstandingProofs = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
        guard case .signIn(_, let change, _) = verdict.decision else { return }
        #expect(squatter.applying(change).signInMethods == [.emailLink])
    }

    @Test func `M4: a link does not sign in to a disabled account`() {
        let disabled = Account.fixture("o", email: ann, disabled: true, secondFactor: true)
        #expect(
            decide(owner: disabled, policy: .secondFactors)
                == Verdict(.emailLinkAccountDisabled, .refuse(.userDisabled))
        )
        #expect(
            decide(owner: disabled, target: .fixture("t", email: bob))
                == Verdict(.emailLinkAccountDisabled, .refuse(.userDisabled))
        )
        #expect(
            decide(target: .fixture("t", disabled: true)) == Verdict(.emailLinkAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `M5: an enrolled second factor is required before any write`() {
        let owner = Account.fixture("o", email: ann, password: true, secondFactor: true)
        let required = Verdict<SignInDecision>(.emailLinkNeedsSecondFactor, .secondFactorRequired(user("o")))
        #expect(decide(owner: owner, policy: .secondFactors) == required)
        #expect(decide(owner: owner, target: owner, policy: .secondFactors) == required)
        #expect(decide(owner: owner, policy: .secondFactors, proven: user("o")).rule == .takeoverByEmailLink)
        #expect(
            decide(owner: owner, target: owner, policy: .secondFactors, proven: user("o")).rule == .emailSetByEmailLink
        )
        #expect(decide(owner: owner).rule == .takeoverByEmailLink)
    }

    @Test func `M6: a link sets the address of an account without one`() {
        let target = Account.fixture("t", phone: true)
        #expect(
            decide(target: target)
                == Verdict(
                    .emailSetByEmailLink,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: .emailLink)
                            $0.emailLink = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
    }

    @Test func `M6: a link that replaces the address stores the first one and ends other sessions`() {
        let target = Account.fixture("t", email: bob, proof: .emailCode, password: true)
        #expect(
            decide(target: target)
                == Verdict(
                    .emailSetByEmailLink,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: .emailLink)
                            $0.rememberedInitialEmail = bob
                            $0.emailLink = true
                            $0.endsSessions = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
        let changedBefore = Account.fixture("t", email: bob, password: true, initialEmail: true)
        #expect(
            decide(target: changedBefore)
                == Verdict(
                    .emailSetByEmailLink,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: .emailLink)
                            $0.emailLink = true
                            $0.endsSessions = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
    }

    @Test func `M6: a link to the account's own address proves it and removes nothing`() {
        let unproven = Account.fixture("t", email: ann, password: true, providers: [.gitHub: "github-ann"])
        #expect(
            decide(owner: unproven, target: unproven, recent: false)
                == Verdict(
                    .emailSetByEmailLink,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .prove(.emailLink)
                            $0.emailLink = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
        let linked = Account.fixture("t", email: ann, proof: .emailLink, emailLink: true)
        #expect(
            decide(owner: linked, target: linked)
                == Verdict(.emailSetByEmailLink, .signIn(user("t"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `M7: a link to another account's address is refused`() {
        let owner = Account.fixture("o", email: ann, proof: .emailCode, secondFactor: true)
        let target = Account.fixture("t", email: bob, secondFactor: true)
        #expect(decide(owner: owner, target: target) == Verdict(.emailLinkAddressInUse, .refuse(.emailExists)))
        #expect(
            decide(owner: owner, target: target, policy: .secondFactors)
                == Verdict(.emailLinkAddressInUse, .refuse(.emailExists))
        )
    }

    @Test func `M8: a link makes an anonymous account permanent under its id`() {
        let target = Account.fixture("t")
        let verdict = decide(target: target, recent: false)
        #expect(
            verdict
                == Verdict(
                    .anonymousUpgradedByEmailLink,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: .emailLink)
                            $0.emailLink = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
    }

    @Test func `M9: if clients may not sign up, a link creates no account`() {
        let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }
        #expect(decide(policy: closed) == Verdict(.emailLinkSignUpNotAllowed, .refuse(.signUpDisabled)))
        #expect(decide(owner: .fixture("o", email: ann, proof: .emailLink), policy: closed).rule == .signInByEmailLink)
        #expect(decide(target: .fixture("t"), policy: closed).rule == .anonymousUpgradedByEmailLink)
    }

    @Test func `M10: replacing the address by a link needs a recent sign-in under every policy`() {
        let target = Account.fixture("t", email: bob, password: true)
        let refused = Verdict<SignInDecision>(.emailLinkReplacementNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(decide(target: target, policy: .firebase, recent: false) == refused)
        // The address was removed before.
        let bare = Account.fixture("t", initialEmail: true)
        #expect(decide(target: bare, policy: .firebase, recent: false) == refused)
    }

    @Test func `M11: an old session links no mailbox, and does not learn whether it has an account`() {
        let refused = Verdict<SignInDecision>(.mailedLinkNeedsRecentSignIn, .refuse(.credentialTooOld))
        let withoutAddress = Account.fixture("t", phone: true)
        let withAddress = Account.fixture("t", email: bob, password: true)
        let owner = Account.fixture("o", email: ann, proof: .emailCode)
        for target in [withoutAddress, withAddress] {
            #expect(decide(target: target, recent: false) == refused)
            #expect(decide(owner: owner, target: target, recent: false) == refused)
            #expect(decide(owner: owner, target: target).rule == .emailLinkAddressInUse)
        }
        #expect(decide(target: withoutAddress, policy: .firebase, recent: false).rule == .emailSetByEmailLink)
        // An anonymous account cannot sign in again, and the account's own mailbox is not new.
        #expect(decide(target: .fixture("t"), recent: false).rule == .anonymousUpgradedByEmailLink)
        let own = Account.fixture("t", email: ann, password: true)
        #expect(decide(owner: own, target: own, recent: false).rule == .emailSetByEmailLink)
    }

    @Test func `M12: a link takes over an account that a former holder of the address opened with Apple`() {
        let former = Account.fixture("o", email: ann, proof: .provider(.apple), providers: [.apple: "former"])
        let verdict = decide(owner: former)
        guard verdict.rule == .mailedLinkFromFormerHolder, case .signIn(_, let change, _) = verdict.decision else {
            Issue.record("no takeover: \(verdict.rule)")
            return
        }
        #expect(former.applying(change).signInMethods == [.emailLink] && change.quarantinesRemovals)
        #expect(decide(owner: former, policy: .firebase).rule == .signInByEmailLink)
        // Apple issues that mailbox.
        let relay = address("ann@icloud.com")
        let owner = Account.fixture("o", email: relay, proof: .provider(.apple), providers: [.apple: "ann"])
        #expect(LinkPolicy().isProven(owner) && !LinkPolicy().isProven(former) && LinkPolicy.firebase.isProven(former))
        // With session and mailbox the caller is both; the mailbox becomes the proof.
        let own = decide(owner: former, target: former, recent: false)
        guard own.rule == .emailSetByEmailLink, case .signIn(_, let change, _) = own.decision else {
            Issue.record("not signed in: \(own.rule)")
            return
        }
        let after = former.applying(change)
        #expect(after.email?.proof == .emailLink && after.signInMethods == [.emailLink, .provider(.apple)])
        #expect(decide(owner: after).rule == .signInByEmailLink)
    }
}
