/// Compares two policies: reports the accounts and requests whose outcome differs.
///
/// Pure and total. Asks the decisions themselves, under both policies.
package struct PolicyComparison: Sendable {
    package let present: PolicyTerms
    package let proposed: PolicyTerms
    /// The sign-ins to try, by provider.
    private let signIns: [(provider: ProviderID, all: [HypotheticalSignIn])]
    /// The domains that trust tables name. All others have the same outcome.
    private let namedDomains: Set<String>

    package init(present: PolicyTerms, proposed: PolicyTerms) {
        self.present = present
        self.proposed = proposed
        let tables = [present.policy.emailTrust, proposed.policy.emailTrust]
        signIns = present.enabledProviders.union(proposed.enabledProviders).sorted().map { provider in
            let registered = [present, proposed].compactMap { $0.policy.registeredIssuers[provider] }
            return (provider, HypotheticalSignIn.all(with: provider, registered: registered, judgedBy: tables))
        }
        namedDomains = tables.flatMap(\.rules).reduce(into: []) { domains, rule in
            if case .only(let domain) = rule.scope.domains { domains.insert(domain) }
        }
    }

    /// True if accounts with the same address become one account per address.
    package var joinsAddresses: Bool {
        proposed.policy.isOneAccountPerEmail && !present.policy.isOneAccountPerEmail
    }

    /// The effects on an account, in their order. None if a value is unreadable, or if the rows belong to no account.
    package func predictions(for snapshot: AccountSnapshot, _ memo: inout Memo) -> [Prediction] {
        guard let account = snapshot.account, snapshot.unreadable.isEmpty else { return [] }
        var found: [Prediction] = []
        func report(_ effect: SimulatedEffect, _ cause: Prediction.Cause) {
            found.append(Prediction(effect: effect, tenant: snapshot.tenant, user: snapshot.id, cause: cause))
        }
        compareMethods(of: account, report)
        if let email = account.email {
            compareSignIns(to: account, of: snapshot, at: email.address, &memo, report)
            compareProofs(of: snapshot, email, report)
        }
        compareConflicts(of: snapshot, account, report)
        guard found.count > 1 else { return found }
        return SimulatedEffect.allCases.flatMap { effect in found.filter { $0.effect == effect } }
    }

    /// The effects on accounts with the same address: one for each account that does not own it.
    ///
    /// - `members`: the result of `AuditRule.sameAddress`, at least two accounts.
    package func predictions(
        forAccountsNaming address: String,
        _ members: [AuditRule.Member],
        tenant: TenantID
    ) -> [Prediction] {
        let owner = members.first { $0.detail == AuditRule.ownAddress }?.user
        var seen: Set<UserID> = []
        return members.compactMap { member in
            guard member.user != owner, seen.insert(member.user).inserted else { return nil }
            let cause = Prediction.Cause.sharedAddress(address, owner: owner)
            return Prediction(effect: .addressShared, tenant: tenant, user: member.user, cause: cause)
        }
    }

    // MARK: One account

    private func working(_ account: Account, _ terms: PolicyTerms) -> [SignInMethod] {
        workingMethods(of: account, policy: terms.policy, enabledProviders: terms.enabledProviders)
    }

    private func compareMethods(of account: Account, _ report: (SimulatedEffect, Prediction.Cause) -> Void) {
        let before = working(account, present)
        let after = working(account, proposed)
        if before != after {
            let lost = before.filter { !after.contains($0) }
            let gained = after.filter { !before.contains($0) }
            if !lost.isEmpty {
                // A user of custom tokens can still sign in.
                let isLockedOut = after.isEmpty && !account.usesCustomTokens
                report(isLockedOut ? .lockedOut : .methodLost, .methods(lost))
            }
            if !gained.isEmpty { report(before.isEmpty ? .letIn : .methodGained, .methods(gained)) }
        }
        guard !after.isEmpty else { return }
        switch (
            present.policy.needsSecondFactor(account, provenBy: nil),
            proposed.policy.needsSecondFactor(account, provenBy: nil)
        ) {
        case (false, true): report(.secondFactorAsked, .secondFactor)
        case (true, false): report(.secondFactorSkipped, .secondFactor)
        case (true, true), (false, false): break
        }
    }

    private func compareSignIns(
        to account: Account,
        of snapshot: AccountSnapshot,
        at address: EmailAddress,
        _ memo: inout Memo,
        _ report: (SimulatedEffect, Prediction.Cause) -> Void
    ) {
        let domain = String(address.domain)
        var proof: ProviderID?
        if case .provider(let provider) = account.email?.proof { proof = provider }
        let facts = Memo.Facts(
            domain: namedDomains.contains(domain) ? domain : nil,
            isDisabled: account.isDisabled,
            isVerified: account.isEmailVerified,
            isProven: present.policy.isProven(account),
            willBeProven: proposed.policy.isProven(account),
            proof: proof,
            links: snapshot.linkedProviders.map { linked in
                Memo.Link(
                    provider: linked.identity.provider,
                    authority: linked.identity.provider.authority(issuer: linked.issuer),
                    namesAddress: linked.email == address
                )
            }
        )
        if memo.transitions[facts] == nil {
            memo.transitions[facts] = transitions(to: account, at: address, facts.links)
        }
        for (effect, some) in memo.transitions[facts, default: []] { report(effect, .signIns(address, some)) }
    }

    /// The sign-ins to an account whose outcome changes, by effect.
    private func transitions(
        to account: Account,
        at address: EmailAddress,
        _ links: [Memo.Link]
    ) -> [(SimulatedEffect, [SignInTransition])] {
        var transitions: [SignInTransition] = []
        for (provider, all) in signIns {
            if let linked = links.first(where: { $0.provider == provider }) {
                // A sign-in by the linked user with another address does not concern this address.
                if linked.namesAddress {
                    transitions += Self.transitions(all, of: account, at: address, .own, present, proposed)
                }
                transitions += Self.transitions(all, of: account, at: address, .another, present, proposed)
            } else {
                transitions += Self.transitions(all, of: account, at: address, .unknown, present, proposed)
            }
        }
        let byEffect = Dictionary(grouping: transitions, by: \.effect)
        return SimulatedEffect.allCases.compactMap { effect in byEffect[effect].map { (effect, $0) } }
    }

    private static func transitions(
        _ signIns: [HypotheticalSignIn],
        of account: Account,
        at address: EmailAddress,
        _ subject: Memo.Subject,
        _ present: PolicyTerms,
        _ proposed: PolicyTerms
    ) -> [SignInTransition] {
        signIns.compactMap { signIn in
            var signIn = signIn
            signIn.isByAnotherSubject = subject == .another
            let isLinked = subject == .own
            let before = outcome(of: signIn, to: account, at: address, isLinked: isLinked, under: present)
            let after = outcome(of: signIn, to: account, at: address, isLinked: isLinked, under: proposed)
            return before == after ? nil : SignInTransition(signIn: signIn, before: before, after: after)
        }
    }

    /// The outcome of a sign-in with the address of `account`, by its linked identity or by an unknown one. The second
    /// factor, if any, is proven.
    package static func outcome(
        of signIn: HypotheticalSignIn,
        to account: Account,
        at address: EmailAddress,
        isLinked: Bool,
        under terms: PolicyTerms
    ) -> SimulatedOutcome {
        let credential =
            if isLinked, let subject = account.linkedProviders[signIn.provider] {
                signIn.credential(naming: address, subject: subject, issuers: terms.policy.registeredIssuers)
            } else {
                signIn.credential(naming: address, issuers: terms.policy.registeredIssuers)
            }
        guard let credential else { return .refused(.operationNotAllowed) }
        let question = SignInWithIdpQuestion(
            identityOwner: isLinked ? account : nil,
            emailOwner: account,
            credential: credential,
            isProviderEnabled: terms.enabledProviders.contains(signIn.provider),
            createsUsers: true,
            secondFactorProvenBy: account.id
        )
        let outcome = question.decide(terms.policy).decision.outcome
        // A better proof of a verified address is invisible to users and apps.
        return outcome == .verifies && account.isEmailVerified ? .signsIn : outcome
    }

    private func compareProofs(
        of snapshot: AccountSnapshot,
        _ email: AccountEmail,
        _ report: (SimulatedEffect, Prediction.Cause) -> Void
    ) {
        guard case .provider(let provider) = email.proof,
            let before = present.policy.trust(inProofOf: snapshot),
            let after = proposed.policy.trust(inProofOf: snapshot), before >= .verifyingNew, after < .verifyingNew
        else { return }
        report(.proofLost, .proof(email.address, by: provider, before, after))
    }

    private func compareConflicts(
        of snapshot: AccountSnapshot,
        _ account: Account,
        _ report: (SimulatedEffect, Prediction.Cause) -> Void
    ) {
        let methods = snapshot.conflicts.isEmpty ? [] : account.signInMethods
        func canBeSettled(_ conflict: AccountSnapshot.Conflicts, _ terms: PolicyTerms) -> Bool {
            terms.enabledProviders.contains(conflict.provider)
                && !terms.policy.conflictProofs(methods: methods, bringing: conflict.provider).isEmpty
        }
        let stuck = snapshot.conflicts.filter { conflict in
            conflict.liveCount > 0 && canBeSettled(conflict, present) && !canBeSettled(conflict, proposed)
        }
        if !stuck.isEmpty { report(.conflictStuck, .conflicts(Set(stuck.map(\.provider)).sorted())) }
    }

    /// Cache of changed outcomes. They depend on few facts, so millions of accounts need a few dozen questions.
    package struct Memo: Sendable {
        /// The user who signs in by a provider.
        fileprivate enum Subject: Sendable {
            /// An unknown user, to an account without a link to the provider.
            case unknown
            /// The linked user.
            case own
            /// An unknown user, to an account that is linked to another user of the provider.
            case another
        }

        /// The facts about an account and its address that sign-in decisions read.
        fileprivate struct Facts: Sendable, Hashable {
            var domain: String?
            var isDisabled: Bool
            var isVerified: Bool
            /// Under each policy (`LinkPolicy.isProven`).
            var isProven: Bool
            var willBeProven: Bool
            /// The provider that proved the address.
            var proof: ProviderID?
            var links: [Link]
        }

        fileprivate struct Link: Sendable, Hashable {
            var provider: ProviderID
            /// The party that assigns the subject.
            var authority: SubjectAuthority
            /// True if the provider names the account's address for this user.
            var namesAddress: Bool
        }

        fileprivate var transitions: [Facts: [(SimulatedEffect, [SignInTransition])]] = [:]

        package init() {}
    }
}

