import AccountLinking
import Testing

@testable import concord

/// The consequences of a plan in words.
struct ConsequenceTextTests {
    @Test func `one user and many users have natural sentences`() {
        let entries: [ConsequenceTally.Entry] = [
            .init(.verifiedAddressLost, count: 2265), .init(.verifiedAddressLost, count: 1),
            .init(.methodSuspended(.password), count: 194, mailed: 194),
            .init(.methodSuspended(.password), count: 1, mailed: 1),
            .init(.methodSuspended(.provider(.google)), count: 3, mailed: 1),
            .init(.methodSuspended(.phone), count: 3), .init(.methodSuspended(.emailLink), count: 1),
            .init(.signedOut, count: 1), .init(.signedOut, count: 2), .init(.phoneNumberLost, count: 2),
            .init(.codesVoided, count: 2), .init(.identifierClaimed, count: 1), .init(.identifierClaimed, count: 2),
            .init(.identifierFreed, count: 1), .init(.identifierFreed, count: 2), .init(.recordsCorrected, count: 2),
        ]
        #expect(
            entries.map(\.sentence) == [
                "2,265 users lose their verified address.",
                "1 user loses their verified address.",
                "194 users can no longer sign in with their password until they reset it; each gets a mail.",
                "1 user can no longer sign in with their password until they reset it; they get a mail.",
                "3 users can no longer sign in with google.com until they connect it again; 1 of them gets a mail.",
                "3 users can no longer sign in with their phone number until they add it again; no mail is sent.",
                "1 user can no longer sign in by mailed link until they open a new one; no mail is sent.",
                "1 user is signed out on every device.",
                "2 users are signed out on every device.",
                "2 users lose a phone number that cannot be used to sign in.",
                "Unused links mailed to 2 users stop working.",
                "1 user becomes the owner of an identifier that their account shows.",
                "2 users become the owners of an identifier that their account shows.",
                "1 reserved identifier is free for other accounts.",
                "2 reserved identifiers are free for other accounts.",
                "2 corrections of records, without an effect on users.",
            ]
        )
    }
}
