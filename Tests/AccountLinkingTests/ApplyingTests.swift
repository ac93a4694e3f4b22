import AccountLinking
import Testing

/// The effect of each field of a change.
struct ApplyingTests {
    private let bare = Account.fixture("a")
    private let full = Account.fixture(
        "a",
        email: bob,
        proof: .emailCode,
        password: true,
        emailLink: true,
        phone: true,
        providers: [.google: "g", .gitHub: "h"],
        customTokens: true
    )

    private func applied(_ account: Account, _ build: (inout AccountChange) -> Void) -> Account {
        account.applying(.only(build))
    }

    @Test func `an empty change changes nothing, not even the version`() {
        #expect(full.applying(.nothing) == full)
    }

    @Test func `an address is set, proven, unproven and removed`() {
        #expect(
            applied(bare) { $0.email = .set(ann, proof: nil) }.email == AccountEmail(address: ann, proof: nil)
        )
        #expect(
            applied(full) { $0.email = .set(ann, proof: .emailLink) }.email
                == AccountEmail(address: ann, proof: .emailLink)
        )
        #expect(
            applied(full) { $0.email = .prove(.administrator) }.email
                == AccountEmail(address: bob, proof: .administrator)
        )
        #expect(applied(full) { $0.email = .unprove }.email == AccountEmail(address: bob, proof: nil))
        #expect(applied(full) { $0.email = .remove }.email == nil)
        #expect(applied(bare) { $0.email = .prove(.administrator) }.email == nil)
        #expect(applied(bare) { $0.rememberedInitialEmail = ann }.hasInitialEmail)
    }

    @Test func `second factors are added, removed and replaced`() {
        #expect(applied(bare) { $0.secondFactors = [.app("a")] }.hasSecondFactor)
        let guarded = Account.fixture("a", secondFactor: true)
        #expect(applied(guarded) { $0.password = .set }.hasSecondFactor)
        #expect(!applied(guarded) { $0.secondFactors = [] }.hasSecondFactor)
        let both = AccountChange.only { $0.secondFactors = [.app("a")] }
            .followed(by: .only { $0.secondFactors = [.app("b")] })
        #expect(both.secondFactors == [.app("b")] && both.followed(by: .nothing) == both)
    }

    @Test func `methods are added and removed`() {
        #expect(applied(bare) { $0.password = .set }.hasPassword)
        #expect(!applied(full) { $0.password = .remove }.hasPassword)
        #expect(applied(bare) { $0.emailLink = true }.hasEmailLink)
        #expect(!applied(full) { $0.emailLink = false }.hasEmailLink)
        #expect(applied(bare) { $0.phone = .set(annsNumber) }.phoneNumber == annsNumber)
        #expect(applied(full) { $0.phone = .release }.phoneNumber == nil)
        #expect(applied(full) { $0.phone = .remove }.phoneNumber == nil)
        #expect(applied(full) { $0.unlinkedProviders = [.google] }.linkedProviders == [.gitHub: "h"])
        #expect(
            applied(full) {
                $0.unlinkedProviders = [.google, .gitHub]
                $0.linkedIdentity = identity(.google, "new")
            }.linkedProviders == [.google: "new"]
        )
    }

    @Test func `state changes`() {
        #expect(applied(bare) { $0.isDisabled = true }.isDisabled)
        #expect(!applied(applied(bare) { $0.isDisabled = true }) { $0.isDisabled = false }.isDisabled)
        #expect(applied(bare) { $0.usesCustomTokens = true }.usesCustomTokens)
        let ended = applied(full) { $0.endsSessions = true }
        #expect(ended.sessionEpoch == full.sessionEpoch + 1)
        #expect(ended.version == full.version + 1)
    }

    @Test func `of two changes to one field the later wins`() {
        func both(
            _ first: (inout AccountChange) -> Void,
            _ second: (inout AccountChange) -> Void
        ) -> AccountChange {
            AccountChange.only(first).followed(by: .only(second))
        }
        #expect(both({ $0.password = .set }, { $0.password = .remove }).password == .remove)
        #expect(both({ $0.emailLink = true }, { $0.emailLink = false }).emailLink == false)
        #expect(both({ $0.phone = .set(annsNumber) }, { $0.phone = .release }).phone == .release)
        #expect(both({ $0.isDisabled = true }, { $0.isDisabled = false }).isDisabled == false)
        #expect(
            both({ $0.profile = .fillBlanks(Profile()) }, { $0.profile = .replace(annsProfile) }).profile
                == .replace(annsProfile)
        )
        #expect(
            both({ $0.email = .set(ann, proof: nil) }, { $0.email = .prove(.emailLink) }).email
                == .set(ann, proof: .emailLink)
        )
        #expect(
            both({ $0.email = .set(ann, proof: .emailLink) }, { $0.email = .unprove }).email
                == .set(ann, proof: nil)
        )
        #expect(both({ $0.email = .remove }, { $0.email = .prove(.emailLink) }).email == .remove)
        #expect(
            both({ $0.linkedIdentity = identity(.google, "x") }, { $0.unlinkedProviders = [.google] }).linkedIdentity
                == nil
        )
        #expect(
            both({ $0.linkedIdentity = identity(.google, "x") }, { $0.linkedIdentity = identity(.apple, "y") })
                .linkedIdentity == identity(.apple, "y")
        )
        // The first address stays the first.
        #expect(
            both({ $0.rememberedInitialEmail = ann }, { $0.rememberedInitialEmail = bob }).rememberedInitialEmail
                == ann
        )
    }

    @Test func `changes to different fields are combined`() {
        let first = AccountChange.only {
            $0.email = .set(ann, proof: nil)
            $0.unlinkedProviders = [.google]
            $0.endsSessions = true
        }
        let second = AccountChange.only {
            $0.rememberedInitialEmail = bob
            $0.password = .set
            $0.emailLink = true
            $0.phone = .remove
            $0.linkedIdentity = identity(.apple, "y")
            $0.unlinkedProviders = [.gitHub]
            $0.profile = .replace(annsProfile)
            $0.isDisabled = true
            $0.usesCustomTokens = true
            $0.voidsOutstandingProofs = true
        }
        var expected = second
        expected.email = .set(ann, proof: nil)
        expected.unlinkedProviders = [.google, .gitHub]
        expected.endsSessions = true
        #expect(first.followed(by: second) == expected)
        #expect(second.followed(by: first) == expected)
        #expect(first.followed(by: .nothing) == first)
        #expect(AccountChange.nothing.followed(by: second) == second)
    }

    @Test func `the methods of an account are those that can sign in, in order`() {
        #expect(full.signInMethods.map(\.name) == ["password", "emailLink", "phone", "github.com", "google.com"])
        #expect(
            applied(full) { $0.email = .remove }.signInMethods.map(\.name) == ["phone", "github.com", "google.com"]
        )
        #expect(bare.signInMethods.isEmpty)
    }

    @Test func `an account is anonymous until something identifies it`() {
        #expect(bare.isAnonymous)
        #expect(!applied(bare) { $0.email = .set(ann, proof: nil) }.isAnonymous)
        #expect(!applied(bare) { $0.phone = .set(annsNumber) }.isAnonymous)
        #expect(!applied(bare) { $0.linkedIdentity = identity(.google, "g") }.isAnonymous)
        #expect(!applied(bare) { $0.usesCustomTokens = true }.isAnonymous)
        #expect(!applied(bare) { $0.password = .set }.isAnonymous)
    }
}
