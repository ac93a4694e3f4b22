/// A fact that a decision hangs on, named so that a person can be told: "had it been otherwise, …".
package enum DecidingFact: String, Sendable, Hashable, CaseIterable {
    case providerEnabled
    /// Whether the provider's word about the address is proof.
    case emailTrusted
    /// Whether somebody has shown to own the account's address.
    case emailProven
    /// Whether an account has the address.
    case emailTaken
    /// Whether an account has the number.
    case numberTaken
    /// Whether the identity is an account's.
    case identityLinked
    case accountDisabled
    /// Whether this provider is one of the account's already.
    case providerLinked
    case createsUsers
    case sessionRecent
    case passwordRight
    case passwordLocked
    case proofGiven
    /// Whether the method is suspended.
    case methodQuarantined
    case oneAccountPerEmail
    case signUpAllowed
}

/// What the rules would have said with one fact otherwise.
package struct Alternative: Sendable, Hashable {
    package let fact: DecidingFact
    package let rule: Rule

    package init(fact: DecidingFact, rule: Rule) {
        self.fact = fact
        self.rule = rule
    }
}

extension Question {
    /// The answers that were not given, each with the one fact that stood against it.
    ///
    /// - `given`: the rule that answers the question under `policy`.
    package func alternatives(to given: Rule, _ policy: LinkPolicy) -> [Alternative] {
        DecidingFact.allCases.compactMap { fact in
            guard let rule = rule(without: fact, policy), rule != given else { return nil }
            return Alternative(fact: fact, rule: rule)
        }
    }

    /// The rule that answers the question with `fact` turned into its opposite; `nil` if the question does not ask for it.
    private func rule(without fact: DecidingFact, _ policy: LinkPolicy) -> Rule? {
        var question = self
        if question.flip(fact) { return question.decide(policy).rule }
        var policy = policy
        return policy.flip(fact, presentedCredential ?? waitingCredential) ? decide(policy).rule : nil
    }
}

extension LinkPolicy {
    /// Turns a fact into its opposite.
    ///
    /// - `credential`: the one that the question is about.
    /// - Returns: false if the policy does not decide about the fact.
    fileprivate mutating func flip(_ fact: DecidingFact, _ credential: IncomingCredential?) -> Bool {
        switch fact {
        case .oneAccountPerEmail: isOneAccountPerEmail.toggle()
        case .signUpAllowed: allowsClientSignUp.toggle()
        case .emailTrusted:
            guard let credential, let trust = emailTrust(of: credential) else { return false }
            let opposite: EmailTrustClass = trust >= .verifyingNew ? .asserting : .authoritative
            emailTrust = EmailTrust([.init(.init(.any), opposite)])
        case .providerEnabled, .emailProven, .emailTaken, .numberTaken, .identityLinked, .accountDisabled,
            .providerLinked,
            .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined:
            return false
        }
        return true
    }
}

extension Account {
    mutating func flipEmailProven() {
        let wasVerified = isEmailVerified
        email?.proof = wasVerified ? nil : .administrator
    }

    /// Unlinks the provider of `identity`, or links `identity` if the provider is not linked.
    mutating func flipLink(to identity: ProviderIdentity) {
        let isLinked = linkedProviders[identity.provider] != nil
        linkedProviders[identity.provider] = isLinked ? nil : identity.subject
    }
}
