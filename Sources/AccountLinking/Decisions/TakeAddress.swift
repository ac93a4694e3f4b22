/// Decides whether an account may take the address that `change` sets although it is reserved: row U16.
///
/// Total and pure. It comes after the decision that made the change, whichever that is, so that no road to an address can leave
/// the reservation out.
///
/// - `taker`: the account that would take the address; `nil` for a new one.
/// - `reservation`: what stands on the address that the request is about; `nil` for none.
/// - Returns: why not; `nil` when it may, or when it takes no reserved address.
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

/// Decides whether another account keeps `taker` from adding an address and a password: rows P and U16. Asked before anything
/// else about the request (`decideSignUp`), because the answer comes first.
///
/// - `owner`: the account that owns the address.
/// - Returns: why not; `nil` when no other account does.
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
