/// Decides whether an account may take a reserved address that `change` sets: row U16. Called after the decision that
/// made the change, so that no route to an address ignores the reservation.
///
/// - `taker`: the account that takes the address; `nil` for a new one.
/// - `reservation`: the reservation of the address in the request; `nil` for none.
/// - Returns: the refusal; `nil` if it may, or takes no reserved address.
package func decideTakeAddress(
    _ change: AccountChange,
    by taker: UserID?,
    reservation: AddressReservation?
) -> Verdict<Refusal>? {
    guard let reservation, reservation.account != taker else { return nil }
    switch change.email {
    case .keep, .prove, .unprove, .remove: return nil
    case .set(let address, let proof):
        guard address == reservation.address, reservation.wasProven || proof == nil else { return nil }
        return Verdict(.addressReserved, .emailExists)
    }
}

/// Decides whether another account prevents `taker` from adding an address and a password: rows P and U16. Called
/// first, because its answer precedes every other.
///
/// - `owner`: the account that owns the address.
/// - Returns: the refusal; `nil` if no other account has the address.
package func decideLinkAddress(
    _ email: EmailAddress,
    to taker: UserID,
    owner: UserID?,
    reservation: AddressReservation?
) -> Verdict<Refusal>? {
    if let owner, owner != taker { return Verdict(.passwordLinkEmailInUse, .emailExists) }
    var change = AccountChange()
    change.email = .set(email, proof: nil)
    return decideTakeAddress(change, by: taker, reservation: reservation)
}

extension Verdict<SignInDecision> {
    /// The verdict, unless it takes a reserved address (U16).
    package func respecting(_ reservation: AddressReservation?) -> Self {
        let refusal: Verdict<Refusal>? =
            switch decision {
            case .createUser(let change): decideTakeAddress(change, by: nil, reservation: reservation)
            case .signIn(let account, let change, emailWasRecycled: _):
                decideTakeAddress(change, by: account, reservation: reservation)
            case .secondFactorRequired, .conflict, .refuse: nil
            }
        return refusal.map { Self($0.rule, .refuse($0.decision)) } ?? self
    }
}

extension Verdict<UpdateDecision> {
    /// The verdict, unless it takes a reserved address (U16).
    package func respecting(_ reservation: AddressReservation?) -> Self {
        let refusal: Verdict<Refusal>? =
            switch decision {
            case .apply(let account, let change, issuesTokens: _):
                decideTakeAddress(change, by: account, reservation: reservation)
            // The address has an owner, so it is not reserved.
            case .takeAddress, .unchanged, .refuse: nil
            }
        return refusal.map { Self($0.rule, .refuse($0.decision)) } ?? self
    }
}

extension Verdict<ResolutionDecision> {
    /// The verdict, unless it takes a reserved address (U16).
    package func respecting(_ reservation: AddressReservation?) -> Self {
        let refusal: Verdict<Refusal>? =
            switch decision {
            case .resolve(let account, let change): decideTakeAddress(change, by: account, reservation: reservation)
            case .refuse: nil
            }
        return refusal.map { Self($0.rule, .refuse(.refused($0.decision))) } ?? self
    }
}
