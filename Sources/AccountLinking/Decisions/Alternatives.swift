/// A fact that an explanation of a decision can turn into its opposite.
package enum DecidingFact: String, Sendable, Hashable, CaseIterable {
    case providerEnabled
    /// The provider's claim about the address is proof.
    case emailTrusted
    /// The account's address is proven.
    case emailProven
    /// An account has the address.
    case emailTaken
    /// An account has the number.
    case numberTaken
    /// An account has the identity.
    case identityLinked
    case accountDisabled
    /// The account has an identity of this provider.
    case providerLinked
    case createsUsers
    case sessionRecent
    case passwordRight
    case passwordLocked
    case proofGiven
    case methodQuarantined
    case oneAccountPerEmail
    case signUpAllowed
}

/// The rule that decides if one fact is the opposite.
package struct Alternative: Sendable, Hashable {
    package let fact: DecidingFact
    package let rule: Rule

    package init(fact: DecidingFact, rule: Rule) {
        self.fact = fact
        self.rule = rule
    }
}

extension Question {
    /// The rules that would decide if one fact were the opposite, without `given`.
    ///
    /// - `given`: the rule that decides the question under `policy`.
    package func alternatives(to given: Rule, _ policy: LinkPolicy) -> [Alternative] {
        DecidingFact.allCases.compactMap { fact in
            guard let rule = rule(without: fact, policy), rule != given else { return nil }
            return Alternative(fact: fact, rule: rule)
        }
    }

    /// The rule that decides the question if `fact` is the opposite; `nil` if the question does not depend on the fact.
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
    /// - `credential`: the credential of the question.
    /// - Returns: `false` if the fact is not the policy's.
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
