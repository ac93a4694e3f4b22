/// The proofs that settle a conflict between a method of the account and the provider of the credential.
package struct ConflictProofRule: Sendable, Hashable {
    /// The pair that a rule applies to; `nil` means any. A table has one rule for each scope.
    package struct Scope: Sendable, Hashable {
        /// A method of the account.
        package var method: SignInMethod?
        /// The provider of the credential.
        package var provider: ProviderID?

        package init(method: SignInMethod? = nil, provider: ProviderID? = nil) {
            self.method = method
            self.provider = provider
        }
    }

    package var scope: Scope
    /// The accepted proofs. If empty, only a session of the account links the pair.
    package var proofs: Set<ConflictProofKind>

    package init(_ scope: Scope, _ proofs: Set<ConflictProofKind>) {
        self.scope = scope
        self.proofs = proofs
    }
}

extension LinkPolicy {
    /// The proofs that settle a conflict of an account with `methods` about a credential of `provider`.
    ///
    /// For each method the narrowest matching rules apply; if several match, their intersection. The result is the
    /// intersection over all methods. Without a matching rule every proof counts.
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
