/// The effect of a change of policy on an account. Names are stable and never reused.
package enum SimulatedEffect: String, Sendable, Hashable, CaseIterable {
    // In display order, from the most to the least restrictive.
    case lockedOut = "locked-out"
    case methodLost = "method-lost"
    case wouldSplit = "would-split"
    case wouldConflict = "would-conflict"
    case wouldBeTakenOver = "would-be-taken-over"
    case wouldBeRefused = "would-be-refused"
    case proofLost = "proof-lost"
    case conflictStuck = "conflict-stuck"
    case addressShared = "address-shared"
    case secondFactorAsked = "second-factor-asked"
    case secondFactorSkipped = "second-factor-skipped"
    case wouldLink = "would-link"
    case wouldBeVerified = "would-be-verified"
    case methodGained = "method-gained"
    case letIn = "let-in"

    /// One sentence for people.
    package var summary: String {
        switch self {
        case .lockedOut: "The user can sign in now, and no method would let them in."
        case .methodLost: "A sign-in method that works now would stop working; another one stays."
        case .wouldSplit:
            "A sign-in with the account's address would create a second account instead of finding this one."
        case .wouldConflict: "A sign-in with the account's address would become a conflict."
        case .wouldBeTakenOver:
            "A sign-in with the account's unproven address would suspend the methods that were there before."
        case .wouldBeRefused: "A sign-in with the account's address would be refused."
        case .proofLost: "The provider that proved the address would no longer be trusted for it."
        case .conflictStuck: "A proof settles an open conflict now, and would no longer settle it."
        case .addressShared: "Another account has the same address, and a sign-in with it would find one of them."
        case .secondFactorAsked: "The sign-in would require the second factor, and does not now."
        case .secondFactorSkipped: "The sign-in requires the second factor now, and would not."
        case .wouldLink: "A sign-in with the account's address would be linked to the account, and is not now."
        case .wouldBeVerified: "A sign-in with a linked provider would prove the account's address, and does not now."
        case .methodGained: "A sign-in method that does not work now would work; another one works already."
        case .letIn: "No method lets the user in now, and one would."
        }
    }
}

/// The outcome of a sign-in or another request, for comparison.
package enum SimulatedOutcome: Sendable, Hashable {
    case signsIn
    /// Signs in, and proves the account's address.
    case verifies
    case links
    /// The owner of the address takes the account over; earlier methods are suspended.
    case takesOver
    /// Replaces the old identity of the same provider.
    case replaces
    case creates
    case asksSecondFactor
    case conflict
    case refused(Refusal)
    /// A conflict is not settled.
    case unsettled
    /// The account changes, without a sign-in.
    case changes
    /// Success without a change.
    case changesNothing

    package var text: String {
        switch self {
        case .signsIn: "signs in"
        case .verifies: "signs in, proving the address"
        case .links: "links"
        case .takesOver: "takes over"
        case .replaces: "replaces the old identity"
        case .creates: "creates an account"
        case .asksSecondFactor: "asks for the second factor"
        case .conflict: "conflict"
        case .refused(let refusal): "refused (\(refusal.rawValue))"
        case .unsettled: "not settled"
        case .changes: "changes"
        case .changesNothing: "changes nothing"
        }
    }
}

extension SignInDecision {
    package var outcome: SimulatedOutcome {
        switch self {
        // After the person's answer, if the client asks first.
        case .createUser, .conflict(.firstSignIn): return .creates
        case .secondFactorRequired: return .asksSecondFactor
        case .conflict: return .conflict
        case .refuse(let refusal): return .refused(refusal)
        case .signIn(_, let change, let emailWasRecycled):
            if emailWasRecycled { return .replaces }
            if change.voidsOutstandingProofs { return .takesOver }
            if change.linkedIdentity != nil { return .links }
            if case .prove = change.email { return .verifies }
            return .signsIn
        }
    }
}

extension UpdateDecision {
    package var outcome: SimulatedOutcome {
        switch self {
        case .apply, .takeAddress: .changes
        case .unchanged: .changesNothing
        case .refuse(let refusal): .refused(refusal)
        }
    }
}

extension ResolutionDecision {
    package var outcome: SimulatedOutcome {
        switch self {
        case .resolve(_, let change): change.voidsOutstandingProofs ? .takesOver : .links
        case .refuse(.refused(let refusal)): .refused(refusal)
        case .refuse: .unsettled
        }
    }
}

extension LinkConfirmedDecision {
    package var outcome: SimulatedOutcome {
        switch self {
        case .openConflict: .conflict
        case .refuse: .unsettled
        }
    }
}
