/// Rules as an audit asks them of every account: the checks by themselves, without the words about them.
package struct AuditChecks: Sendable {
    // Not tuples: a function in one is called through another.
    private struct AccountCheck {
        /// The place of its rule.
        var rule: Int
        var evidence: @Sendable (AccountSnapshot, AuditTerms) -> [Evidence]
    }

    private struct GroupCheck {
        var rule: Int
        var traits: @Sendable (AccountSnapshot, AuditTerms, inout TraitList) -> Void
    }

    private let rules: [AuditRule]
    private var accountChecks: [AccountCheck] = []
    private var groupChecks: [GroupCheck] = []

    package init(_ rules: [AuditRule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            switch rule.check {
            case .account(let check): accountChecks.append(AccountCheck(rule: index, evidence: check))
            case .group(let traits, _): groupChecks.append(GroupCheck(rule: index, traits: traits))
            case .claims, .project: break
            }
        }
    }

    /// The findings in one account, without its claims; none for rules about several accounts. For an account with
    /// unreadable values, returns only findings about those: missing values are no reason to suspect more.
    package func findings(in snapshot: AccountSnapshot, _ terms: AuditTerms) -> [Finding] {
        var found: [Finding] = []
        let isReadable = snapshot.unreadable.isEmpty
        for check in accountChecks where isReadable || rules[check.rule].id == AuditRule.unreadableValue.id {
            let evidence = check.evidence(snapshot, terms)
            if evidence.isEmpty { continue }
            found += evidence.map {
                Finding(rules[check.rule], tenant: snapshot.tenant, user: snapshot.id, evidence: $0)
            }
        }
        return found
    }

    /// Makes `traits` what an account contributes to rules about several.
    package func gather(from snapshot: AccountSnapshot, _ terms: AuditTerms, into traits: inout TraitList) {
        traits.removeAll()
        for check in groupChecks {
            traits.rule = check.rule
            check.traits(snapshot, terms, &traits)
        }
    }
}
