/// The checks of rules, which an audit runs on every account.
package struct AuditChecks: Sendable {
    // Not tuples: a function in a tuple is called through a thunk.
    private struct AccountCheck {
        /// The index of the rule.
        var rule: Int
        var evidence: @Sendable (AccountSnapshot, AuditTerms) -> [Evidence]
    }

    private struct GroupCheck {
        var rule: Int
        var traits: @Sendable (AccountSnapshot, AuditTerms) -> [AuditRule.Trait]
    }

    private let rules: [AuditRule]
    private var accountChecks: [AccountCheck] = []
    private var claimChecks: [AccountCheck] = []
    private var groupChecks: [GroupCheck] = []

    package init(_ rules: [AuditRule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            switch rule.check {
            case .account(let check): accountChecks.append(AccountCheck(rule: index, evidence: check))
            case .group(let traits, _): groupChecks.append(GroupCheck(rule: index, traits: traits))
            case .claims(let check): claimChecks.append(AccountCheck(rule: index) { snapshot, _ in check(snapshot) })
            case .project: break
            }
        }
    }

    /// The findings of rules about one account. For an account with unreadable values, returns only findings about
    /// those and about its claims, because a missing value would cause false findings.
    package func findings(in snapshot: AccountSnapshot, _ terms: AuditTerms) -> [Finding] {
        let isReadable = snapshot.unreadable.isEmpty
        var found: [Finding] = []
        for check in accountChecks where isReadable || rules[check.rule].id == AuditRule.unreadableValue.id {
            add(check, snapshot, terms, to: &found)
        }
        if !snapshot.orphanedIdentifiers.isEmpty {
            for check in claimChecks { add(check, snapshot, terms, to: &found) }
        }
        return found
    }

    private func add(_ check: AccountCheck, _ snapshot: AccountSnapshot, _ terms: AuditTerms, to found: inout [Finding])
    {
        for evidence in check.evidence(snapshot, terms) {
            found.append(
                Finding(rules[check.rule], tenant: snapshot.tenant, user: snapshot.id, evidence: evidence)
            )
        }
    }

    /// Calls `body` with each trait that an account contributes to a rule about several accounts.
    package func forEachTrait(
        of snapshot: AccountSnapshot,
        _ terms: AuditTerms,
        _ body: (_ rule: Int, AuditRule.Trait) throws -> Void
    ) rethrows {
        for check in groupChecks {
            for trait in check.traits(snapshot, terms) { try body(check.rule, trait) }
        }
    }
}
