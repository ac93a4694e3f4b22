import AccountLinking
import Testing

/// Addresses that are reserved for the account that gave them up.
struct TakeAddressRows {
    private let proven = AddressReservation(address: ann, account: user("r"), wasProven: true)
    private let unproven = AddressReservation(address: ann, account: user("r"), wasProven: false)
    private let refused = Verdict<Refusal>(.addressReserved, .emailExists)

    private func taking(_ address: EmailAddress, _ proof: EmailProof?) -> AccountChange {
        .only { $0.email = .set(address, proof: proof) }
    }

    @Test func `U16: an address that a recovery code can restore is given to no other account`() {
        for proof in [nil, EmailProof.emailCode, .emailLink, .provider(.google)] {
            #expect(decideTakeAddress(taking(ann, proof), by: nil, reservation: proven) == refused)
            #expect(decideTakeAddress(taking(ann, proof), by: user("t"), reservation: proven) == refused)
        }
    }

    @Test func `U16: an unproven reserved address is given only to an account that proves it`() {
        #expect(decideTakeAddress(taking(ann, nil), by: nil, reservation: unproven) == refused)
        #expect(decideTakeAddress(taking(ann, .emailLink), by: nil, reservation: unproven) == nil)
        #expect(decideTakeAddress(taking(ann, .provider(.google)), by: user("t"), reservation: unproven) == nil)
    }

    @Test func `U16: the account that gave the address up can take it, and any other address is free`() {
        for reservation in [proven, unproven] {
            #expect(decideTakeAddress(taking(ann, nil), by: user("r"), reservation: reservation) == nil)
            #expect(decideTakeAddress(taking(bob, nil), by: nil, reservation: reservation) == nil)
        }
        #expect(decideTakeAddress(taking(ann, nil), by: nil, reservation: nil) == nil)
        #expect(decideTakeAddress(.nothing, by: nil, reservation: proven) == nil)
    }

    @Test func `U16: another account's address, owned or reserved, gets no password`() {
        func link(_ taker: String, _ reservation: AddressReservation? = nil, owner: String? = nil) -> Verdict<Refusal>?
        {
            decideLinkAddress(ann, to: user(taker), owner: owner.map(user), reservation: reservation)
        }
        #expect(link("t", owner: "o") == Verdict(.passwordLinkEmailInUse, .emailExists))
        #expect(link("t", owner: "t") == nil)
        #expect(link("t", proven) == refused)
        #expect(link("r", proven) == nil)
        #expect(link("t") == nil)
    }

    /// Every decision that ends in a sign-in, over its whole input.
    private let signIns = Set(
        SignInWithIdpCase.verdicts + LinkWithIdpCase.verdicts + EmailLinkCase.verdicts + PhoneCase.verdicts
            + SignUpCase.verdicts + PasswordCase.verdicts
    )

    @Test func `no sign-in takes a reserved address, and nothing else is refused because of it`() {
        var refusedCount = 0
        checkLaw(Array(signIns)) { verdict in
            let kept = verdict.respecting(proven)
            let (change, taker): (AccountChange, UserID?)
            switch verdict.decision {
            case .createUser(let made): (change, taker) = (made, nil)
            case .signIn(let account, let made, emailWasRecycled: _): (change, taker) = (made, account)
            case .secondFactorRequired, .conflict, .refuse: return kept == verdict
            }
            guard case .set(ann, let proof) = change.email, taker != user("r") else { return kept == verdict }
            refusedCount += 1
            let givesWay = proof != nil
            return kept == Verdict(.addressReserved, .refuse(.emailExists))
                && (verdict.respecting(unproven) == verdict) == givesWay
        }
        #expect(refusedCount > 0)
    }

    @Test func `a conflict is not settled if that would take a reserved address`() {
        let verdict = Verdict<ResolutionDecision>(
            .credentialLinkedAfterProof,
            .resolve(user("t"), taking(ann, .provider(.google)))
        )
        #expect(verdict.respecting(proven) == Verdict(.addressReserved, .refuse(.refused(.emailExists))))
        #expect(verdict.respecting(unproven) == verdict)
        let other = Verdict<ResolutionDecision>(.resolveAlreadyLinked, .resolve(user("t"), .nothing))
        #expect(other.respecting(proven) == other)
    }

    @Test func `a question includes the reservation of its address, and its answer depends on it`() {
        let question = SignUpQuestion(email: ann, emailOwner: nil, reservation: proven)
        let policy = LinkPolicy()
        #expect(question.decide(policy).rule == .addressReserved)
        let alternatives = question.alternatives(to: .addressReserved, policy)
        #expect(alternatives.contains(Alternative(fact: .emailTaken, rule: .signUpByPassword)))
    }
}
