/// The session that presents a `VERIFY_EMAIL` code. Raw values are stored with decisions.
package enum ProvingSession: String, Sendable, Hashable, CaseIterable {
    /// No session of the account.
    case absent
    /// A session of the account that did not request the code.
    case other
    /// The session that requested the code.
    case asking
}

/// The answer of the mailbox's reader to a `VERIFY_EMAIL` code.
package enum VerifyEmailAnswer: Sendable, Hashable {
    /// The account is the reader's.
    case confirm(from: ProvingSession)
    /// The reader did not create the account.
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

/// The use of a `VERIFY_EMAIL` code: rows V. Every answer uses the code.
///
/// A code proves that its holder reads the mailbox, not who created the account. An intruder may have registered the
/// address and requested the mail. So the first proof ends every session, unless the requesting session brings it, and
/// the reader can disown the account.
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
            // A mailed code overrides trust for new addresses, but a click of the present holder must not confirm a
            // former holder's account.
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
            // The person who proved the address before owns the account, and can evict others by a password reset.
            if email.isVerified { return Verdict(.disownedTooLate, .refuse(.invalidEmailCode)) }
            // After a takeover a strange second factor would lock the owner out of the account, and of the address.
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
