/// What a conflict between a method the account has and a provider that was brought may be settled by.
package struct ConflictProofRule: Sendable, Hashable {
    /// The pair a rule is about; `nil` stands for any. No two rules of one table have the same.
    package struct Scope: Sendable, Hashable {
        /// A method of the account.
        package var method: SignInMethod?
        /// What somebody came with.
        package var provider: ProviderID?

        package init(method: SignInMethod? = nil, provider: ProviderID? = nil) {
            self.method = method
            self.provider = provider
        }
    }

    package var scope: Scope
    /// The proofs that count; with none the pair is only linked from within a session.
    package var proofs: Set<ConflictProofKind>

    package init(_ scope: Scope, _ proofs: Set<ConflictProofKind>) {
        self.scope = scope
        self.proofs = proofs
    }
}

extension LinkPolicy {
    /// The proofs that settle a conflict of an account with `methods` that `provider` was brought to.
    ///
    /// For each method the narrowest rules hold, and where several do, what all of them allow; what counts for the account
    /// is what counts for each of its methods. Where no rule fits, every proof counts.
    package func conflictProofs(
        methods: [SignInMethod],
        bringing provider: ProviderID
    ) -> Set<ConflictProofKind> {
        let everything = Set(ConflictProofKind.allCases)
        let pairs: [SignInMethod?] = methods.isEmpty ? [nil] : methods
        return pairs.reduce(everything) { allowed, method in
            let fitting = conflictProofRules.filter { rule in
                (rule.scope.method == nil || rule.scope.method == method)
                    && (rule.scope.provider == nil || rule.scope.provider == provider)
            }
            let narrowest = fitting.filter { rule in !fitting.contains { $0.scope.isNarrower(than: rule.scope) } }
            return narrowest.reduce(allowed) { $0.intersection($1.proofs) }
        }
    }
}

extension ConflictProofRule.Scope {
    fileprivate func isNarrower(than other: Self) -> Bool {
        self != other && (other.method == nil || method == other.method)
            && (other.provider == nil || provider == other.provider)
    }
}
