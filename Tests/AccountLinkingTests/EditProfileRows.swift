import AccountLinking
import Testing

struct EditProfileRows {
    private let named = Profile(displayName: "Ann")

    @Test func `F1: a disabled account's profile does not change`() {
        let account = Account.fixture("a", disabled: true)
        #expect(
            decideEditProfile(account: account, current: Profile(), edited: named)
                == Verdict(.editProfileAccountDisabled, .refuse(.userDisabled))
        )
    }

    @Test func `F2: an edit that changes nothing writes nothing`() {
        let account = Account.fixture("a")
        #expect(
            decideEditProfile(account: account, current: named, edited: named)
                == Verdict(.profileUnchanged, .unchanged(user("a")))
        )
    }

    @Test func `F3: an edit replaces the profile and ends no session`() {
        let account = Account.fixture("a")
        #expect(
            decideEditProfile(account: account, current: named, edited: Profile())
                == Verdict(
                    .profileEdited,
                    .apply(user("a"), .only { $0.profile = .replace(Profile()) }, issuesTokens: false)
                )
        )
    }
}
