import Testing

@testable import AccountLinking

struct ResetPasswordRows {
    private func decide(
        _ account: Account?,
        to address: EmailAddress = ann,
        policy: LinkPolicy = LinkPolicy()
    ) -> Verdict<UpdateDecision> {
        ResetPasswordQuestion(account: account, address: address).decide(policy)
    }

    private let gentle = LinkPolicy.policy { $0.passwordResetUnlinksProviders = false }

    @Test func `R0: without password sign-in no password is reset`() {
        let policy = LinkPolicy.policy { $0.allowsPasswordSignIn = false }
        #expect(decide(nil, policy: policy) == Verdict(.resetPasswordNotEnabled, .refuse(.operationNotAllowed)))
    }

    @Test func `R1: a reset sets the password, proves the address and ends every session`() {
        let unproven = Account.fixture("o", email: ann, password: true)
        #expect(
            decide(unproven)
                == Verdict(
                    .passwordReset,
                    .apply(
                        user("o"),
                        .only {
                            $0.email = .prove(.passwordReset)
                            $0.password = .set
                            $0.endsSessions = true
                            $0.voidsOutstandingProofs = true
                        },
                        issuesTokens: false
                    )
                )
        )
        let proven = Account.fixture("o", email: ann, proof: .emailCode, password: true, emailLink: true)
        #expect(
            decide(proven)
                == Verdict(
                    .passwordReset,
                    .apply(
                        user("o"),
                        .only {
                            $0.password = .set
                            $0.endsSessions = true
                        },
                        issuesTokens: false
                    )
                )
        )
    }

    @Test func `R2: a reset unlinks every provider and releases the number`() {
        let account = Account.fixture(
            "o",
            email: ann,
            proof: .emailCode,
            password: true,
            phone: true,
            providers: [.google: "intruder", .gitHub: "github-ann"]
        )
        #expect(
            decide(account)
                == Verdict(
                    .resetUnlinksProviders,
                    .apply(
                        user("o"),
                        .only {
                            $0.password = .set
                            $0.phone = .release
                            $0.unlinkedProviders = [.google, .gitHub]
                            $0.quarantinesRemovals = true
                            $0.endsSessions = true
                        },
                        issuesTokens: false
                    )
                )
        )
    }

    @Test func `R3: an account with providers only gets a password and loses them`() {
        let account = Account.fixture("o", email: ann, providers: [.gitHub: "github-ann"])
        #expect(
            decide(account)
                == Verdict(
                    .resetSetsFirstPassword,
                    .apply(
                        user("o"),
                        .only {
                            $0.email = .prove(.passwordReset)
                            $0.password = .set
                            $0.unlinkedProviders = [.gitHub]
                            $0.quarantinesRemovals = true
                            $0.endsSessions = true
                            $0.voidsOutstandingProofs = true
                        },
                        issuesTokens: false
                    )
                )
        )
    }

    @Test func `R4: the number is released, but stored`() {
        let account = Account.fixture("o", email: ann, proof: .emailCode, password: true, phone: true)
        #expect(
            decide(account)
                == Verdict(
                    .resetReleasesNumber,
                    .apply(
                        user("o"),
                        .only {
                            $0.password = .set
                            $0.phone = .release
                            $0.quarantinesRemovals = true
                            $0.endsSessions = true
                        },
                        issuesTokens: false
                    )
                )
        )
    }

    @Test func `R5: a code for a former account or address is invalid`() {
        let invalid = Verdict<UpdateDecision>(.resetCodeStale, .refuse(.invalidEmailCode))
        #expect(decide(nil) == invalid)
        #expect(decide(.fixture("o", email: bob, password: true, disabled: true)) == invalid)
        #expect(decide(.fixture("o", phone: true)) == invalid)
    }

    @Test func `R6: by policy a reset keeps providers and number`() {
        let change = AccountChange.only {
            $0.password = .set
            $0.endsSessions = true
        }
        let kept = Verdict<UpdateDecision>(.resetKeepsProviders, .apply(user("o"), change, issuesTokens: false))
        let linked = Account.fixture("o", email: ann, proof: .emailCode, providers: [.gitHub: "github-ann"])
        #expect(decide(linked, policy: gentle) == kept)
        #expect(decide(.fixture("o", email: ann, proof: .emailCode, phone: true), policy: gentle) == kept)
        // Except providers that were linked before the first proof of the address.
        let providers: LinkedSubjects = [.gitHub: "of an intruder"]
        let unproven = Account.fixture("o", email: ann, password: true, phone: true, providers: providers)
        #expect(decide(unproven, policy: gentle) == decide(unproven) && decide(unproven).rule == .resetUnlinksProviders)
    }

    @Test func `R7: a disabled account's password is not reset`() {
        let disabled = Account.fixture("o", email: ann, password: true, disabled: true)
        #expect(decide(disabled) == Verdict(.resetAccountDisabled, .refuse(.userDisabled)))
    }
}

struct ChangeEmailRows {
    private func decide(
        _ account: Account,
        owner: Account? = nil,
        policy: LinkPolicy = .enumerable,
        recent: Bool = true
    ) -> Verdict<UpdateDecision> {
        decideChangeEmail(
            policy: policy,
            account: account,
            newAddress: ann,
            owner: owner,
            isSessionRecent: recent
        )
    }

    private func apply(
        _ account: Account?,
        _ code: EmailCodeChange,
        owner: Account? = nil,
        policy: LinkPolicy = LinkPolicy()
    ) -> Verdict<UpdateDecision> {
        decideApplyEmailCode(policy: policy, account: account, code: code, owner: owner)
    }

