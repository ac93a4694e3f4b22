import AccountLinking
import Testing

/// The mailbox that gets the code when an account's address changes.
struct ReplaceAddressRows {
    private let next = address("next@example.com")
    private let started = Timestamp(secondsSinceEpoch: 1)

    private func code(_ email: EmailAddress, wasProven: Bool = true, at seconds: Int64 = 1) -> LiveRecovery {
        LiveRecovery(email: email, wasProven: wasProven, createdAt: Timestamp(secondsSinceEpoch: seconds))
    }

    /// The account has Bob's address. Its first one is Ann's by default.
    private func decide(
        proof: EmailProof? = .emailCode,
        next: AccountEmail?,
        initial: EmailAddress? = ann,
        live: [LiveRecovery] = []
    ) -> AddressReplacement {
        decideReplaceAddress(
            policy: LinkPolicy(),
            account: .fixture("t", email: bob, proof: proof),
            next: next,
            initial: initial,
            live: live
        )
    }

    @Test func `the replaced proven address is mailed, not the first one`() {
        for next in [nil, AccountEmail(address: next, proof: nil), AccountEmail(address: next, proof: .emailCode)] {
            #expect(decide(next: next) == .mail(to: bob, wasProven: true, since: nil))
            #expect(decide(next: next, initial: bob) == .mail(to: bob, wasProven: true, since: nil))
            #expect(
                decide(next: next, live: [code(ann, wasProven: false)]) == .mail(to: bob, wasProven: true, since: nil)
            )
        }
    }

    @Test func `while a code to a proven address lives, a thief who changes the address again gets none`() {
        let live = [code(ann), code(ann, at: 2)]
        for proof in [nil, EmailProof.emailCode] {
            for next in [nil, AccountEmail(address: next, proof: .emailCode)] {
                #expect(
                    decide(proof: proof, next: next, live: live) == .mail(to: ann, wasProven: true, since: started)
                )
            }
        }
    }

    @Test func `an unproven first address is mailed when it is replaced, and while a code names it`() {
        let next = AccountEmail(address: next, proof: .emailCode)
        let mailed = AddressReplacement.mail(to: ann, wasProven: false, since: nil)
        #expect(decide(proof: nil, next: next, live: [code(ann, wasProven: false)]) == mailed)
        #expect(decide(proof: nil, next: next) == .silent, "its code has ended")
        #expect(decide(proof: nil, next: next, initial: nil) == .silent)
        #expect(decide(proof: nil, next: next, initial: bob) == .mail(to: bob, wasProven: false, since: nil))
    }

    @Test func `an account that returns to the address of a live code causes no mail`() {
        #expect(decide(next: AccountEmail(address: ann, proof: .emailCode), live: [code(ann)]) == .returned)
        #expect(decide(next: AccountEmail(address: ann, proof: nil), live: [code(ann)]) == .silent)
        #expect(decide(proof: nil, next: AccountEmail(address: ann, proof: nil)) == .silent)
        // Its first holder never proved it, so the proven address that it replaces is mailed.
        let unproven = [code(ann, wasProven: false)]
        #expect(
            decide(next: AccountEmail(address: ann, proof: .emailCode), live: unproven)
                == .mail(to: bob, wasProven: true, since: nil)
        )
    }

    @Test func `an unchanged address causes no mail`() {
        #expect(decide(next: AccountEmail(address: bob, proof: .emailCode), live: [code(ann)]) == .silent)
    }

    @Test func `an address that only a former holder may have proven counts as unproven`() {
        let replacement = decideReplaceAddress(
            policy: LinkPolicy(),
            account: .fixture("t", email: bob, proof: .provider(.apple), providers: [.apple: "former"]),
            next: AccountEmail(address: next, proof: .emailCode),
            initial: ann,
            live: []
        )
        #expect(replacement == .silent)
    }
}
