extension AuditRule {
    /// A plan's action for findings of a rule.
    package enum Remedy: Sendable {
        /// No action: the reason why a person must decide.
        case person(String)
        /// Returns the repair for a finding about one account.
        case account(@Sendable (AccountSnapshot, Evidence, AuditTerms) -> RepairOffer)
        /// Returns the repairs for a finding about several accounts.
        case group(@Sendable ([Member]) -> GroupOffer)
    }

    package enum GroupOffer: Sendable {
        case repairs([(member: Member, repair: Repair)])
        case person(String)
    }
}

/// The plan's proposal for a finding.
package enum RepairOffer: Sendable, Hashable {
    case repair(Repair)
    /// The reason why a person must decide.
    case person(String)
}

/// A finding with the plan's proposal for it.
package struct Proposal: Sendable, Hashable {
    package var finding: Finding
    /// The account to repair: the finding's, or another account of its group.
    package var user: UserID
    /// The version of that account, as the audit read it; `nil` if there is no account.
    package var version: Int64?
    package var offer: RepairOffer
}

extension AccountSnapshot {
    /// The plan's proposals for `findings`, which are all about this account, in the same order. Each proposal
    /// considers the earlier ones, so that the whole plan leaves the user a sign-in method.
    package func proposals(about findings: [Finding], _ terms: AuditTerms) -> [Proposal] {
        guard !findings.isEmpty else { return [] }
        var planned = account
        let enabled = Set(account?.linkedProviders.keys.filter(terms.isEnabled) ?? [])
        var proposed: Set<Repair> = []
        return findings.compactMap { finding in
            var proposal = Proposal(
                finding: finding,
                user: id,
                version: account?.version,
                offer: AuditRule.named(finding.rule)?.offer(of: self, finding.evidence, terms) ?? .person("")
            )
            guard case .repair(let repair) = proposal.offer else { return proposal }
            guard unreadable.isEmpty else {
                proposal.offer = .person("the account holds an unreadable value: correct it first")
                return proposal
            }
            // Two rules may offer the same repair.
            guard proposed.insert(repair).inserted else { return nil }
            let verdict = decideRepair(
                repair,
                of: planned,
                plannedVersion: planned?.version,
                owner: nil,
                policy: terms.policy,
                enabledProviders: enabled,
                now: terms.now
            )
            switch verdict.decision {
            case .apply(let change): planned = planned?.applying(change)
            // An earlier proposal repairs it.
            case .skip(.nothingToRepair): return nil
            case .skip(.lastSignInMethod):
                proposal.offer = .person("the user would have no other sign-in method: ask them, or add one first")
            case .skip(let refusal): proposal.offer = .person(refusal.words)
            }
            return proposal
        }
    }
}

extension AuditRule {
    fileprivate func offer(of snapshot: AccountSnapshot, _ evidence: Evidence, _ terms: AuditTerms) -> RepairOffer {
        switch remedy {
        case .person(let reason): .person(reason)
        case .account(let offer): offer(snapshot, evidence, terms)
        case .group: .person("the finding is about several accounts")
        }
    }

    /// The plan's proposals for a finding about several accounts.
    package func proposals(about finding: Finding, members: [Member]) -> [Proposal] {
        let offer: GroupOffer =
            switch remedy {
            case .group(let offer): offer(members)
            case .person(let reason): .person(reason)
            case .account: .person("the finding is about several accounts")
            }
        switch offer {
        case .person(let reason):
            return [Proposal(finding: finding, user: finding.user, version: nil, offer: .person(reason))]
        case .repairs(let repairs):
            return repairs.map { member, repair in
                Proposal(finding: finding, user: member.user, version: member.version, offer: .repair(repair))
            }
        }
    }
}

extension Evidence {
    /// The text of an item; `nil` if there is none.
    package func text(_ name: String) -> String? {
        guard case .text(let text)? = items.first(where: { $0.name == name })?.value else { return nil }
        return text
    }
}