    private let bobs = Account.fixture("t", email: bob, proof: .emailCode, password: true)
    private let change = EmailCodeChange.verifyAndChange(to: ann, sentFor: bob, sessionEpoch: 7)
    private let recover = EmailCodeChange.recover(initial: ann, ownerCameLater: false, since: AccountAdditions())

    @Test func `U0: a disabled account does not change`() {
        let disabled = Account.fixture("t", email: ann, disabled: true)
        #expect(decide(disabled, policy: LinkPolicy()) == Verdict(.changeEmailAccountDisabled, .refuse(.userDisabled)))
    }

    @Test func `U1: with enumeration protection a new address must be verified first`() {
        let refused = Verdict<UpdateDecision>(.changeEmailNeedsVerification, .refuse(.emailChangeNeedsVerification))
        #expect(decide(bobs, policy: LinkPolicy(), recent: false) == refused)
        #expect(decide(bobs, owner: .fixture("o", email: ann), policy: LinkPolicy()) == refused)
        #expect(decide(.fixture("t", email: ann), policy: LinkPolicy()) == refused)
    }

    @Test func `U2: the current address is no change`() {
        let account = Account.fixture("t", email: address("ANN@gmail.com"))
        #expect(decide(account, owner: account, recent: false) == Verdict(.emailUnchanged, .unchanged(user("t"))))
    }

    @Test func `U3: an address of another account is refused`() {
        #expect(decide(bobs, owner: .fixture("o", email: ann)) == Verdict(.changeEmailExists, .refuse(.emailExists)))
    }

    @Test func `U4: a free address is set unproven, the first one stored once, and other sessions end`() {
        let change = AccountChange.only {
            $0.email = .set(ann, proof: nil)
            $0.endsSessions = true
        }
        var remembering = change
        remembering.rememberedInitialEmail = bob
        #expect(decide(bobs) == Verdict(.emailChanged, .apply(user("t"), remembering, issuesTokens: true)))
        let changedBefore = Account.fixture("t", email: bob, password: true, initialEmail: true)
        #expect(decide(changedBefore) == Verdict(.emailChanged, .apply(user("t"), change, issuesTokens: true)))
    }

