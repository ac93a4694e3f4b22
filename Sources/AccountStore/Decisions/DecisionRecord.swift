package import AccountLinking
package import JSON

/// A recorded question, stored beside its outcome: every fact that the rules read, their answer, and the answers if one
/// fact were different. It contains pseudonyms only (`Pseudonyms`).
package struct DecisionRecord: Sendable {
    package let question: any Question
    /// The policy of the decision, reduced to what the question reads. Its version is the event's.
    package let policy: LinkPolicy
    package let rule: Rule
    package let answer: JSONValue
    package let alternatives: [Alternative]

    /// The record of `question`, decided under `policy`.
    package init(_ question: some Question, under policy: LinkPolicy) {
        var question = question
        var names = Pseudonyms()
        question.rename(by: &names)
        self.question = question
        self.policy = policy.seen(by: question)
        (rule, answer) = question.answer(policy)
        alternatives = question.alternatives(to: rule, policy)
    }

    /// The answer of this program's rules to the question. It equals `answer` unless a rule has changed.
    package var replayed: (rule: Rule, answer: JSONValue) { question.answer(policy) }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("rule", rule.rawValue)
            writer.field("answer", answer)
            writer.name("facts")
            writer.value(encoding: StoredQuestion(question), omittingFalse: StoredQuestion.omittedFalse)
            writer.field("policy") { writer in policy.write(to: &writer, question) }
            writer.field("alternatives") { writer in
                for alternative in alternatives {
                    writer.field(alternative.fact.rawValue, alternative.rule.rawValue)
                }
            }
        }
    }

    /// The inverse of `write`; `nil` if this version cannot parse the record.
    package init?(stored value: JSONValue, policyVersion: Int64) {
        guard let question = value["facts"].flatMap(StoredQuestion.init)?.question,
            let rule = value["rule"]?.string.flatMap(Rule.init(rawValue:)), let answer = value["answer"],
            let policy = value["policy"].flatMap({ LinkPolicy(stored: $0, of: question, version: policyVersion) })
        else { return nil }
        self.question = question
        self.rule = rule
        self.answer = answer
        self.policy = policy
        self.alternatives = (value["alternatives"]?.object ?? [:]).compactMap { name, rule in
            guard let fact = DecidingFact(rawValue: name), let rule = rule.string.flatMap(Rule.init(rawValue:)) else {
                return nil
            }
            return Alternative(fact: fact, rule: rule)
        }.sorted { $0.fact.rawValue < $1.fact.rawValue }
    }
}

/// A provider that proved an address only for its holder at that time. Its proof does not identify the present holder.
private struct FormerHolder: Hashable {
    let provider: ProviderID
    let domain: String

    init(provider: ProviderID, domain: String) {
        (self.provider, self.domain) = (provider, domain)
    }

    init?(_ stored: JSONValue) {
        guard let provider = stored["provider"]?.string.flatMap(ProviderID.init), let domain = stored["domain"]?.string
        else { return nil }
        self.init(provider: provider, domain: domain)
    }
}

extension EmailTrust {
    /// A table that gives the addresses in `question` the same trust as the whole table.
    ///
    /// - `ofCredential`: the trust in the address of the presented credential; `nil` without one.
    /// - `ofWaiting`: the trust in the address of the waiting credential; `nil` without one.
    fileprivate static func seen(
        by question: any Question,
        ofCredential trust: EmailTrustClass?,
        ofWaiting waitingTrust: EmailTrustClass?,
        formerHolders: [FormerHolder]
    ) -> EmailTrust {
        var rules = [EmailTrustRule(.init(.any), .asserting)]
        if let trust, let credential = question.presentedCredential, let address = credential.email.address {
            rules.append(.init(.init(.only(credential.identity.provider), .any, .only(String(address.domain))), trust))
        }
        let table = EmailTrust(
            rules + formerHolders.map { .init(.init(.only($0.provider), .any, .only($0.domain)), .verifyingNew) }
        )
        guard let waitingTrust, let credential = question.waitingCredential else { return table }
        // The presented credential can be of the same provider and domain, and be trusted differently.
        return table.pinning(waitingTrust, of: credential)
    }
}

