import AccountLinking
import Testing

struct LinkWithIdpRows {
    private func decide(
        _ credential: IncomingCredential,
        to target: Account,
        policy: LinkPolicy = LinkPolicy(),
        identityOwner: Account? = nil,
        emailOwner: Account? = nil,
        enabled: Bool = true,
        proven: UserID? = nil,
        isSessionRecent: Bool = true,
        settlesConflict: Bool = false
    ) -> Verdict<SignInDecision> {
        LinkWithIdpQuestion(
            target: target,
            identityOwner: identityOwner,
            emailOwner: emailOwner,
            credential: credential,
            isProviderEnabled: enabled,
            secondFactorProvenBy: proven,
            isSessionRecent: isSessionRecent,
            settlesConflict: settlesConflict
        ).decide(policy)
    }

    private func linked(
        _ rule: Rule,
        _ identity: ProviderIdentity,
        email: AccountChange.Email = .keep
    ) -> Verdict<SignInDecision> {
        let change = AccountChange.only {
            $0.linkedIdentity = identity
            $0.email = email
        }
        return Verdict(rule, .signIn(user("t"), change, emailWasRecycled: false))
    }

    @Test func `L10: an old session links nothing, and does not learn who owns the identity`() {
        let target = Account.fixture("t", email: ann, password: true)
        for owner in [nil, Account.fixture("f")] {
            #expect(
                decide(.trusted, to: target, identityOwner: owner, isSessionRecent: false)
                    == Verdict(.linkNeedsRecentSignIn, .refuse(.credentialTooOld))
            )
        }
        #expect(
            decide(.trusted, to: target, policy: .firebase, emailOwner: target, isSessionRecent: false).rule
                == .providerLinked
        )
    }

    @Test func `L11: the owner replaces a subject by settling the conflict that a sign-in opened`() {
        let target = Account.fixture("t", email: ann, proof: .emailCode, password: true, providers: [.google: "old"])
        let change = AccountChange.only {
            $0.linkedIdentity = IncomingCredential.trusted.identity
            $0.unlinkedProviders = [.google]
        }
        #expect(
            decide(.trusted, to: target, emailOwner: target, settlesConflict: true)
                == Verdict(.subjectReplacedByOwner, .signIn(user("t"), change, emailWasRecycled: false))
        )
        #expect(decide(.trusted, to: target, emailOwner: target).rule == .linkOfSecondSubject)
        #expect(
            decide(.trusted, to: target, policy: .firebase, emailOwner: target, settlesConflict: true).rule
                == .linkOfSecondSubject
        )
    }

    @Test func `L0: a disabled account links nothing`() {
        let target = Account.fixture("t", email: ann, password: true, disabled: true)
        #expect(
            decide(.trusted, to: target, identityOwner: .fixture("f"))
                == Verdict(.linkAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `L1: an identity of another account is a conflict with that account`() {
        let target = Account.fixture("t", email: bob, password: true)
        let owner = Account.fixture("f", email: ann, providers: [.google: "google-ann"])
        let mailOwner = Account.fixture("m", email: ann)
        #expect(
            decide(.trusted, to: target, identityOwner: owner, emailOwner: mailOwner)
                == Verdict(.linkIdentityInUse, .conflict(.credentialAlreadyInUse(account: user("f"))))
        )
    }

    @Test func `L2: an identity that is already linked is refused, without a pending credential`() {
        let target = Account.fixture("t", email: ann, providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, to: target, identityOwner: target, emailOwner: target)
                == Verdict(.linkIdentityAlreadyLinked, .refuse(.federatedIdentityAlreadyLinked))
        )
    }

    @Test(arguments: [IncomingCredential.trusted, .untrusted])
    func `L3: an address of another account is a conflict with that account`(credential: IncomingCredential) {
        let owner = Account.fixture("m", email: ann, proof: .emailCode)
        let conflict = Verdict<SignInDecision>(.linkEmailInUse, .conflict(.emailAlreadyInUse(account: user("m"))))
        let target = Account.fixture("t", email: bob, password: true)
        #expect(decide(credential, to: target, emailOwner: owner) == conflict)
        #expect(decide(credential, to: .fixture("t"), emailOwner: owner) == conflict)
        let withProvider = Account.fixture("t", email: bob, providers: [credential.identity.provider: "other"])
        #expect(decide(credential, to: withProvider, emailOwner: owner) == conflict)
    }

    @Test func `L3: a project that confirms unproven addresses does not say that another account has one`() {
        let confirming = LinkPolicy.policy { $0.unprovenAddress = .confirm }
        let linked = linked(.providerLinked, identity(.gitHub, "github-ann"))
        for owner in [nil, Account.fixture("m", email: ann), .fixture("m", email: ann, proof: .emailCode)] {
            let target = Account.fixture("t", email: bob, password: true)
            #expect(decide(.untrusted, to: target, policy: confirming, emailOwner: owner) == linked)
            let withProvider = Account.fixture("t", email: bob, providers: [.gitHub: "other"])
            #expect(
                decide(.untrusted, to: withProvider, policy: confirming, emailOwner: owner).rule == .linkOfSecondSubject
            )
            // The account gets no address that another person may own.
            #expect(decide(.untrusted, to: .fixture("t", phone: true), policy: confirming, emailOwner: owner) == linked)
            #expect(
                decide(.untrusted, to: .fixture("t"), policy: confirming, emailOwner: owner)
                    == self.linked(.anonymousUpgradedByProvider, identity(.gitHub, "github-ann"))
            )
        }
        // A proven address is no stranger's.
        #expect(
            decide(
                .trusted,
                to: .fixture("t", email: bob),
                policy: confirming,
                emailOwner: .fixture("m", email: ann, proof: .emailCode)
            ).rule == .linkEmailInUse
        )
    }

    @Test func `L4: linking keeps the account's own address`() {
        let target = Account.fixture("t", email: bob, proof: .emailCode, password: true)
        #expect(decide(.trusted, to: target) == linked(.providerLinked, identity(.google, "google-ann")))
    }

    @Test func `L4: an account without an address gets the provider's, proven if the provider is trusted`() {
        let target = Account.fixture("t", phone: true)
        #expect(
            decide(.trusted, to: target)
                == linked(.providerLinked, identity(.google, "google-ann"), email: .set(ann, proof: .provider(.google)))
        )
        #expect(
            decide(.untrusted, to: target)
                == linked(.providerLinked, identity(.gitHub, "github-ann"), email: .set(ann, proof: nil))
        )
        #expect(decide(.withoutEmail, to: target) == linked(.providerLinked, identity(.facebook, "facebook-ann")))
    }

    @Test func `L4: no unproven address replaces a removed one`() {
        let target = Account.fixture("t", phone: true, initialEmail: true)
        #expect(decide(.untrusted, to: target) == linked(.providerLinked, identity(.gitHub, "github-ann")))
        #expect(
            decide(.trusted, to: target)
                == linked(.providerLinked, identity(.google, "google-ann"), email: .set(ann, proof: .provider(.google)))
        )
    }

    @Test func `L4: a word for new addresses replaces no removed address, and sets none beside a second factor`() {
        let word = incoming(.apple, "apple-ann", ann, flagged: true)
        let mailboxes = incoming(.apple, "apple-ann", address("ann@icloud.com"), flagged: true)
        let former = Account.fixture("t", phone: true, initialEmail: true)
        let guarded = Account.fixture("t", phone: true, secondFactor: true)
        for target in [former, guarded] {
            #expect(decide(word, to: target) == linked(.providerLinked, identity(.apple, "apple-ann")))
            let set = AccountChange.Email.set(address("ann@icloud.com"), proof: .provider(.apple))
            #expect(decide(mailboxes, to: target) == linked(.providerLinked, identity(.apple, "apple-ann"), email: set))
        }
        let set = AccountChange.Email.set(ann, proof: .provider(.apple))
        #expect(
            decide(word, to: .fixture("t", phone: true))
                == linked(.providerLinked, identity(.apple, "apple-ann"), email: set)
        )
        // Under the preset `firebase` Apple's flag counts for each address.
        #expect(
            decide(word, to: former, policy: .firebase)
                == linked(.providerLinked, identity(.apple, "apple-ann"), email: set)
        )
    }

    @Test func `L4: a trusted provider proves the account's own address, an untrusted one does not`() {
        let target = Account.fixture("t", email: ann, password: true)
        #expect(
            decide(.trusted, to: target, emailOwner: target)
                == linked(.providerLinked, identity(.google, "google-ann"), email: .prove(.provider(.google)))
        )
        #expect(
            decide(.untrusted, to: target, emailOwner: target)
                == linked(.providerLinked, identity(.gitHub, "github-ann"))
        )
        let proven = Account.fixture("t", email: ann, proof: .emailCode, password: true)
        #expect(
            decide(.trusted, to: proven, emailOwner: proven) == linked(.providerLinked, identity(.google, "google-ann"))
        )
    }

    @Test func `L5: with duplicates allowed no address is a conflict and none is copied`() {
        let target = Account.fixture("t", phone: true)
        let owner = Account.fixture("m", email: ann, proof: .emailCode)
        #expect(
            decide(.trusted, to: target, policy: .duplicates, emailOwner: owner)
                == linked(.providerLinkedDuplicateEmails, identity(.google, "google-ann"))
        )
        let unproven = Account.fixture("t", email: ann, password: true)
        #expect(
            decide(.trusted, to: unproven, policy: .duplicates, emailOwner: unproven)
                == linked(
                    .providerLinkedDuplicateEmails,
                    identity(.google, "google-ann"),
                    email: .prove(.provider(.google))
                )
        )
    }

    @Test func `L6: a session without the second factor links nothing, one that carries it links at once`() {
        let target = Account.fixture("t", email: bob, proof: .emailCode, password: true, secondFactor: true)
        #expect(
            decide(.trusted, to: target, policy: .secondFactors)
                == Verdict(.linkNeedsSecondFactor, .secondFactorRequired(user("t")))
        )
        #expect(
            decide(.trusted, to: target, policy: .secondFactors, proven: user("t"))
                == linked(.providerLinked, identity(.google, "google-ann"))
        )
        #expect(decide(.trusted, to: target) == linked(.providerLinked, identity(.google, "google-ann")))
    }

    @Test func `L7: an anonymous account becomes permanent under its id`() {
        let target = Account.fixture("t")
        let verdict = decide(.trusted, to: target)
        #expect(
            verdict
                == linked(
                    .anonymousUpgradedByProvider,
                    identity(.google, "google-ann"),
                    email: .set(ann, proof: .provider(.google))
                )
        )
        guard case .signIn(_, let change, _) = verdict.decision else { return }
        #expect(!target.applying(change).isAnonymous)
        #expect(
            decide(.trusted, to: target, policy: .duplicates)
                == linked(.anonymousUpgradedByProvider, identity(.google, "google-ann"))
        )
    }

    @Test func `L8: another identity of a linked provider is a conflict; nothing is replaced`() {
        let target = Account.fixture("t", email: bob, providers: [.google: "google-bob"], secondFactor: true)
        let conflict = Verdict<SignInDecision>(
            .linkOfSecondSubject,
            .conflict(.credentialAlreadyInUse(account: user("t")))
        )
        #expect(decide(.trusted, to: target) == conflict)
        #expect(decide(.trusted, to: target, policy: .secondFactors) == conflict)
    }

    @Test func `L9: a disabled provider links nothing`() {
        let target = Account.fixture("t", email: ann, providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, to: target, identityOwner: target, enabled: false)
                == Verdict(.linkProviderNotEnabled, .refuse(.operationNotAllowed))
        )
    }
}