/// The effect of a change of policy on an account.
package struct Prediction: Sendable, Hashable {
    package enum Cause: Sendable, Hashable {
        case methods([SignInMethod])
        case signIns(EmailAddress, [SignInTransition])
        case secondFactor
        case proof(EmailAddress, by: ProviderID, EmailTrustClass, EmailTrustClass)
        /// The providers of the credentials in the conflicts.
        case conflicts([ProviderID])
        case sharedAddress(String, owner: UserID?)
    }

    package var effect: SimulatedEffect
    package var tenant: TenantID
    package var user: UserID
    package var cause: Cause

    /// The cause, in the form of audit findings.
    package var evidence: Evidence {
        switch cause {
        case .methods(let methods): Evidence(["methods": .text(methods.map(\.name).joined(separator: ", "))])
        case .signIns(let address, let transitions):
            Evidence(["address": .address(address.canonical), "signIns": .text(Self.text(transitions))])
        case .secondFactor: Evidence([:])
        case .proof(let address, let provider, let before, let after):
            Evidence([
                "address": .address(address.canonical), "provider": .text(provider.rawValue),
                "trust": .text("\(before.rawValue) → \(after.rawValue)"),
            ])
        case .conflicts(let providers):
            Evidence(["providers": .text(providers.map(\.rawValue).joined(separator: ", "))])
        case .sharedAddress(let address, let owner):
            Evidence(["address": .address(address)], others: owner.map { [$0] } ?? [])
        }
    }

    /// Formats `github.com: conflict → links, if it says that it verified the address`.
    private static func text(_ transitions: [SignInTransition]) -> String {
        var lines: [String] = []
        for transition in transitions {
            let (signIn, before, after) = (transition.signIn, transition.before, transition.after)
            let same = transitions.filter {
                $0.signIn.provider == signIn.provider && $0.before == before && $0.after == after
                    && $0.signIn.isByAnotherSubject == signIn.isByAnotherSubject
            }
            var line = "\(signIn.provider.rawValue): \(before.text) → \(after.text)"
            line += Self.text(Set(same.map(\.signIn.flag)))
            if same.allSatisfy(\.signIn.isByAnotherSubject) { line += ", by another user than the linked one" }
            if same.allSatisfy(\.signIn.isHosted) { line += ", at a hosted domain" }
            if !lines.contains(line) { lines.append(line) }
        }
        return lines.joined(separator: "; ")
    }

    /// Condition on the provider's flag, for a transition that is the same under `flags` and no others.
    private static func text(_ flags: Set<VerifiedFlag>) -> String {
        switch (flags.contains(.isTrue), flags.contains(.absent), flags.contains(.isFalse)) {
        case (true, true, true), (false, false, false): ""
        case (true, false, false): ", if it says that it verified the address"
        case (true, true, false): ", unless it says that the address is not verified"
        case (false, true, true): ", unless it says that it verified the address"
        case (false, false, true): ", if it says that the address is not verified"
        case (false, true, false), (true, false, true): ", by what it says of the address"
        }
    }
}
