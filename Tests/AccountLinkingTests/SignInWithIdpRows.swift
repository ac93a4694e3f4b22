import AccountLinking
import Testing

/// One test for each rule, with literal input and outcome. Deleting a rule fails the test of its name.
struct SignInWithIdpRows {
    private func decide(
        _ credential: IncomingCredential,
        policy: LinkPolicy = LinkPolicy(),
        identityOwner: Account? = nil,
        emailOwner: Account? = nil,
        enabled: Bool = true,
        createsUsers: Bool = true,
        asksFirst: Bool = false,
        proven: UserID? = nil,
        reservation: AddressReservation? = nil
    ) -> Verdict<SignInDecision> {
        SignInWithIdpQuestion(
            identityOwner: identityOwner,
            emailOwner: emailOwner,
            credential: credential,
            isProviderEnabled: enabled,
            createsUsers: createsUsers,
            asksFirst: asksFirst,
            secondFactorProvenBy: proven,
            reservation: reservation
        ).decide(policy)
    }

    @Test func `I0: a disabled provider signs no user in`() {
        let linked = Account.fixture("f", providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, identityOwner: linked, enabled: false)
                == Verdict(.signInProviderNotEnabled, .refuse(.operationNotAllowed))
        )
    }

    @Test func `I1: a linked identity of a disabled account is refused, even with its second factor`() {
        let linked = Account.fixture("f", providers: [.google: "google-ann"], disabled: true, secondFactor: true)
        #expect(decide(.trusted, identityOwner: linked) == Verdict(.identityOwnerDisabled, .refuse(.userDisabled)))
        #expect(
            decide(.trusted, policy: .secondFactors, identityOwner: linked)
                == Verdict(.identityOwnerDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `I2: a linked identity signs in to its account, even if another account owns its address`() {
        let linked = Account.fixture("f", email: bob, providers: [.google: "google-ann"])
        let other = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        #expect(
            decide(.trusted, identityOwner: linked, emailOwner: other)
                == Verdict(.signInByIdentity, .signIn(user("f"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `I2: an untrusted provider that is linked keeps working`() {
        let linked = Account.fixture("f", email: ann, password: true, providers: [.gitHub: "github-ann"])
        #expect(
            decide(.untrusted, identityOwner: linked, emailOwner: linked)
                == Verdict(.signInByIdentity, .signIn(user("f"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `I2: a trusted provider proves the account's own address, once`() {
        let unproven = Account.fixture("f", email: ann, password: true, providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, identityOwner: unproven, emailOwner: unproven)
                == Verdict(
                    .signInByIdentity,
                    .signIn(user("f"), .only { $0.email = .prove(.provider(.google)) }, emailWasRecycled: false)
                )
        )
        let proven = Account.fixture("f", email: ann, proof: .emailCode, providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, identityOwner: proven, emailOwner: proven)
                == Verdict(.signInByIdentity, .signIn(user("f"), .nothing, emailWasRecycled: false))
        )
        let otherAddress = Account.fixture("f", email: bob, providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, identityOwner: otherAddress)
                == Verdict(.signInByIdentity, .signIn(user("f"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `I2: a reauthentication with a linked identity signs in`() {
        let linked = Account.fixture("f", providers: [.google: "google-ann"])
        #expect(
            decide(.trusted, identityOwner: linked, createsUsers: false)
                == Verdict(.signInByIdentity, .signIn(user("f"), .nothing, emailWasRecycled: false))
        )
    }

    @Test func `I3: an enrolled second factor is required before any write`() {
        let linked = Account.fixture("f", email: ann, providers: [.google: "google-ann"], secondFactor: true)
        #expect(
            decide(.trusted, policy: .secondFactors, identityOwner: linked, emailOwner: linked)
                == Verdict(.identityOwnerNeedsSecondFactor, .secondFactorRequired(user("f")))
        )
        #expect(
            decide(.trusted, policy: .secondFactors, identityOwner: linked, emailOwner: linked, proven: user("x"))
                == Verdict(.identityOwnerNeedsSecondFactor, .secondFactorRequired(user("f")))
        )
        let proven = Verdict<SignInDecision>(
            .signInByIdentity,
            .signIn(user("f"), .only { $0.email = .prove(.provider(.google)) }, emailWasRecycled: false)
        )
        #expect(
            decide(.trusted, policy: .secondFactors, identityOwner: linked, emailOwner: linked, proven: user("f"))
                == proven
        )
        #expect(decide(.trusted, identityOwner: linked, emailOwner: linked) == proven)
    }

    @Test func `I4: a credential without an address creates an account without one`() {
        #expect(
            decide(.withoutEmail)
                == Verdict(
                    .signUpWithoutEmail,
                    .createUser(
                        .only {
                            $0.linkedIdentity = identity(.facebook, "facebook-ann")
                            $0.profile = .fillBlanks(annsProfile)
                        }
                    )
                )
        )
    }

    @Test func `I5: a first sign-in creates an account, whose address is proven if the provider is trusted`() {
        #expect(
            decide(.trusted)
                == Verdict(
                    .signUpWithEmail,
                    .createUser(
                        .only {
                            $0.email = .set(ann, proof: .provider(.google))
                            $0.linkedIdentity = identity(.google, "google-ann")
                            $0.profile = .fillBlanks(annsProfile)
                        }
                    )
                )
        )
        #expect(
            decide(.untrusted)
                == Verdict(
                    .signUpWithEmail,
                    .createUser(
                        .only {
                            $0.email = .set(ann, proof: nil)
                            $0.linkedIdentity = identity(.gitHub, "github-ann")
                            $0.profile = .fillBlanks(annsProfile)
                        }
                    )
                )
        )
    }

    @Test(arguments: [IncomingCredential.trusted, .untrusted, .withoutEmail])
    func `I6: a reauthentication creates no account`(credential: IncomingCredential) {
        #expect(
            decide(credential, createsUsers: false)
                == Verdict(.reauthenticationOfUnknownIdentity, .refuse(.userNotFound))
        )
    }

    @Test func `I6: a reauthentication links no identity`() {
        let proven = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        #expect(
            decide(.trusted, emailOwner: proven, createsUsers: false)
                == Verdict(.reauthenticationOfUnknownIdentity, .refuse(.userNotFound))
        )
        let unproven = Account.fixture("m", email: ann, password: true)
        #expect(
            decide(.trusted, emailOwner: unproven, createsUsers: false)
                == Verdict(.reauthenticationOfUnknownIdentity, .refuse(.userNotFound))
        )
    }

    @Test func `I7: a trusted provider is linked to an account with a proven address, which keeps everything`() {
        let owner = Account.fixture(
            "m",
            email: ann,
            proof: .emailCode,
            password: true,
            phone: true,
            providers: [.gitHub: "github-ann"]
        )
        #expect(
            decide(.trusted, emailOwner: owner)
                == Verdict(
                    .linkByProvenEmail,
                    .signIn(
                        user("m"),
                        .only {
                            $0.linkedIdentity = identity(.google, "google-ann")
                            $0.profile = .fillBlanks(annsProfile)
                        },
                        emailWasRecycled: false
                    )
                )
        )
    }

    @Test func `I8: under replace, an address that the provider gave to another user is recycled`() {
        let owner = Account.fixture(
            "m",
            email: ann,
            proof: .provider(.google),
            password: true,
            providers: [.google: "google-of-before", .gitHub: "github-ann"]
        )
        #expect(
            decide(.trusted, policy: .firebase, emailOwner: owner)
                == Verdict(
                    .subjectReplaced,
                    .signIn(
                        user("m"),
                        .only {
                            $0.linkedIdentity = identity(.google, "google-ann")
                            $0.unlinkedProviders = [.google]
                        },
                        emailWasRecycled: true
                    )
                )
        )
    }

    @Test func `I9: a trusted provider takes over an account with an unproven address`() {
        let squatter = Account.fixture(
            "m",
            email: ann,
            password: true,
            emailLink: true,
            phone: true,
            providers: [.gitHub: "squatter", .google: "squatter"],
            customTokens: true
        )
        let verdict = decide(.trusted, emailOwner: squatter)
        #expect(
            verdict
                == Verdict(
                    .takeoverByProvider,
                    .signIn(
                        user("m"),
                        .only {
                            $0.email = .prove(.provider(.google))
                            $0.password = .remove
                            $0.emailLink = false
                            $0.phone = .remove
                            $0.unlinkedProviders = [.gitHub, .google]
                            $0.quarantinesRemovals = true
                            $0.linkedIdentity = identity(.google, "google-ann")
                            $0.profile = .replace(annsProfile)
                            $0.endsSessions = true
                            $0.voidsOutstandingProofs = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
        guard case .signIn(_, let change, _) = verdict.decision else { return }
        #expect(squatter.applying(change).signInMethods == [.provider(.google)])
        #expect(squatter.applying(change).sessionEpoch == squatter.sessionEpoch + 1)
    }

    @Test func `I10: a trusted provider does not sign in to a disabled account`() {
        let proven = Account.fixture("m", email: ann, proof: .emailCode, disabled: true, secondFactor: true)
        #expect(
            decide(.trusted, policy: .secondFactors, emailOwner: proven)
                == Verdict(.emailOwnerDisabled, .refuse(.userDisabled))
        )
        let unproven = Account.fixture("m", email: ann, password: true, disabled: true)
        #expect(decide(.trusted, emailOwner: unproven) == Verdict(.emailOwnerDisabled, .refuse(.userDisabled)))
    }

    @Test(arguments: [
        Account.fixture("m", email: ann, password: true),
        .fixture("m", email: ann, proof: .emailCode, password: true),
        .fixture("m", email: ann, emailLink: true, disabled: true),
        .fixture("m", email: ann, proof: .emailLink, emailLink: true, secondFactor: true),
    ])
    func `I11: an unverified address of another provider is a conflict`(owner: Account) {
        #expect(
            decide(.untrusted, policy: .secondFactors, emailOwner: owner)
                == Verdict(
                    .untrustedEmailConflict,
                    .conflict(.accountExistsWithDifferentCredential(account: user("m"), verifiedProviders: []))
                )
        )
    }

    @Test func `I11: the conflict lists the account's providers in order, without password and phone`() {
        let owner = Account.fixture(
            "m",
            email: ann,
            proof: .provider(.google),
            password: true,
            phone: true,
            providers: [.google: "g", .apple: "a", provider("oidc.work"): "w", .gitHub: "another"]
        )
        #expect(
            decide(.untrusted, emailOwner: owner)
                == Verdict(
                    .untrustedEmailConflict,
                    .conflict(
                        .accountExistsWithDifferentCredential(
                            account: user("m"),
                            verifiedProviders: [.apple, .gitHub, .google, provider("oidc.work")]
                        )
                    )
                )
        )
    }

    @Test func `I12: a reauthentication is never a conflict`() {
        let owner = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        #expect(
            decide(.untrusted, emailOwner: owner, createsUsers: false)
                == Verdict(.reauthenticationByUntrustedEmail, .refuse(.userNotFound))
        )
    }

    @Test func `I13: the second factor is required before a link, a recycling and a takeover`() {
        let proven = Account.fixture("m", email: ann, proof: .emailCode, password: true, secondFactor: true)
        let recycled = Account.fixture(
            "m",
            email: ann,
            proof: .provider(.google),
            providers: [.google: "google-of-before"],
            secondFactor: true
        )
        let unproven = Account.fixture("m", email: ann, password: true, secondFactor: true)
        for owner in [proven, recycled, unproven] {
            #expect(
                decide(.trusted, policy: .secondFactors, emailOwner: owner)
                    == Verdict(.emailOwnerNeedsSecondFactor, .secondFactorRequired(user("m")))
            )
            #expect(
                decide(.trusted, policy: .secondFactors, emailOwner: owner, proven: user("x"))
                    == Verdict(.emailOwnerNeedsSecondFactor, .secondFactorRequired(user("m")))
            )
        }
        #expect(
            decide(.trusted, policy: .secondFactors, emailOwner: proven, proven: user("m")).rule == .linkByProvenEmail
        )
        #expect(
            decide(.trusted, policy: .secondFactors, emailOwner: recycled, proven: user("m")).rule == .subjectDiffers
        )
        #expect(
            decide(.trusted, policy: .secondFactors, emailOwner: unproven, proven: user("m")).rule
                == .takeoverByProvider
        )
        #expect(decide(.trusted, emailOwner: unproven).rule == .takeoverByProvider)
    }

    @Test(arguments: [IncomingCredential.trusted, .untrusted, .withoutEmail])
    func `I14: if clients may not sign up, a first sign-in creates no account`(credential: IncomingCredential) {
        let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }
        #expect(decide(credential, policy: closed) == Verdict(.providerSignUpNotAllowed, .refuse(.signUpDisabled)))
        let owner = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        #expect(decide(.trusted, policy: closed, emailOwner: owner).rule == .linkByProvenEmail)
        #expect(decide(.untrusted, policy: closed, emailOwner: owner).rule == .untrustedEmailConflict)
    }

    @Test(arguments: [IncomingCredential.trusted, .untrusted])
    func `I15: with duplicates allowed the address stays in the provider's row`(credential: IncomingCredential) {
        let owner = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        let created = Verdict<SignInDecision>(
            .signUpWithDuplicateEmail,
            .createUser(
                .only {
                    $0.linkedIdentity = credential.identity
                    $0.profile = .fillBlanks(annsProfile)
                }
            )
        )
        #expect(decide(credential, policy: .duplicates) == created)
        #expect(decide(credential, policy: .duplicates, emailOwner: owner) == created)
    }

    @Test(arguments: [IncomingCredential.trusted, .untrusted, .withoutEmail])
    func `I23: a client that asks first creates no account at a first sign-in`(credential: IncomingCredential) {
        let asked = Verdict<SignInDecision>(.firstSignInAsks, .conflict(.firstSignIn))
        #expect(decide(credential, asksFirst: true) == asked)
        #expect(decide(credential, policy: .duplicates, asksFirst: true) == asked)
    }

    @Test func `I23: asking first changes no sign-in, link, conflict or refusal`() {
        let linked = Account.fixture("f", providers: [.google: "google-ann"])
        #expect(decide(.trusted, identityOwner: linked, asksFirst: true).rule == .signInByIdentity)
        let owner = Account.fixture("m", email: ann, proof: .emailCode, password: true)
        #expect(decide(.trusted, emailOwner: owner, asksFirst: true).rule == .linkByProvenEmail)
        #expect(decide(.untrusted, emailOwner: owner, asksFirst: true).rule == .untrustedEmailConflict)
        let confirming = LinkPolicy.policy { $0.unprovenAddress = .confirm }
        #expect(decide(.untrusted, policy: confirming, asksFirst: true).rule == .untrustedEmailConfirmed)
        let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }
        #expect(decide(.trusted, policy: closed, asksFirst: true).rule == .providerSignUpNotAllowed)
        #expect(
            decide(.trusted, createsUsers: false, asksFirst: true).rule == .reauthenticationOfUnknownIdentity
        )
        #expect(decide(.trusted, enabled: false, asksFirst: true).rule == .signInProviderNotEnabled)
    }

    @Test func `I23: a reserved address is refused at once, because no account can be created with it`() {
        let reserved = AddressReservation(address: ann, account: user("r"), wasProven: true)
        #expect(
            decide(.trusted, asksFirst: true, reservation: reserved)
                == Verdict(.addressReserved, .refuse(.emailExists))
        )
    }
}