    @Test func `U5: an account without an address gets one, and no sign-in method by it`() {
        let account = Account.fixture("t")
        let verdict = decide(account)
        #expect(
            verdict
                == Verdict(
                    .emailAdded,
                    .apply(
                        user("t"),
                        .only {
                            $0.email = .set(ann, proof: nil)
                            $0.endsSessions = true
                        },
                        issuesTokens: true
                    )
                )
        )
        guard case .apply(_, let change, _) = verdict.decision else { return }
        #expect(account.applying(change).signInMethods.isEmpty)
    }

    @Test func `U6: an old session must sign in again before it learns whether the address is taken`() {
        let refused = Verdict<UpdateDecision>(.changeEmailNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(decide(bobs, recent: false) == refused)
        #expect(decide(bobs, owner: .fixture("o", email: ann), recent: false) == refused)
    }

    @Test func `U7: with duplicates allowed a top-level address is still unique`() {
        let policy = LinkPolicy.policy {
            $0.isOneAccountPerEmail = false
            $0.protectsEmailEnumeration = false
        }
        #expect(
            decide(bobs, owner: .fixture("o", email: ann), policy: policy)
                == Verdict(.changeEmailExistsDuplicatesAllowed, .refuse(.emailExists))
        )
    }

    @Test func `U8: a provider with the old address does not restore it`() {
        let account = Account.fixture("t", email: bob, proof: .emailCode, providers: [.google: "google-ann"])
        let verdict = SignInWithIdpQuestion(
            identityOwner: account,
            emailOwner: nil,
            credential: .trusted,
            isProviderEnabled: true,
            createsUsers: true,
            secondFactorProvenBy: nil
        ).decide(LinkPolicy())
        #expect(verdict == Verdict(.signInByIdentity, .signIn(user("t"), .nothing, emailWasRecycled: false)))
    }

    @Test func `U9: a mailed change to an address that was taken meanwhile is refused`() {
        #expect(
            apply(bobs, change, owner: .fixture("o", email: ann))
                == Verdict(.changeCodeEmailExists, .refuse(.emailExists))
        )
    }

    @Test func `U10: a first address that another account owns is not restored`() {
        let account = Account.fixture("t", email: bob, initialEmail: true)
        #expect(
            apply(account, recover, owner: .fixture("o", email: ann))
                == Verdict(.recoveryEmailExists, .refuse(.emailExists))
        )
    }

    @Test func `U10: a code takes the address from no older account, and from none that proved it`() {
        let account = Account.fixture("t", email: bob, initialEmail: true)
        let refused = Verdict<UpdateDecision>(.recoveryEmailExists, .refuse(.emailExists))
        let later = EmailCodeChange.recover(initial: ann, ownerCameLater: true, since: AccountAdditions())
        #expect(apply(account, recover, owner: .fixture("o", email: ann)) == refused)
        #expect(apply(account, later, owner: .fixture("o", email: ann, proof: .emailCode)) == refused)
    }

    @Test func `U15: a younger account that never proved the address loses it to the code`() {
        let stolen = Account.fixture("t", epoch: 12, email: bob, proof: .emailCode, initialEmail: true)
        let decoy = Account.fixture(
            "o",
            email: ann,
            password: true,
            emailLink: true,
            phone: true,
            providers: [.gitHub: "thief"],
            initialEmail: true
        )
        let verdict = apply(
            stolen,
            .recover(initial: ann, ownerCameLater: true, since: AccountAdditions()),
            owner: decoy
        )
        let restored = AccountChange.only {
            $0.email = .set(ann, proof: .emailCode)
            $0.endsSessions = true
        }
        guard case .takeAddress(let taker, let change, from: let owner, let loss) = verdict.decision else {
            Issue.record("the other account kept the address: \(verdict)")
            return
        }
        #expect(verdict.rule == .decoyGivesWay && taker == user("t") && owner == user("o"))
        #expect(change == restored)
        let left = decoy.applying(loss)
        #expect(left.signInMethods == [.phone, .provider(.gitHub)], "these belong to the person who made the account")
        #expect(left.email == nil && !left.hasPassword && !left.hasInitialEmail)
        #expect(left.sessionEpoch > decoy.sessionEpoch)
    }

    @Test func `U28: recovery suspends methods younger than the mail, and keeps older ones`() {
        let stolen = Account.fixture(
            "t",
            email: bob,
            proof: .emailCode,
            password: true,
            phone: true,
            providers: [.google: "thief", .facebook: "owner"],
            secondFactor: true,
            initialEmail: true
        )
        let additions = AccountAdditions(
            methods: [.password, .provider(.google)],
            olderSecondFactors: [.app("owner's")]
        )
        let change = AccountChange.only {
            $0.email = .set(ann, proof: .emailCode)
            $0.password = .remove
            $0.unlinkedProviders = [.google]
            $0.secondFactors = [.app("owner's")]
            $0.quarantinesRemovals = true
            $0.endsSessions = true
        }
        for policy in [LinkPolicy(), .secondFactors, .firebase] {
            #expect(
                apply(stolen, .recover(initial: ann, ownerCameLater: false, since: additions), policy: policy)
                    == Verdict(.recoverySuspendsAdditions, .apply(user("t"), change, issuesTokens: false))
            )
        }
        #expect(stolen.applying(change).signInMethods == [.phone, .provider(.facebook)])
        let decoy = Account.fixture("o", email: ann, password: true)
        let overDecoy = apply(stolen, .recover(initial: ann, ownerCameLater: true, since: additions), owner: decoy)
        guard overDecoy.rule == .decoyGivesWay,
            case .takeAddress(user("t"), change, from: user("o"), _) = overDecoy.decision
        else {
            Issue.record("the other account kept the address: \(overDecoy)")
            return
        }
    }

    @Test func `U28: methods and second factors count from their proof`() {
        let mail = Timestamp(secondsSinceEpoch: 100)
        var record = UserRecord(
            tenant: .project,
            id: user("t"),
            sessionEpoch: 7,
            createdAt: Timestamp(secondsSinceEpoch: 1)
        )
        record.email = AccountEmail(address: bob, proof: .emailCode)
        func add(_ change: AccountChange, at seconds: Int64) {
            let now = Timestamp(secondsSinceEpoch: seconds)
            record = record.applying(change, ChangeContext(now: now, methodProof: .session))
        }
        add(.only { $0.password = .set }, at: 100)
        add(.only { $0.linkedIdentity = identity(.google, "thief") }, at: 101)
        add(.only { $0.linkedIdentity = identity(.facebook, "owner") }, at: 99)
        add(.only { $0.phone = .set(annsNumber) }, at: 99)
        add(.only { $0.emailLink = true }, at: 101)
        #expect(record.additions(since: mail) == AccountAdditions(methods: [.password, .provider(.google)]))
        // The thief's subject replaced the owner's.
        add(
            .only {
                $0.unlinkedProviders = [.facebook]
                $0.linkedIdentity = identity(.facebook, "thief")
            },
            at: 102
        )
        #expect(record.additions(since: mail).methods == [.password, .provider(.google), .provider(.facebook)])
        // Fixtures are enrolled at 1.
        record.secondFactors = [.app("old")]
        #expect(record.additions(since: mail).olderSecondFactors == nil)
        var young = SecondFactor.app("young")
        young.enrolledAt = mail
        record.secondFactors.append(young)
        #expect(record.additions(since: mail).olderSecondFactors == [.app("old")])
        #expect(record.additions(since: Timestamp(secondsSinceEpoch: 200)).isEmpty)
        // The thief removed the address. The password would work with the next one.
        record.email = nil
        #expect(record.additions(since: mail).methods.contains(.password))
    }

    @Test func `U29: the first proof of an address takes the account over from the person who registered it`() {
        let prepared = Account.fixture(
            "t",
            email: bob,
            proof: .emailCode,
            password: true,
            providers: [.google: "intruder"],
            initialEmail: true
        )
        let code = EmailCodeChange.recover(initial: ann, ownerCameLater: false, since: nil)
        let change = AccountChange.only {
            $0.email = .set(ann, proof: .emailCode)
            $0.password = .remove
            $0.emailLink = false
            $0.phone = .remove
            $0.unlinkedProviders = [.google]
            $0.quarantinesRemovals = true
            $0.endsSessions = true
            $0.voidsOutstandingProofs = true
        }
        #expect(apply(prepared, code) == Verdict(.takeoverByRecovery, .apply(user("t"), change, issuesTokens: false)))
        #expect(prepared.applying(change).signInMethods.isEmpty)
        // The address is the account's again, unproven.
        let back = Account.fixture("t", email: ann, password: true, providers: [.google: "intruder"])
        #expect(apply(back, code).rule == .takeoverByRecovery)
        let proven = Account.fixture("t", email: ann, proof: .emailLink, password: true)
        #expect(apply(proven, code).rule == .emailRecovered)
        let byApple = Account.fixture("t", email: ann, proof: .provider(.apple), providers: [.apple: "former"])
        #expect(apply(byApple, code).rule == .takeoverByRecovery)
    }

    @Test func `U30: a first proof recovers no account that needs a second factor`() {
        let strangers = Account.fixture("t", email: bob, proof: .emailCode, secondFactor: true, initialEmail: true)
        let code = EmailCodeChange.recover(initial: ann, ownerCameLater: false, since: nil)
        let refused = Verdict<UpdateDecision>(.recoveryOfStrangersAccount, .refuse(.invalidEmailCode))
        #expect(apply(strangers, code, policy: .secondFactors) == refused)
        #expect(apply(strangers, code).rule == .takeoverByRecovery)
    }

    @Test func `U11: a mailed change sets the address proven, stores the first one and ends sessions`() {
        let expected = AccountChange.only {
            $0.email = .set(ann, proof: .emailCode)
            $0.rememberedInitialEmail = bob
            $0.endsSessions = true
        }
        #expect(apply(bobs, change) == Verdict(.emailChangedByCode, .apply(user("t"), expected, issuesTokens: false)))

        var again = expected
        again.rememberedInitialEmail = nil
        let changedBefore = Account.fixture("t", email: bob, password: true, initialEmail: true)
        #expect(
            apply(changedBefore, change) == Verdict(.emailChangedByCode, .apply(user("t"), again, issuesTokens: false))
        )
        let first = EmailCodeChange.verifyAndChange(to: ann, sentFor: nil, sessionEpoch: 7)
        #expect(
            apply(.fixture("t", phone: true), first)
                == Verdict(.emailChangedByCode, .apply(user("t"), again, issuesTokens: false))
        )
    }

    @Test func `U11: a mailed change to the current address proves it`() {
        let account = Account.fixture("t", email: ann, password: true)
        let code = EmailCodeChange.verifyAndChange(to: ann, sentFor: ann, sessionEpoch: 7)
        let proven = AccountChange.only {
            $0.email = .prove(.emailCode)
            $0.endsSessions = true
        }
        #expect(
            apply(account, code, owner: account)
                == Verdict(.emailChangedByCode, .apply(user("t"), proven, issuesTokens: false))
        )
    }

    @Test func `U12: a mailed change is invalid once the account, its address or its session epoch has changed`() {
        let invalid = Verdict<UpdateDecision>(.emailCodeStale, .refuse(.invalidEmailCode))
        #expect(apply(nil, change) == invalid)
        #expect(apply(nil, recover) == invalid)
        #expect(apply(.fixture("t", epoch: 8, email: bob), change) == invalid)
        #expect(apply(.fixture("t", email: address("carl@example.com")), change) == invalid)
        #expect(apply(.fixture("t"), change) == invalid)
    }

    @Test func `U13: a mailed change does not change a disabled account`() {
        let disabled = Account.fixture("t", epoch: 8, email: bob, disabled: true)
        #expect(apply(disabled, change) == Verdict(.emailCodeAccountDisabled, .refuse(.userDisabled)))
        #expect(apply(disabled, recover) == Verdict(.emailCodeAccountDisabled, .refuse(.userDisabled)))
    }

    @Test func `U14: the first address is restored and proven after any change, and sessions end`() {
        let stolen = Account.fixture("t", epoch: 12, email: bob, proof: .emailCode, initialEmail: true)
        let restored = AccountChange.only {
            $0.email = .set(ann, proof: .emailCode)
            $0.endsSessions = true
        }
        #expect(
            apply(stolen, recover) == Verdict(.emailRecovered, .apply(user("t"), restored, issuesTokens: false))
        )
        let same = Account.fixture("t", email: ann, initialEmail: true)
        let proven = AccountChange.only {
            $0.email = .prove(.emailCode)
            $0.endsSessions = true
        }
        #expect(
            apply(same, recover, owner: same)
                == Verdict(.emailRecovered, .apply(user("t"), proven, issuesTokens: false))
        )
    }
}

