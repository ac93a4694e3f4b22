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
    package func alternatives(_ policy: LinkPolicy) -> [Alternative] {
        let given = rule(policy)
        return DecidingFact.allCases.compactMap { fact in
            guard let (question, policy) = with(fact, policy) else { return nil }
            let rule = question.rule(policy)
            return rule == given ? nil : Alternative(fact: fact, rule: rule)
        }
    }

    /// The same question with `fact` the other way round; `nil` where the question does not ask for it.
    private func with(_ fact: DecidingFact, _ policy: LinkPolicy) -> (Question, LinkPolicy)? {
        switch fact {
        case .oneAccountPerEmail:
            var other = policy
            other.isOneAccountPerEmail.toggle()
            return (self, other)
        case .signUpAllowed:
            var other = policy
            other.allowsClientSignUp.toggle()
            return (self, other)
        case .emailTrusted:
            guard let credential, let trust = policy.emailTrust(of: credential) else { return nil }
            var other = policy
            let opposite: EmailTrustClass = trust >= .verifyingNew ? .asserting : .authoritative
            other.emailTrust = EmailTrust([.init(.init(.any), opposite)])
            return (self, other)
        case .providerEnabled, .emailProven, .emailTaken, .numberTaken, .identityLinked, .accountDisabled,
            .providerLinked,
            .createsUsers, .sessionRecent, .passwordRight, .passwordLocked, .proofGiven, .methodQuarantined:
            let other: Question? =
                switch self {
                case .signIn(let question): question.with(fact).map(Question.signIn)
                case .update(let question): question.with(fact).map(Question.update)
                case .resolution(let question): question.with(fact).map(Question.resolution)
                }
            return other.map { ($0, policy) }
        }
    }

    /// The provider's credential that the question is about; `nil` where it is about none.
    package var credential: IncomingCredential? {
        switch self {
        case .signIn(.idp(_, let credential, _, _, _)), .signIn(.linkIdp(_, _, let credential, _, _, _)): credential
        case .signIn(.reserved(let question, _)): Question.signIn(question).credential
        case .resolution(let question): question.credential
        case .signIn, .update: nil
        }
    }
}

extension SignInQuestion {
    fileprivate func with(_ fact: DecidingFact) -> SignInQuestion? {
        switch self {
        case .idp(var accounts, let credential, var isEnabled, var createsUsers, let prover):
            switch fact {
            case .providerEnabled: isEnabled.toggle()
            case .createsUsers: createsUsers.toggle()
            case .identityLinked: accounts.identityOwner = accounts.identityOwner == nil ? accounts.emailOwner : nil
            case .emailTaken where accounts.emailOwner != nil: accounts.emailOwner = nil
            case .emailProven: accounts.emailOwner = accounts.emailOwner?.with(fact, credential.identity)
            case .accountDisabled, .providerLinked:
                accounts.identityOwner = accounts.identityOwner?.with(fact, credential.identity)
                accounts.emailOwner = accounts.emailOwner?.with(fact, credential.identity)
            default: return nil
            }
            return .idp(
                accounts: accounts,
                credential: credential,
                isProviderEnabled: isEnabled,
                createsUsers: createsUsers,
                secondFactorProvenBy: prover
            )
        case .linkIdp(var target, var accounts, let credential, var isEnabled, let prover, var request):
            switch fact {
            case .sessionRecent: request.isSessionRecent.toggle()
            case .providerEnabled: isEnabled.toggle()
            case .identityLinked: accounts.identityOwner = accounts.identityOwner == nil ? target : nil
            case .emailTaken where accounts.emailOwner != nil: accounts.emailOwner = nil
            case .accountDisabled, .providerLinked, .emailProven: target = target.with(fact, credential.identity)
            default: return nil
            }
            return .linkIdp(
                target: target,
                accounts: accounts,
                credential: credential,
                isProviderEnabled: isEnabled,
                secondFactorProvenBy: prover,
                request: request
            )
        case .emailLink(let email, var owner, var target, var isSessionRecent, let prover):
            switch fact {
            case .emailTaken where owner != nil: owner = nil
            case .emailProven, .accountDisabled:
                owner = owner?.with(fact, nil)
                target = target?.with(fact, nil)
            case .sessionRecent: isSessionRecent.toggle()
            default: return nil
            }
            return .emailLink(
                email: email,
                owner: owner,
                target: target,
                isSessionRecent: isSessionRecent,
                secondFactorProvenBy: prover
            )
        case .phone(let number, var owner, var target, let operation, let proof, var isSessionRecent):
            switch fact {
            case .sessionRecent where target != nil: isSessionRecent.toggle()
            case .numberTaken where owner != nil: owner = nil
            case .accountDisabled:
                owner = owner?.with(fact, nil)
                target = target?.with(fact, nil)
            default: return nil
            }
            return .phone(
                number: number,
                owner: owner,
                target: target,
                operation: operation,
                shownBy: proof,
                isSessionRecent: isSessionRecent
            )
        case .password(var owner, var isLocked, var matches, let prover):
            switch fact {
            case .emailTaken where owner != nil: owner = nil
            case .accountDisabled: owner = owner?.with(fact, nil)
            case .passwordRight: matches.toggle()
            case .passwordLocked: isLocked.toggle()
            default: return nil
            }
            return .password(
                owner: owner,
                isLocked: isLocked,
                passwordMatches: matches,
                secondFactorProvenBy: prover
            )
        case .signUp(var request, var emailOwner, let displayName):
            switch (fact, request) {
            case (.emailTaken, _) where emailOwner != nil: emailOwner = nil
            case (.sessionRecent, .linkPassword(let email, let target, let isSessionRecent)):
                request = .linkPassword(email, to: target, isSessionRecent: !isSessionRecent)
            case (.accountDisabled, .linkPassword(let email, let target, let isSessionRecent)):
                request = .linkPassword(email, to: target.with(fact, nil), isSessionRecent: isSessionRecent)
            default: return nil
            }
            return .signUp(request, emailOwner: emailOwner, displayName: displayName)
        case .customToken(let existing, let isMergedAway):
            guard fact == .accountDisabled else { return nil }
            return .customToken(existing: existing?.with(fact, nil), isMergedAway: isMergedAway)
        case .reserved(let question, let reservation):
            return fact == .emailTaken ? question : question.with(fact)?.respecting(reservation)
        }
    }
}

