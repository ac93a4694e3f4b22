extension Account {
    /// The account after `change`, for decisions that look ahead and for simulation. Defines the meaning of
    /// `AccountChange`; the store writes the same result.
    package func applying(_ change: AccountChange) -> Account {
        if change.isEmpty { return self }
        var account = self
        account.version += 1
        if change.endsSessions { account.sessionEpoch += 1 }
        switch change.email {
        case .keep: break
        case .set(let address, let proof): account.email = AccountEmail(address: address, proof: proof)
        case .prove(let proof): account.email?.proof = proof
        case .unprove: account.email?.proof = nil
        case .remove: account.email = nil
        }
        if change.voidsOutstandingProofs { account.hasInitialEmail = false }
        if change.rememberedInitialEmail != nil { account.hasInitialEmail = true }
        switch change.password {
        case .keep: break
        case .set: account.hasPassword = true
        case .remove: account.hasPassword = false
        }
        if let emailLink = change.emailLink { account.hasEmailLink = emailLink }
        switch change.phone {
        case .keep: break
        case .set(let number): account.phoneNumber = number
        case .release, .remove: account.phoneNumber = nil
        }
        for provider in change.unlinkedProviders { account.linkedProviders[provider] = nil }
        if let identity = change.linkedIdentity { account.linkedProviders[identity.provider] = identity.subject }
        if let secondFactors = change.secondFactors { account.hasSecondFactor = !secondFactors.isEmpty }
        if let isDisabled = change.isDisabled { account.isDisabled = isDisabled }
        if let usesCustomTokens = change.usesCustomTokens { account.usesCustomTokens = usesCustomTokens }
        return account
    }
}

extension AccountChange {
    /// Combines both changes: applying the result leaves the facts that applying `self` and then `later` would leave.
    ///
    /// One change holds one linked identity. If both link one, the later is kept.
    package func followed(by later: AccountChange) -> AccountChange {
        var both = self
        switch (email, later.email) {
        case (_, .keep): break
        case (.set(let address, _), .prove(let proof)): both.email = .set(address, proof: proof)
        case (.set(let address, _), .unprove): both.email = .set(address, proof: nil)
        case (.remove, .prove), (.remove, .unprove): break
        case (_, let email): both.email = email
        }
        if both.rememberedInitialEmail == nil || later.voidsOutstandingProofs {
            both.rememberedInitialEmail = later.rememberedInitialEmail
        }
        if later.password != .keep { both.password = later.password }
        if let emailLink = later.emailLink { both.emailLink = emailLink }
        if later.phone != .keep { both.phone = later.phone }
        if let linked = linkedIdentity, later.unlinkedProviders.contains(linked.provider) { both.linkedIdentity = nil }
        if let identity = later.linkedIdentity { both.linkedIdentity = identity }
        both.unlinkedProviders.formUnion(later.unlinkedProviders)
        both.quarantinesRemovals = both.quarantinesRemovals || later.quarantinesRemovals
        if later.profile != .keep { both.profile = later.profile }
        if let secondFactors = later.secondFactors { both.secondFactors = secondFactors }
        if let isDisabled = later.isDisabled { both.isDisabled = isDisabled }
        if let usesCustomTokens = later.usesCustomTokens { both.usesCustomTokens = usesCustomTokens }
        both.endsSessions = both.endsSessions || later.endsSessions
        both.voidsOutstandingProofs = both.voidsOutstandingProofs || later.voidsOutstandingProofs
        return both
    }
}