struct VerifyEmailRows {
    private static let answers = ProvingSession.allCases.map(VerifyEmailAnswer.confirm) + [.disown]
    private let unproven = Account.fixture(
        "a",
        email: ann,
        password: true,
        emailLink: true,
        phone: true,
        providers: [.facebook: "f"]
    )

    private func verify(
        _ account: Account?,
        _ answer: VerifyEmailAnswer = .confirm(from: .absent),
        _ policy: LinkPolicy = LinkPolicy()
    ) -> Verdict<UpdateDecision> {
        VerifyEmailQuestion(account: account, address: ann, answer: answer).decide(policy)
    }

    @Test(arguments: answers) func `V1: a code for a former account or address is invalid`(
        answer: VerifyEmailAnswer
    ) {
        let invalid = Verdict<UpdateDecision>(.verifyCodeStale, .refuse(.invalidEmailCode))
        #expect(verify(nil, answer) == invalid)
        #expect(verify(.fixture("a"), answer) == invalid)
        #expect(verify(.fixture("a", email: bob, disabled: true), answer) == invalid)
    }

    @Test(arguments: answers) func `V2: a disabled account's address is not verified`(answer: VerifyEmailAnswer) {
        let refused = Verdict<UpdateDecision>(.verifyAccountDisabled, .refuse(.userDisabled))
        #expect(verify(.fixture("a", email: ann, disabled: true), answer) == refused)
        #expect(verify(.fixture("a", email: ann, proof: .emailCode, disabled: true), answer) == refused)
    }