extension UpdateQuestion {
    fileprivate func with(_ fact: DecidingFact) -> UpdateQuestion? {
        switch self {
        case .unlink(var account, let enabledProviders, let removal, var request):
            switch (fact, request) {
            case (.accountDisabled, _): account = account.with(fact, nil)
            case (.sessionRecent, .client(let isRecent)): request = .client(isSessionRecent: !isRecent)
            default: return nil
            }
            return .unlink(
                account: account,
                enabledProviders: enabledProviders,
                removal: removal,
                request: request
            )
        case .removeMethod(var account, let enabledProviders, let method, var isSessionRecent):
            switch fact {
            case .accountDisabled: account = account.with(fact, nil)
            case .sessionRecent: isSessionRecent.toggle()
            default: return nil
            }
            return .removeMethod(
                account: account,
                enabledProviders: enabledProviders,
                method: method,
                isSessionRecent: isSessionRecent
            )
        case .restorePassword(var account, var isQuarantined, var isSessionRecent, var isLocked, var matches):
            switch fact {
            case .accountDisabled: account = account.with(fact, nil)
            case .methodQuarantined: isQuarantined.toggle()
            case .sessionRecent: isSessionRecent.toggle()
            case .passwordLocked: isLocked.toggle()
            case .passwordRight: matches.toggle()
            default: return nil
            }
            return .restorePassword(
                account: account,
                isQuarantined: isQuarantined,
                isSessionRecent: isSessionRecent,
                isLocked: isLocked,
                passwordMatches: matches
            )
        case .resetPassword(let account, let address):
            switch fact {
            case .accountDisabled, .emailProven:
                return .resetPassword(account: account?.with(fact, nil), address: address)
            default: return nil
            }
        case .verifyEmail(let account, let address, let answer):
            switch fact {
            case .accountDisabled, .emailProven:
                return .verifyEmail(account: account?.with(fact, nil), address: address, answer: answer)
            default: return nil
            }
        case .updateByAdmin(let account, let update, let emailOwner, let phoneOwner, let identityOwner):
            switch fact {
            case .emailTaken where emailOwner != nil:
                return .updateByAdmin(
                    account: account,
                    update: update,
                    emailOwner: nil,
                    phoneOwner: phoneOwner,
                    identityOwner: identityOwner
                )
            case .identityLinked where identityOwner != nil:
                return .updateByAdmin(
                    account: account,
                    update: update,
                    emailOwner: emailOwner,
                    phoneOwner: phoneOwner,
                    identityOwner: nil
                )
            default: return nil
            }
        }
    }
}

extension ResolutionQuestion {
    fileprivate func with(_ fact: DecidingFact) -> ResolutionQuestion? {
        var question = self
        switch fact {
        case .providerEnabled: question.isProviderEnabled.toggle()
        case .emailTaken where reservation != nil: question.reservation = nil
        case .emailTaken where emailOwner != nil && emailOwner != target?.id: question.emailOwner = nil
        case .proofGiven: question.isProver.toggle()
        case .identityLinked: question.identityOwner = identityOwner == nil ? target?.id : nil
        case .accountDisabled, .emailProven, .providerLinked:
            question.target = target?.with(fact, credential.identity)
        default: return nil
        }
        return question
    }
}

extension Account {
    /// The account with one fact about it the other way round. `identity`: what somebody came with.
    fileprivate func with(_ fact: DecidingFact, _ identity: ProviderIdentity?) -> Account {
        var account = self
        switch fact {
        case .accountDisabled: account.isDisabled.toggle()
        case .emailProven: account.email?.proof = isEmailVerified ? nil : .administrator
        case .providerLinked:
            guard let identity else { break }
            let isLinked = account.linkedProviders[identity.provider] != nil
            account.linkedProviders[identity.provider] = isLinked ? nil : identity.subject
        default: break
        }
        return account
    }
}