extension LinkPolicy {
    /// Switches that rules read, by their stored names.
    private static let switches: [(name: String, path: any WritableKeyPath<LinkPolicy, Bool> & Sendable)] = [
        ("oneAccountPerEmail", \.isOneAccountPerEmail),
        ("protectsEmailEnumeration", \.protectsEmailEnumeration),
        ("passwordSignIn", \.allowsPasswordSignIn),
        ("emailLinkSignIn", \.allowsEmailLinkSignIn),
        ("anonymousSignUp", \.allowsAnonymousSignUp),
        ("clientSignUp", \.allowsClientSignUp),
        ("phoneSignIn", \.allowsPhoneSignIn),
        ("secondFactors", \.requiresEnrolledSecondFactors),
        ("resetUnlinksProviders", \.passwordResetUnlinksProviders),
        ("keepsLastMethod", \.keepsLastSignInMethod),
        ("linkingNeedsRecentSignIn", \.linkingNeedsRecentSignIn),
        ("secondFactorsNeedProvenAddress", \.secondFactorsNeedProvenAddress),
        ("firstProofEndsSessions", \.firstProofEndsSessions),
    ]

    /// Switches that older versions did not have. Those versions decided as if they were off.
    private static let switchesOffBefore: Set<String> = [
        "phoneSignIn", "linkingNeedsRecentSignIn", "secondFactorsNeedProvenAddress", "firstProofEndsSessions",
    ]

    /// This policy, with its tables reduced to what they say about `question`.
    fileprivate func seen(by question: any Question) -> LinkPolicy {
        var policy = LinkPolicy()
        policy.version = version
        for (_, path) in Self.switches { policy[keyPath: path] = self[keyPath: path] }
        policy.subjectChange = subjectChange
        policy.signUpRequiresMailbox = signUpRequiresMailbox
        policy.unprovenAddress = unprovenAddress
        policy.showsDisabledAccounts = !hidesDisabledAccounts(in: question)
        policy.emailTrust = .seen(
            by: question,
            ofCredential: question.presentedCredential.flatMap(emailTrust),
            ofWaiting: question.waitingCredential.flatMap(emailTrust),
            formerHolders: formerHolders(in: question)
        )
        policy.registeredIssuers = registeredIssuers(in: question)
        if let proofs = question.proofs(self) { policy.conflictProofRules = [.init(.init(), proofs)] }
        return policy
    }

    fileprivate func write(to writer: inout JSONWriter, _ question: any Question) {
        for (name, path) in Self.switches { writer.field(name, self[keyPath: path]) }
        writer.field("subjectChange", subjectChange.rawValue)
        if hidesDisabledAccounts(in: question) { writer.field("hidesDisabledAccounts", true) }
        // Most projects have the defaults, which are omitted.
        if signUpRequiresMailbox { writer.field("signUpNeedsMailbox", true) }
        if unprovenAddress != .link { writer.field("unprovenAddress", unprovenAddress.rawValue) }
        writer.field("emailTrust", question.presentedCredential.flatMap(emailTrust)?.rawValue)
        writer.field("waitingEmailTrust", question.waitingCredential.flatMap(emailTrust)?.rawValue)
        let formerHolders = formerHolders(in: question)
        if !formerHolders.isEmpty {
            writer.field("formerHolders", objects: formerHolders) { writer, holder in
                writer.field("provider", holder.provider.rawValue)
                writer.field("domain", holder.domain)
            }
        }
        let issuers = registeredIssuers(in: question)
        if !issuers.isEmpty {
            writer.field("registeredIssuers") { writer in
                for (provider, issuer) in issuers.sorted(by: { $0.key < $1.key }) {
                    writer.field(provider.rawValue, issuer)
                }
            }
        }
        if let proofs = question.proofs(self) { writer.field("conflictProofs", proofs.map(\.rawValue).sorted()) }
    }