    @Test(arguments: ProvingSession.allCases) func `V3: a proven address keeps its proof`(
        session: ProvingSession
    ) {
        for policy in [LinkPolicy(), .firebase] {
            let proven = Account.fixture("a", email: ann, proof: .administrator)
            #expect(
                verify(proven, .confirm(from: session), policy) == Verdict(.emailAlreadyVerified, .unchanged(user("a")))
            )
        }
    }

    @Test(arguments: ProvingSession.allCases) func `V4: by policy a code proves the address and ends no session`(
        session: ProvingSession
    ) {
        let proven = AccountChange.only { $0.email = .prove(.emailCode) }
        #expect(
            verify(unproven, .confirm(from: session), .firebase)
                == Verdict(.emailVerified, .apply(user("a"), proven, issuesTokens: false))
        )
    }

    @Test func `V5: a first proof by the requesting session ends no session`() {
        let proven = AccountChange.only { $0.email = .prove(.emailCode) }
        #expect(
            verify(unproven, .confirm(from: .asking))
                == Verdict(.firstProofBySession, .apply(user("a"), proven, issuesTokens: false))
        )
    }

    @Test func `V3 to V5: only the requesting session makes a word for new addresses a proof by mail`() {
        let word = Account.fixture("a", email: ann, proof: .provider(.apple), providers: [.apple: "a"])
        let upgraded = UpdateDecision.apply(
            user("a"),
            .only { $0.email = .prove(.emailCode) },
            issuesTokens: false
        )
        #expect(verify(word, .confirm(from: .asking)) == Verdict(.firstProofBySession, upgraded))
        let lasting = LinkPolicy.policy { $0.firstProofEndsSessions = false }
        #expect(verify(word, .confirm(from: .asking), lasting) == Verdict(.emailVerified, upgraded))
        for policy in [LinkPolicy(), lasting] {
            for session in [ProvingSession.absent, .other] {
                #expect(
                    verify(word, .confirm(from: session), policy)
                        == Verdict(.emailAlreadyVerified, .unchanged(user("a")))
                )
            }
        }
        #expect(
            verify(word, .confirm(from: .asking), .firebase) == Verdict(.emailAlreadyVerified, .unchanged(user("a")))
        )
        #expect(verify(word, .disown) == Verdict(.disownedTooLate, .refuse(.invalidEmailCode)))
    }

    @Test func `V6: a first proof from elsewhere ends every session, and gives the presenting one new tokens`() {
        let change = AccountChange.only {
            $0.email = .prove(.emailCode)
            $0.endsSessions = true
        }
        for (session, issuesTokens) in [(ProvingSession.absent, false), (.other, true)] {
            #expect(
                verify(unproven, .confirm(from: session))
                    == Verdict(.firstProofElsewhere, .apply(user("a"), change, issuesTokens: issuesTokens))
            )
        }
    }

    @Test func `V7: an account with a proven owner cannot be disowned`() {
        #expect(
            verify(.fixture("a", email: ann, proof: .emailCode, password: true), .disown)
                == Verdict(.disownedTooLate, .refuse(.invalidEmailCode))
        )
    }

    @Test func `V8: an account behind a second factor loses the address, but nothing that the factor protects`() {
        var account = unproven
        account.hasSecondFactor = true
        let givenUp = AccountChange.only {
            $0.email = .remove
            $0.password = .remove
            $0.emailLink = false
            $0.quarantinesRemovals = true
            $0.endsSessions = true
            $0.voidsOutstandingProofs = true
        }
        #expect(
            verify(account, .disown, .secondFactors)
                == Verdict(.disownedBehindFactor, .apply(user("a"), givenUp, issuesTokens: false))
        )
        let after = account.applying(givenUp)
        #expect(after.email == nil && after.signInMethods == [.phone, .provider(.facebook)] && after.hasSecondFactor)
        #expect(
            verify(account, .disown).rule == .disowned,
            "a factor that the project does not require protects nothing"
        )
    }

    @Test func `V9: the owner of the address takes a disowned account over, under either preset`() {
        for policy in [LinkPolicy(), .firebase] {
            let takeover = AccountChange.only {
                $0.email = .prove(.emailCode)
                $0.password = .remove
                $0.emailLink = false
                $0.phone = .remove
                $0.unlinkedProviders = [.facebook]
                $0.quarantinesRemovals = true
                $0.endsSessions = true
                $0.voidsOutstandingProofs = true
            }
            #expect(
                verify(unproven, .disown, policy)
                    == Verdict(.disowned, .apply(user("a"), takeover, issuesTokens: false))
            )
            #expect(
                Set(methodsSuspended(by: takeover, of: unproven)) == [.password, .phone, .provider(.facebook)]
            )
        }
    }
}

struct ChangePasswordRows {
    private let account = Account.fixture("a", email: ann, password: true)

    @Test func `W1: without password sign-in no password is changed`() {
        let policy = LinkPolicy.policy { $0.allowsPasswordSignIn = false }
        #expect(
            decideChangePassword(
                policy: policy,
                account: .fixture("a", email: ann, password: true, disabled: true),
                isSessionRecent: false
            )
                == Verdict(.changePasswordNotEnabled, .refuse(.operationNotAllowed))
        )
    }

    @Test func `W2: a disabled account does not change`() {
        let disabled = Account.fixture("a", email: ann, password: true, disabled: true)
        #expect(
            decideChangePassword(policy: LinkPolicy(), account: disabled, isSessionRecent: false)
                == Verdict(.changePasswordAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `W3: an old session must sign in again`() {
        #expect(
            decideChangePassword(policy: LinkPolicy(), account: account, isSessionRecent: false)
                == Verdict(.changePasswordNeedsRecentSignIn, .refuse(.credentialTooOld))
        )
    }

    @Test func `W4: a new password ends every session except the one that set it`() {
        let expected = AccountChange.only {
            $0.password = .set
            $0.endsSessions = true
        }
        #expect(
            decideChangePassword(policy: LinkPolicy(), account: account, isSessionRecent: true)
                == Verdict(.passwordChanged, .apply(user("a"), expected, issuesTokens: true))
        )
    }
}

