import AccountLinking
import Testing

struct SignUpRows {
    private func decide(
        _ request: SignUpRequest,
        owner: Account? = nil,
        policy: LinkPolicy = LinkPolicy()
    ) -> Verdict<SignInDecision> {
        request.decide(policy, emailOwner: owner)
    }

    private func link(_ target: Account, recent: Bool = true) -> SignUpRequest {
        .linkPassword(ann, to: target, isSessionRecent: recent)
    }

    private let closed = LinkPolicy.policy { $0.allowsClientSignUp = false }

    @Test(arguments: [
        Account.fixture("o", email: ann, password: true),
        .fixture("o", email: ann, proof: .emailLink, emailLink: true),
        .fixture("o", email: ann, proof: .emailCode, password: true, providers: [.gitHub: "g"], disabled: true),
    ])
    func `P1: a taken address is refused, with enumeration protection and in both modes`(owner: Account) {
        let refused = Verdict<SignInDecision>(.signUpEmailExists, .refuse(.emailExists))
        #expect(decide(.password(ann), owner: owner) == refused)
        #expect(decide(.password(ann), owner: owner, policy: .enumerable) == refused)
        #expect(decide(.password(ann), owner: owner, policy: .duplicates) == refused)
    }

    @Test func `P2: a password for one's own address is accepted; the address stays as proven as it was`() {
        let change = AccountChange.only {
            $0.password = .set
            $0.endsSessions = true
        }
        let accepted = Verdict<SignInDecision>(
            .passwordAddedToOwnEmail,
            .signIn(user("t"), change, emailWasRecycled: false)
        )
        let proven = Account.fixture("t", email: ann, proof: .provider(.google), providers: [.google: "google-ann"])
        #expect(decide(link(proven), owner: proven) == accepted)
        #expect(proven.applying(change).isEmailVerified)
        let unproven = Account.fixture("t", email: ann, password: true)
        #expect(decide(link(unproven), owner: unproven) == accepted)
        #expect(!unproven.applying(change).isEmailVerified)
    }