    /// True if the rules of `question` hide a disabled account. Only those of passwords do.
    private func hidesDisabledAccounts(in question: any Question) -> Bool {
        hidesDisabledAccounts && question is SignInWithPasswordQuestion
    }

    /// The proofs of addresses in `question` that do not identify the owner (`isProven`).
    private func formerHolders(in question: any Question) -> [FormerHolder] {
        var holders: [FormerHolder] = []
        for account in question.accounts where !isProven(account) {
            guard let email = account.email, case .provider(let provider)? = email.proof else { continue }
            let holder = FormerHolder(provider: provider, domain: String(email.address.domain))
            if !holders.contains(holder) { holders.append(holder) }
        }
        return holders
    }

    /// The registered issuers for linked identities in `question` without an issuer.
    private func registeredIssuers(in question: any Question) -> [ProviderID: String] {
        var issuers: [ProviderID: String] = [:]
        for account in question.accounts {
            for (provider, _) in account.linkedProviders where account.linkedProviders.issuer(of: provider) == nil {
                issuers[provider] = registeredIssuers[provider]
            }
        }
        return issuers
    }

    fileprivate init?(stored value: JSONValue, of question: any Question, version: Int64) {
        self.init()
        self.version = version
        for (name, path) in Self.switches {
            guard let isOn = value[name]?.bool ?? (Self.switchesOffBefore.contains(name) ? false : nil) else {
                return nil
            }
            self[keyPath: path] = isOn
        }
        guard let change = SubjectChange(rawValue: value["subjectChange"]?.string ?? SubjectChange.replace.rawValue)
        else { return nil }
        subjectChange = change
        // Older versions showed every disabled account.
        showsDisabledAccounts = !(value["hidesDisabledAccounts"]?.bool ?? false)
        signUpRequiresMailbox = value["signUpNeedsMailbox"]?.bool ?? false
        guard
            let treatment = UnprovenAddress(rawValue: value["unprovenAddress"]?.string ?? UnprovenAddress.link.rawValue)
        else { return nil }
        unprovenAddress = treatment
        let ofCredential = value["emailTrust"]?.string.map(EmailTrustClass.init(rawValue:))
        let ofWaiting = value["waitingEmailTrust"]?.string.map(EmailTrustClass.init(rawValue:))
        if ofCredential == .some(.none) || ofWaiting == .some(.none) { return nil }
        let names = value["formerHolders"]?.array ?? []
        let formerHolders = names.compactMap(FormerHolder.init)
        guard formerHolders.count == names.count else { return nil }
        emailTrust = .seen(
            by: question,
            ofCredential: ofCredential.flatMap(\.self),
            ofWaiting: ofWaiting.flatMap(\.self),
            formerHolders: formerHolders
        )
        for (name, issuer) in value["registeredIssuers"]?.object ?? [:] {
            guard let provider = ProviderID(name), let issuer = issuer.string else { return nil }
            registeredIssuers[provider] = issuer
        }
        if let names = value["conflictProofs"]?.array {
            let proofs = names.compactMap { $0.string.flatMap(ConflictProofKind.init(rawValue:)) }
            guard proofs.count == names.count else { return nil }
            conflictProofRules = [.init(.init(), Set(proofs))]
        }
    }
}

extension Question {
    /// The rules' answer, in its stored form.
    fileprivate func answer(_ policy: LinkPolicy) -> (rule: Rule, answer: JSONValue) {
        let verdict = decide(policy)
        // INVARIANT: encoded JSON can be parsed.
        return (verdict.rule, (try? JSONValue(encoding: verdict.decision.stored)) ?? .null)
    }

    /// The proofs that the policy allows for the conflict in the question; `nil` if there is no conflict.
    fileprivate func proofs(_ policy: LinkPolicy) -> Set<ConflictProofKind>? {
        guard let question = self as? ResolveConflictQuestion else { return nil }
        return policy.conflictProofs(
            methods: question.target?.signInMethods ?? [],
            bringing: question.credential.identity.provider
        )
    }
}
