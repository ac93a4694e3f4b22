extension Question {
    /// The same question where the providers that `terms` enable are enabled; everything else is as it was.
    package func under(_ terms: PolicyTerms) -> Question {
        func isEnabled(_ credential: IncomingCredential) -> Bool {
            terms.enabledProviders.contains(credential.identity.provider)
        }
        func enabled(of account: Account) -> Set<ProviderID> {
            terms.enabledProviders.intersection(account.linkedProviders.keys)
        }
        switch self {
        case .signIn(.idp(let accounts, let credential, _, let createsUsers, let prover)):
            return .signIn(
                .idp(
                    accounts: accounts,
                    credential: credential,
                    isProviderEnabled: isEnabled(credential),
                    createsUsers: createsUsers,
                    secondFactorProvenBy: prover
                )
            )
        case .signIn(.linkIdp(let target, let accounts, let credential, _, let prover, let request)):
            return .signIn(
                .linkIdp(
                    target: target,
                    accounts: accounts,
                    credential: credential,
                    isProviderEnabled: isEnabled(credential),
                    secondFactorProvenBy: prover,
                    request: request
                )
            )
        case .update(.unlink(let account, _, let removal, let request)):
            return .update(
                .unlink(
                    account: account,
                    enabledProviders: enabled(of: account),
                    removal: removal,
                    request: request
                )
            )
        case .update(.removeMethod(let account, _, let method, let isSessionRecent)):
            return .update(
                .removeMethod(
                    account: account,
                    enabledProviders: enabled(of: account),
                    method: method,
                    isSessionRecent: isSessionRecent
                )
            )
        case .resolution(var question):
            question.isProviderEnabled = isEnabled(question.credential)
            return .resolution(question)
        case .signIn(.reserved(let question, let reservation)):
            guard case .signIn(let asked) = Question.signIn(question).under(terms) else { return self }
            return .signIn(asked.respecting(reservation))
        case .signIn(.emailLink), .signIn(.phone), .signIn(.password), .signIn(.signUp), .signIn(.customToken),
            .update(.restorePassword), .update(.resetPassword), .update(.verifyEmail), .update(.updateByAdmin):
            return self
        }
    }

    /// The rule that answers the question, and how it ends.
    package func answer(under terms: PolicyTerms) -> (rule: Rule, outcome: SimulatedOutcome) {
        switch under(terms) {
        case .signIn(let question):
            let verdict = question.verdict(terms.policy)
            return (verdict.rule, verdict.outcome)
        case .update(let question):
            let verdict = question.verdict(terms.policy)
            return (verdict.rule, verdict.outcome)
        case .resolution(let question):
            let verdict = question.verdict(terms.policy)
            return (verdict.rule, verdict.outcome)
        }
    }
}