struct UnlinkRows {
    private func decide(
        _ account: Account,
        _ removal: Removal,
        policy: LinkPolicy = LinkPolicy(),
        recent: Bool = true,
        request: RequestOrigin? = nil,
        enabled: Set<ProviderID> = [.gitHub, .google]
    ) -> Verdict<UpdateDecision> {
        UnlinkQuestion(
            account: account,
            enabledProviders: enabled,
            removal: removal,
            request: request ?? .client(isSessionRecent: recent)
        ).decide(policy)
    }

    private func applied(_ build: (inout AccountChange) -> Void) -> Verdict<UpdateDecision> {
        Verdict(.methodUnlinked, .apply(user("a"), .only(build), issuesTokens: false))
    }

    private let keeping = LinkPolicy.policy { $0.keepsLastSignInMethod = true }

    @Test func `K1: removing a missing method changes nothing`() {
        let account = Account.fixture("a", providers: [.gitHub: "g"])
        let nothing = Verdict<UpdateDecision>(.nothingToUnlink, .unchanged(user("a")))
        let removal = Removal(providers: [.google, .password, .phone], email: true, password: true)
        #expect(decide(account, removal, recent: false) == nothing)
        #expect(decide(.fixture("a"), Removal(providers: [.google]), policy: keeping) == nothing)
        #expect(decide(account, Removal()) == nothing)
    }