    @Test func `P3: a password for another account's address is refused`() {
        let owner = Account.fixture("o", email: ann)
        #expect(decide(link(.fixture("t")), owner: owner) == Verdict(.passwordLinkEmailInUse, .refuse(.emailExists)))
        #expect(
            decide(link(.fixture("t", email: bob)), owner: owner, policy: .duplicates)
                == Verdict(.passwordLinkEmailInUse, .refuse(.emailExists))
        )
    }

    @Test func `P4: a free address and a password make an anonymous account permanent`() {
        #expect(
            decide(link(.fixture("t")))
                == Verdict(
                    .emailAndPasswordLinked,
                    .signIn(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: nil)
                            $0.password = .set
                            $0.endsSessions = true
                        },
                        emailWasRecycled: false
                    )
                )
        )
        #expect(decide(link(.fixture("t")), policy: closed).rule == .emailAndPasswordLinked)
    }

    @Test func `P4: a free address and a password replace the previous ones; the first address is stored`() {
        let change = AccountChange.only {
            $0.email = .set(ann, proof: nil)
            $0.password = .set
            $0.endsSessions = true
        }
        var remembering = change
        remembering.rememberedInitialEmail = bob
        let target = Account.fixture("t", email: bob, proof: .emailCode, password: true)
        #expect(
            decide(link(target), policy: .enumerable)
                == Verdict(.emailAndPasswordLinked, .signIn(user("t"), remembering, emailWasRecycled: false))
        )
        let changedBefore = Account.fixture("t", email: bob, password: true, initialEmail: true)
        #expect(
            decide(link(changedBefore), policy: .enumerable)
                == Verdict(.emailAndPasswordLinked, .signIn(user("t"), change, emailWasRecycled: false))
        )
    }

    @Test func `P17: with enumeration protection another address needs verification first, as in U1`() {
        let target = Account.fixture("t", email: bob, proof: .emailCode, password: true)
        #expect(
            decide(link(target)) == Verdict(.passwordLinkNeedsVerifiedEmail, .refuse(.emailChangeNeedsVerification))
        )
        // Earlier rules still refuse an old session and another account's address.
        #expect(decide(link(target, recent: false)).rule == .passwordLinkNeedsRecentSignIn)
        #expect(decide(link(target), owner: .fixture("o", email: ann)).rule == .passwordLinkEmailInUse)
        // The address was removed before.
        let bare = Account.fixture("t", providers: [.google: "g"], initialEmail: true)
        #expect(decide(link(bare)) == Verdict(.passwordLinkNeedsVerifiedEmail, .refuse(.emailChangeNeedsVerification)))
    }

    @Test func `P5: with duplicates allowed an address in a provider's row is free`() {
        // The account with the row has no top-level address, so no account owns the address.
        #expect(
            decide(.password(ann), policy: .duplicates)
                == Verdict(
                    .signUpDuplicateEmailsAllowed,
                    .createUser(
                        .only {
                            $0.email = .set(ann, proof: nil)
                            $0.password = .set
                        }
                    )
                )
        )
    }

    @Test func `P6: an address that a provider brought is refused`() {
        let owner = Account.fixture("o", email: ann, proof: .provider(.google), providers: [.google: "google-ann"])
        #expect(decide(.password(ann), owner: owner) == Verdict(.signUpEmailOfProviderAccount, .refuse(.emailExists)))
    }

    @Test func `P7: an address stays taken after its password is unlinked`() {
        let account = Account.fixture("o", email: ann, proof: .emailCode, password: true, emailLink: true)
        let unlinked = UnlinkQuestion(
            account: account,
            enabledProviders: [],
            removal: Removal(providers: [.password]),
            request: .client(isSessionRecent: true)
        ).decide(LinkPolicy())
        guard case .apply(_, let change, _) = unlinked.decision else {
            Issue.record("the password was not unlinked")
            return
        }
        let owner = account.applying(change)
        #expect(owner.email == account.email)
        #expect(decide(.password(ann), owner: owner) == Verdict(.signUpEmailOfBareAccount, .refuse(.emailExists)))
    }

    @Test func `P8: an administrator cannot create what exists: id, then number, then address`() {
        let request = NewAccount(email: ann, hasPassword: true, phoneNumber: annsNumber)
        func create(id: Bool, phone: Bool, email: Bool) -> Verdict<CreationDecision> {
            decideCreateByAdmin(request: request, isIDTaken: id, isPhoneNumberTaken: phone, isEmailTaken: email)
        }
        #expect(
            create(id: true, phone: true, email: true)
                == Verdict(.adminCreateIdentifierTaken, .refuse(.duplicateLocalID))
        )
        #expect(
            create(id: false, phone: true, email: true)
                == Verdict(.adminCreateIdentifierTaken, .refuse(.phoneNumberExists))
        )
        #expect(
            create(id: false, phone: false, email: true) == Verdict(.adminCreateIdentifierTaken, .refuse(.emailExists))
        )
    }

    @Test func `P9: without password sign-in no user signs up with one`() {
        let policy = LinkPolicy.policy { $0.allowsPasswordSignIn = false }
        let refused = Verdict<SignInDecision>(.signUpPasswordNotEnabled, .refuse(.operationNotAllowed))
        #expect(decide(.password(ann), owner: .fixture("o", email: ann, password: true), policy: policy) == refused)
        #expect(decide(link(.fixture("t", disabled: true), recent: false), policy: policy) == refused)
        #expect(decide(.anonymous, policy: policy).rule == .anonymousSignUp)
    }

    @Test func `P10: if clients may not sign up, no user signs up`() {
        #expect(decide(.password(ann), policy: closed) == Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)))
        #expect(decide(.anonymous, policy: closed) == Verdict(.signUpNotAllowed, .refuse(.signUpDisabled)))
    }

    @Test func `P11: a free address and a password create an account with an unproven address`() {
        #expect(
            decide(.password(ann))
                == Verdict(
                    .signUpByPassword,
                    .createUser(
                        .only {
                            $0.email = .set(ann, proof: nil)
                            $0.password = .set
                        }
                    )
                )
        )
    }

    @Test func `P12: an administrator creates the requested account`() {
        func create(_ request: NewAccount) -> Verdict<CreationDecision> {
            decideCreateByAdmin(request: request, isIDTaken: false, isPhoneNumberTaken: false, isEmailTaken: false)
        }
        #expect(create(NewAccount()) == Verdict(.accountCreatedByAdmin, .create(.nothing)))
        #expect(
            create(NewAccount(email: ann))
                == Verdict(.accountCreatedByAdmin, .create(.only { $0.email = .set(ann, proof: nil) }))
        )
        #expect(
            create(NewAccount(email: ann, isEmailVerified: true))
                == Verdict(.accountCreatedByAdmin, .create(.only { $0.email = .set(ann, proof: .administrator) }))
        )
        #expect(
            create(NewAccount(isEmailVerified: true, hasPassword: true, phoneNumber: annsNumber, isDisabled: true))
                == Verdict(
                    .accountCreatedByAdmin,
                    .create(
                        .only {
                            $0.password = .set
                            $0.phone = .set(annsNumber)
                            $0.isDisabled = true
                        }
                    )
                )
        )
    }

    @Test func `P13: an anonymous sign-up creates an empty account`() {
        #expect(decide(.anonymous) == Verdict(.anonymousSignUp, .createUser(.nothing)))
    }

    @Test func `P14: anonymous sign-up can be disabled separately`() {
        let policy = LinkPolicy.policy { $0.allowsAnonymousSignUp = false }
        #expect(
            decide(.anonymous, policy: policy) == Verdict(.anonymousSignUpNotEnabled, .refuse(.anonymousSignUpDisabled))
        )
        #expect(decide(.password(ann), policy: policy).rule == .signUpByPassword)
    }

    @Test func `P15: a disabled account gets no password`() {
        let target = Account.fixture("t", email: ann, disabled: true)
        #expect(
            decide(link(target, recent: false), owner: target)
                == Verdict(.passwordLinkAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `P16: an old session is refused a password or address before any lookup`() {
        let target = Account.fixture("t", email: bob, password: true)
        let refused = Verdict<SignInDecision>(.passwordLinkNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(decide(link(target, recent: false)) == refused)
        #expect(decide(link(target, recent: false), owner: .fixture("o", email: ann)) == refused)
        #expect(decide(link(target, recent: false), owner: target) == refused)
    }

    @Test func `a display name changes no decision, and is set by every one that writes`() {
        checkLaw(SignUpCase.all) { point in
            let named = point.request.decide(point.policy, emailOwner: point.owner, displayName: "Ann")
            guard named.rule == point.verdict.rule else { return false }
            switch (named.decision, point.verdict.decision) {
            case (.createUser(var change), .createUser(let without)),
                (.signIn(_, var change, _), .signIn(_, let without, _)):
                guard change.profile == .rename("Ann") else { return false }
                change.profile = .keep
                return change == without
            default:
                return named == point.verdict
            }
        }
    }
}
