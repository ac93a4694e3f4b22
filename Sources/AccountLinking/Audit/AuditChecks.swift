/// Rules as an audit asks them of every account: the checks by themselves, without the words about them.
package struct AuditChecks: Sendable {
    private typealias AccountCheck = @Sendable (AccountSnapshot, AuditTerms) -> [Evidence]
    private typealias Traits = @Sendable (AccountSnapshot, AuditTerms) -> [AuditRule.Trait]

    private let rules: [AuditRule]
    // Each with the place of its rule.
    private var accountChecks: [(rule: Int, check: AccountCheck)] = []
    private var traits: [(rule: Int, traits: Traits)] = []

    package init(_ rules: [AuditRule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            switch rule.check {
            case .account(let check): accountChecks.append((index, check))
            case .group(let traits, _): self.traits.append((index, traits))
            case .claims: break
            }
        }
    }

    /// What the rules find in one account, but for its claims; nothing where they are about several. Of an account with values
    /// that cannot be read, only these are told: what is missing is no reason to suspect more.
    package func findings(in snapshot: AccountSnapshot, _ terms: AuditTerms) -> [Finding] {
        var found: [Finding] = []
        let isReadable = snapshot.unreadable.isEmpty
        for (rule, check) in accountChecks where isReadable || rules[rule].id == AuditRule.unreadableValue.id {
            let evidence = check(snapshot, terms)
            if evidence.isEmpty { continue }
            found += evidence.map { Finding(rules[rule], tenant: snapshot.tenant, user: snapshot.id, evidence: $0) }
        }
        return found
    }

    /// Calls `body` with all that an account contributes to rules about several, and the place of each rule.
    package func forEachTrait(
        of snapshot: AccountSnapshot,
        _ terms: AuditTerms,
        _ body: (_ rule: Int, AuditRule.Trait) -> Void
    ) {
        for (rule, traits) in traits {
            for trait in traits(snapshot, terms) { body(rule, trait) }
        }
    }
}