    @Test func `K2: the last method stays if policy requires it`() {
        let account = Account.fixture("a", email: ann, proof: .emailCode, password: true, emailLink: true)
        let refused = Verdict<UpdateDecision>(.lastMethodKept, .refuse(.lastSignInMethod))
        #expect(decide(account, Removal(providers: [.password]), policy: keeping) == refused)
        #expect(decide(account, Removal(providers: [.password]), policy: keeping) == refused)
        #expect(decide(account, Removal(email: true), policy: keeping) == refused)
        #expect(
            decide(account, Removal(password: true), policy: keeping) == applied { $0.password = .remove }
        )
        let linked = Account.fixture("a", phone: true, providers: [.gitHub: "g"])
        #expect(decide(linked, Removal(providers: [.phone, .gitHub]), policy: keeping) == refused)
        #expect(
            decide(linked, Removal(providers: [.phone]), policy: keeping) == applied { $0.phone = .remove }
        )
    }

    @Test func `K2: only methods that work now count as left`() {
        let refused = Verdict<UpdateDecision>(.lastMethodKept, .refuse(.lastSignInMethod))
        let phone = Account.fixture("a", phone: true, providers: [.gitHub: "g"])
        #expect(decide(phone, Removal(providers: [.gitHub]), policy: keeping).rule == .methodUnlinked)
        var noPhones = keeping
        noPhones.allowsPhoneSignIn = false
        #expect(decide(phone, Removal(providers: [.gitHub]), policy: noPhones) == refused)
        let two = Account.fixture("a", providers: [.gitHub: "g", .google: "h"])
        let unlinked = applied { $0.unlinkedProviders = [.gitHub] }
        #expect(decide(two, Removal(providers: [.gitHub]), policy: keeping) == unlinked)
        #expect(decide(two, Removal(providers: [.gitHub]), policy: keeping, enabled: [.gitHub]) == refused)
        let password = Account.fixture("a", email: ann, password: true, providers: [.gitHub: "g"])
        var noPasswords = keeping
        noPasswords.allowsPasswordSignIn = false
        #expect(decide(password, Removal(providers: [.gitHub]), policy: keeping) == unlinked)
        #expect(decide(password, Removal(providers: [.gitHub]), policy: noPasswords) == refused)
        #expect(decide(password, Removal(providers: [.gitHub])) == unlinked, "the compatible routes allow it")
        // An address is no method: if none is lost, the rule does not apply.
        #expect(decide(.fixture("a", email: ann), Removal(email: true), policy: keeping).rule == .methodUnlinked)
    }

    private func remove(
        _ method: SignInMethod,
        from account: Account,
        recent: Bool = true
    ) -> Verdict<UpdateDecision> {
        RemoveMethodQuestion(
            account: account,
            enabledProviders: [.gitHub],
            method: method,
            isSessionRecent: recent
        ).decide(LinkPolicy())
    }

    @Test func `K6: on Concord's own routes the sign-in must be recent, unless that would not help`() {
        let account = Account.fixture("a", email: ann, password: true, providers: [.gitHub: "g", .google: "h"])
        let tooOld = Verdict<UpdateDecision>(.removalNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(remove(.provider(.google), from: account, recent: false) == tooOld)
        #expect(
            remove(.provider(.google), from: account) == applied { $0.unlinkedProviders = [.google] }
        )
        // A number is no first factor beside a second one, so no working method would be left.
        let last = Account.fixture("a", phone: true, providers: [.gitHub: "g"], secondFactor: true)
        for recent in [true, false] {
            #expect(remove(.provider(.gitHub), from: last, recent: recent).rule == .lastMethodKept)
            #expect(remove(.password, from: last, recent: recent).rule == .nothingToUnlink)
        }
        #expect(remove(.phone, from: last) == applied { $0.phone = .remove })
    }

    @Test func `K3: one method is removed and nothing else`() {
        let account = Account.fixture("a", email: ann, proof: .emailLink, password: true, emailLink: true)
        #expect(remove(.password, from: account) == applied { $0.password = .remove })
        #expect(remove(.emailLink, from: account) == applied { $0.emailLink = false })
    }

    @Test func `K3: unlinking the password removes hash and link flag and keeps the address`() {
        let account = Account.fixture("a", email: ann, proof: .emailCode, password: true, emailLink: true)
        #expect(
            decide(account, Removal(providers: [.password]))
                == applied {
                    $0.password = .remove
                    $0.emailLink = false
                }
        )
        #expect(decide(account, Removal(password: true)) == applied { $0.password = .remove })
    }

    @Test func `K3: unlinking removes providers and number, together if requested`() {
        let account = Account.fixture("a", phone: true, providers: [.gitHub: "g", .google: "h"])
        #expect(decide(account, Removal(providers: [.phone])) == applied { $0.phone = .remove })
        #expect(
            decide(account, Removal(providers: [.phone, .gitHub, .facebook]))
                == applied {
                    $0.phone = .remove
                    $0.unlinkedProviders = [.gitHub]
                }
        )
    }

    @Test func `K3: removing the address removes the link flag, stores the address and leaves a useless hash`() {
        var account = Account.fixture("a", email: ann, proof: .emailCode, password: true, emailLink: true)
        account.hasInitialEmail = true
        #expect(
            decide(account, Removal(email: true))
                == applied {
                    $0.email = .remove
                    $0.emailLink = false
                }
        )
        account.hasInitialEmail = false
        let verdict = decide(account, Removal(email: true))
        #expect(
            verdict
                == applied {
                    $0.email = .remove
                    $0.rememberedInitialEmail = ann
                    $0.emailLink = false
                }
        )
        guard case .apply(_, let change, _) = verdict.decision else { return }
        #expect(account.applying(change).signInMethods.isEmpty)
        #expect(account.applying(change).hasPassword)
    }

    @Test func `K3: an administrator removes methods from a disabled account, and the last one too`() {
        let account = Account.fixture("a", email: ann, password: true, disabled: true)
        #expect(
            decide(account, Removal(providers: [.password]), policy: keeping, request: .administrator)
                == applied { $0.password = .remove }
        )
        #expect(
            decide(account, Removal(email: true), policy: keeping, request: .administrator)
                == applied { $0.email = .remove }
        )
    }

    @Test func `K3: by default the last method may be removed, as in production`() {
        let account = Account.fixture("a", providers: [.gitHub: "g"])
        #expect(decide(account, Removal(providers: [.gitHub])) == applied { $0.unlinkedProviders = [.gitHub] })
    }

    @Test func `K4: a disabled account does not change`() {
        let disabled = Account.fixture("a", providers: [.gitHub: "g"], disabled: true)
        #expect(
            decide(disabled, Removal(providers: [.gitHub])) == Verdict(.unlinkAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `K5: removing the address needs a recent sign-in`() {
        let account = Account.fixture("a", email: ann, password: true, providers: [.gitHub: "g"])
        let refused = Verdict<UpdateDecision>(.emailRemovalNeedsRecentSignIn, .refuse(.credentialTooOld))
        #expect(decide(account, Removal(email: true), recent: false) == refused)
        #expect(
            decide(account, Removal(providers: [.gitHub], email: true), policy: keeping, recent: false) == refused
        )
    }
}

struct DeleteRows {
    private let account = Account.fixture("a", email: ann, password: true)
    private let keeping = LinkPolicy.policy { $0.allowsClientDeletion = false }

    @Test func `D1: an unknown account is not found`() {
        #expect(
            decideDelete(policy: LinkPolicy(), account: nil, request: .administrator)
                == Verdict(.deleteUnknownAccount, .refuse(.userNotFound))
        )
        #expect(
            decideDelete(policy: LinkPolicy(), account: nil, request: .client(isSessionRecent: true))
                == Verdict(.deleteUnknownAccount, .refuse(.userNotFound))
        )
    }

    @Test func `D2: a disabled user cannot delete, an administrator can`() {
        let disabled = Account.fixture("a", disabled: true)
        #expect(
            decideDelete(policy: keeping, account: disabled, request: .client(isSessionRecent: false))
                == Verdict(.deleteAccountDisabled, .refuse(.userDisabled))
        )
        #expect(
            decideDelete(policy: LinkPolicy(), account: disabled, request: .administrator)
                == Verdict(.accountDeleted, .delete(user("a")))
        )
    }

    @Test func `D3: an old session must sign in again`() {
        #expect(
            decideDelete(policy: keeping, account: account, request: .client(isSessionRecent: false))
                == Verdict(.deleteNeedsRecentSignIn, .refuse(.credentialTooOld))
        )
    }

    @Test func `D4: if users may not delete themselves, only an administrator can`() {
        #expect(
            decideDelete(policy: keeping, account: account, request: .client(isSessionRecent: true))
                == Verdict(.deleteNotAllowed, .refuse(.selfDeletionDisabled))
        )
        #expect(
            decideDelete(policy: keeping, account: account, request: .administrator)
                == Verdict(.accountDeleted, .delete(user("a")))
        )
    }

    @Test func `D5: a recent session deletes its account`() {
        #expect(
            decideDelete(policy: LinkPolicy(), account: account, request: .client(isSessionRecent: true))
                == Verdict(.accountDeleted, .delete(user("a")))
        )
    }
}

