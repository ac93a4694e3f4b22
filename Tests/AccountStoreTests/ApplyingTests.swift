import AccountLinking
import AccountStore
import AccountTestSupport
import Testing

/// `UserRecord.applying` gives the same facts as `Account.applying`.
struct ApplyingTests {
    @Test func `applying any change to a record gives the facts that the rules compute`() {
        let context = ChangeContext(now: later, methodProof: .session)
        var passwordOnly = UserRecord.blank("password-only")
        passwordOnly.email = AccountEmail(address: address("password-only@example.com"), proof: nil)
        passwordOnly.passwordUpdatedAt = origin
        passwordOnly.methodProofs[.password] = UserRecord.MethodProof(proof: .signUp, provenAt: origin)
        var differences = 0
        var choices = Choices()
        while choices.next() {
            let record = choices.choose(from: [UserRecord.full("full"), .blank("blank"), passwordOnly])
            let change = Self.choose(&choices)
            var expected = record.account.applying(change)
            // The database raises the version; the record has the version that was read.
            expected.version = record.version
            let actual = record.applying(change, context).account
            if actual != expected, differences < 5 {
                differences += 1
                Issue.record("\(record.id.rawValue): \(change) gives \(actual), not \(expected)")
            }
        }
        #expect(choices.combinationCount == 7776 * 3)
    }

    private static func choose(_ choices: inout Choices) -> AccountChange {
        var change = AccountChange()
        change.email = choices.choose(from: [
            .keep, .set(address("new@example.com"), proof: nil), .set(address("new@example.com"), proof: .emailCode),
            .prove(.emailLink), .unprove, .remove,
        ])
        change.rememberedInitialEmail = choices.choose(from: [nil, address("old@example.com")])
        change.password = choices.choose(from: [.keep, .set, .remove])
        change.emailLink = choices.choose(from: [nil, true, false])
        change.phone = choices.choose(from: [.keep, .set(number("+16505553434")), .release, .remove])
        change.linkedIdentity = choices.choose(from: [nil, identity(.google, "other"), identity(.apple, "new")])
        change.unlinkedProviders = choices.choose(from: [[], [.google], [.google, .facebook, .apple]])
        // These three touch separate fields, so they change together.
        if choices.chooseBool() {
            change.isDisabled = true
            change.usesCustomTokens = true
            change.endsSessions = true
        }
        return change
    }

    @Test func `a change that clears a flag clears the flag`() {
        var record = UserRecord.full("full")
        record.isDisabled = true
        record.usesCustomTokens = true
        var change = AccountChange()
        change.isDisabled = false
        change.usesCustomTokens = false
        let after = record.applying(change, ChangeContext(now: later, methodProof: .administrator))
        #expect(!after.isDisabled && !after.usesCustomTokens)
    }

    @Test func `an empty change leaves the record as it is`() {
        let record = UserRecord.full("full")
        #expect(record.applying(AccountChange(), ChangeContext(now: later, methodProof: .session)) == record)
    }

    @Test func `ending sessions never moves validSince back`() {
        var record = UserRecord.blank("blank")
        record.validSince = later.adding(seconds: 100)
        record.endSessions(at: later)
        #expect(record.validSince == later.adding(seconds: 100))
        #expect(record.sessionEpoch == 1001)
        record.endSessions(at: later.adding(seconds: 200))
        #expect(record.validSince == Timestamp(secondsSinceEpoch: later.secondsSinceEpoch + 200))
    }

    @Test func `a released number stays as an unproven number, a replaced one does not`() {
        let record = UserRecord.full("full")
        let context = ChangeContext(now: later, methodProof: .message)
        var change = AccountChange()
        change.phone = .release
        let released = record.applying(change, context)
        #expect(released.phoneNumber == nil && released.unprovenPhoneNumber == record.phoneNumber)
        change.phone = .set(number("+16505550000"))
        #expect(released.applying(change, context).unprovenPhoneNumber == nil)
    }

    @Test func `filling blanks does not replace existing values`() {
        var record = UserRecord.blank("blank")
        record.profile.displayName = "Ann"
        var change = AccountChange()
        change.profile = .fillBlanks(Profile(displayName: "Other", photoURL: "https://example.com/p.png"))
        let after = record.applying(change, ChangeContext(now: later, methodProof: .session))
        #expect(after.profile == Profile(displayName: "Ann", photoURL: "https://example.com/p.png"))
    }
}
