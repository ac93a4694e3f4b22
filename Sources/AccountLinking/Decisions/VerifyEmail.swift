/// Session that a `VERIFY_EMAIL` code came back with. Raw values are kept with decisions.
package enum ProvingSession: String, Sendable, Hashable, CaseIterable {
    /// None of the account.
    case absent
    /// One of the account, which did not ask for the code.
    case other
    /// The one that asked for the code.
    case asking
}

/// Answer of the person who reads the mailbox to a `VERIFY_EMAIL` code.
package enum VerifyEmailAnswer: Sendable, Hashable {
    /// The account is theirs.
    case confirm(from: ProvingSession)
    /// They did not make the account.
    case disown
}

extension VerifyEmailAnswer: Codable {
    private enum CodingKeys: String, CodingKey {
        case session, disowned
    }

    package init(from decoder: any Decoder) throws {
        let facts = try decoder.container(keyedBy: CodingKeys.self)
        self =
            try facts.decode(Bool.self, forKey: .disowned)
            ? .disown : .confirm(from: facts.decode(ProvingSession.self, forKey: .session))
    }

    package func encode(to encoder: any Encoder) throws {
        var facts = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .confirm(let session): try facts.encode(session, forKey: .session)
        case .disown: try facts.encode(true, forKey: .disowned)
        }
    }
}

/// A `VERIFY_EMAIL` code that came back: rows V. Every answer uses up the code.
///
/// A code shows that its holder reads the mailbox, and nothing about who made the account: an intruder may have registered
/// the address and asked for the mail. So the first proof of an address ends the sessions that may be the intruder's, unless
/// it comes from the session that asked, and the reader of the mailbox can disown the account.
package struct VerifyEmailQuestion {
    /// The account the code was made for; `nil` if it is gone.
    package var account: Account?
    /// The address the code was sent to.
    package var address: EmailAddress
    package var answer: VerifyEmailAnswer

    package init(account: Account?, address: EmailAddress, answer: VerifyEmailAnswer) {
        self.account = account
        self.address = address
        self.answer = answer
    }

    package func decide(_ policy: LinkPolicy) -> Verdict<UpdateDecision> {
        guard let account, let email = account.email, email.address == address else {
            return Verdict(.verifyCodeStale, .refuse(.invalidEmailCode))
        }
        if account.isDisabled { return Verdict(.verifyAccountDisabled, .refuse(.userDisabled)) }
        switch answer {
        case .confirm(let session):
            // A word for new addresses gives way to a mailed code, but not by the click of the present holder in a former one's account.
            if policy.isProven(account) || email.isVerified && session != .asking {
                return Verdict(.emailAlreadyVerified, .unchanged(account.id))
            }
            var change = AccountChange()
            change.email = .prove(.emailCode)
            guard policy.firstProofEndsSessions else {
                return Verdict(.emailVerified, .apply(account.id, change, issuesTokens: false))
            }
            if session == .asking {
                return Verdict(.firstProofBySession, .apply(account.id, change, issuesTokens: false))
            }
            change.endsSessions = true
            return Verdict(.firstProofElsewhere, .apply(account.id, change, issuesTokens: session == .other))
        case .disown:
            // Whoever proved the address before is the account's owner, and has a password reset to get rid of others.
            if email.isVerified { return Verdict(.disownedTooLate, .refuse(.invalidEmailCode)) }
            // A takeover would leave the owner of the mailbox before a factor that is not theirs, and the address with it.
            if policy.needsSecondFactor(account, provenBy: nil) {
                return Verdict(.disownedBehindFactor, .apply(account.id, .addressGivenUp, issuesTokens: false))
            }
            return Verdict(
                .disowned,
                .apply(account.id, .takeover(of: account, proof: .emailCode), issuesTokens: false)
            )
        }
    }
}

extension VerifyEmailQuestion: Question {
    package static let name = "verifyEmail"

    package enum CodingKeys: String, CodingKey {
        case account
        case address = "email"
        case answer = "+answer"
    }

    package var accounts: [Account] { [account].compactMap(\.self) }

    package mutating func rename(by names: inout Pseudonyms) {
        account?.rename(by: &names)
        address.rename(by: &names)
    }

    package mutating func flip(_ fact: DecidingFact) -> Bool {
        switch fact {
        case .accountDisabled: account?.isDisabled.toggle()
        case .emailProven: account?.flipEmailProven()
        case .providerEnabled, .emailTrusted, .emailTaken, .numberTaken, .identityLinked, .providerLinked,
            .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined,
            .oneAccountPerEmail, .signUpAllowed:
            return false
        }
        return true
    }
}