struct UpdateByAdminRows {
    private func decide(
        _ account: Account?,
        _ update: AdminUpdate,
        emailOwner: Account? = nil,
        phoneOwner: Account? = nil,
        identityOwner: Account? = nil
    ) -> Verdict<UpdateDecision> {
        UpdateByAdminQuestion(
            account: account,
            update: update,
            emailOwner: emailOwner,
            phoneOwner: phoneOwner,
            identityOwner: identityOwner
        ).decide(LinkPolicy())
    }

    private func applied(_ build: (inout AccountChange) -> Void) -> Verdict<UpdateDecision> {
        Verdict(.accountUpdatedByAdmin, .apply(user("a"), .only(build), issuesTokens: false))
    }

    private let bobs = Account.fixture("a", email: bob, proof: .emailCode, password: true)
    private let other = Account.fixture("o", email: ann, phone: true, providers: [.google: "google-ann"])

    @Test func `X1: an unknown account is not found`() {
        #expect(
            decide(nil, AdminUpdate(email: ann), emailOwner: other)
                == Verdict(.adminUpdateUnknownAccount, .refuse(.userNotFound))
        )
    }

    @Test func `X2: an address of another account is refused`() {
        #expect(
            decide(bobs, AdminUpdate(email: ann, phoneNumber: annsNumber), emailOwner: other, phoneOwner: other)
                == Verdict(.adminUpdateEmailExists, .refuse(.emailExists))
        )
    }

    @Test func `X3: a number of another account is refused`() {
        #expect(
            decide(bobs, AdminUpdate(phoneNumber: annsNumber), phoneOwner: other)
                == Verdict(.adminUpdatePhoneExists, .refuse(.phoneNumberExists))
        )
    }

    @Test func `X4: an identity of another account is refused`() {
        #expect(
            decide(bobs, AdminUpdate(identity: identity(.google, "google-ann")), identityOwner: other)
                == Verdict(.adminUpdateIdentityInUse, .refuse(.federatedIdentityAlreadyLinked))
        )
    }

    @Test func `X5: a new address counts as unverified by default and ends sessions`() {
        #expect(
            decide(bobs, AdminUpdate(email: ann))
                == applied {
                    $0.email = .set(ann, proof: nil)
                    $0.endsSessions = true
                }
        )
        #expect(
            decide(bobs, AdminUpdate(email: ann, isEmailVerified: true))
                == applied {
                    $0.email = .set(ann, proof: .administrator)
                    $0.endsSessions = true
                }
        )
        #expect(
            decide(bobs, AdminUpdate(email: ann, isEmailVerified: false))
                == applied {
                    $0.email = .set(ann, proof: nil)
                    $0.endsSessions = true
                }
        )
    }

    @Test func `X5: an administrator sets an address as verified or not`() {
        let unproven = Account.fixture("a", email: bob)
        #expect(
            decide(unproven, AdminUpdate(isEmailVerified: true)) == applied { $0.email = .prove(.administrator) }
        )
        #expect(
            decide(unproven, AdminUpdate(email: bob, isEmailVerified: true), emailOwner: unproven)
                == applied { $0.email = .prove(.administrator) }
        )
        #expect(decide(bobs, AdminUpdate(isEmailVerified: false)) == applied { $0.email = .unprove })
    }

    @Test func `X5: password, disabling and revoking end sessions; number and enabling do not`() {
        #expect(
            decide(bobs, AdminUpdate(setsPassword: true))
                == applied {
                    $0.password = .set
                    $0.endsSessions = true
                }
        )
        #expect(
            decide(bobs, AdminUpdate(isDisabled: true))
                == applied {
                    $0.isDisabled = true
                    $0.endsSessions = true
                }
        )
        #expect(decide(bobs, AdminUpdate(revokesSessions: true)) == applied { $0.endsSessions = true })
        #expect(decide(bobs, AdminUpdate(phoneNumber: annsNumber)) == applied { $0.phone = .set(annsNumber) })
        #expect(
            decide(.fixture("a", disabled: true), AdminUpdate(isDisabled: false)) == applied { $0.isDisabled = false }
        )
    }

    @Test func `X5: an administrator links an identity, replacing one of the same provider`() {
        let google = identity(.google, "google-ann")
        #expect(decide(bobs, AdminUpdate(identity: google)) == applied { $0.linkedIdentity = google })
        let linked = Account.fixture("a", providers: [.google: "google-of-before"])
        #expect(
            decide(linked, AdminUpdate(identity: google))
                == applied {
                    $0.linkedIdentity = google
                    $0.unlinkedProviders = [.google]
                }
        )
    }

    @Test func `X6: equal values are no change`() {
        let account = Account.fixture(
            "a",
            email: ann,
            proof: .emailCode,
            phone: true,
            providers: [.google: "google-ann"],
            disabled: true
        )
        let update = AdminUpdate(
            email: ann,
            isEmailVerified: true,
            phoneNumber: annsNumber,
            isDisabled: true,
            identity: identity(.google, "google-ann")
        )
        #expect(
            decide(account, update, emailOwner: account, phoneOwner: account, identityOwner: account)
                == Verdict(.adminUpdateUnchanged, .unchanged(user("a")))
        )
        #expect(
            decide(.fixture("a"), AdminUpdate(isEmailVerified: true))
                == Verdict(.adminUpdateUnchanged, .unchanged(user("a")))
        )
    }
}
