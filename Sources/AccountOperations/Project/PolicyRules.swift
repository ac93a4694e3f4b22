import AccountLinking
package import JSON

// The two tables of the policy, as an operator writes them and as they are stored. Parsing is strict: if a rule with an
// unknown member were accepted, it would apply more widely than its author meant.

/// Parses the rules of one table, each a JSON object, and names every mistake.
struct PolicyRuleReader {
    static let rulesMax = 100

    private let path: String
    private var mistakes: [ProjectConfigMistake] = []

    private init(at path: String) {
        self.path = path
    }

    /// Parses `concord.emailTrust`: the providers whose word about an address is proof.
    static func emailTrust(
        _ value: JSONValue,
        at path: String,
        _ mistakes: inout [ProjectConfigMistake]
    ) -> [EmailTrustRule] {
        var reader = PolicyRuleReader(at: path)
        let rules = reader.rules(value, members: ["provider", "issuer", "domain", "trust"]) {
            (reader, index, rule) -> EmailTrustRule? in
            let providers = reader.providers(rule["provider"], index)
            let issuers = reader.issuers(rule["issuer"], index)
            let domains = reader.domains(rule["domain"], index)
            let trust = reader.text(rule["trust"]).flatMap(EmailTrustClass.init(rawValue:))
            if trust == nil { reader.mistake(index, "trust", "must be one of \(Self.names(EmailTrustClass.self))") }
            guard let providers, let issuers, let domains, let trust else { return nil }
            if domains == .hosted, providers != .only(.google) {
                reader.mistake(index, "domain", "can be hosted for google.com alone")
            }
            return EmailTrustRule(.init(providers, issuers, domains), trust)
        }
        reader.checkDistinct(rules.map { ($0.index, $0.rule.scope) })
        mistakes += reader.mistakes
        return rules.map(\.rule)
    }

    /// Parses `concord.conflictProofs`: the proofs that may settle a conflict.
    static func conflictProofs(
        _ value: JSONValue,
        at path: String,
        _ mistakes: inout [ProjectConfigMistake]
    ) -> [ConflictProofRule] {
        var reader = PolicyRuleReader(at: path)
        let rules = reader.rules(value, members: ["method", "provider", "proofs"]) {
            (reader, index, rule) -> ConflictProofRule? in
            var scope = ConflictProofRule.Scope()
            if let method = reader.named(rule["method"]) {
                scope.method = method.string.flatMap(SignInMethod.init(name:))
                if scope.method == nil { reader.mistake(index, "method", "must be a sign-in method") }
            }
            if let provider = reader.named(rule["provider"]) {
                scope.provider = provider.string.flatMap(ProviderID.init)
                if scope.provider == nil { reader.mistake(index, "provider", "must be the id of a provider") }
            }
            let proofs = rule["proofs"]?.array?.map { $0.string.flatMap(ConflictProofKind.init(rawValue:)) }
            guard let proofs, !proofs.contains(nil) else {
                reader.mistake(index, "proofs", "must be a list of \(Self.names(ConflictProofKind.self))")
                return nil
            }
            return ConflictProofRule(scope, Set(proofs.compactMap(\.self)))
        }
        reader.checkDistinct(rules.map { ($0.index, $0.rule.scope) })
        mistakes += reader.mistakes
        return rules.map(\.rule)
    }

    private mutating func rules<Rule>(
        _ value: JSONValue,
        members: Set<String>,
        _ read: (inout PolicyRuleReader, Int, JSONValue) -> Rule?
    ) -> [(index: Int, rule: Rule)] {
        guard let list = value.array, list.count <= Self.rulesMax else {
            mistakes.append(.invalid("\(path) must be a list of at most \(Self.rulesMax) rules"))
            return []
        }
        var rules: [(Int, Rule)] = []
        for (index, element) in list.enumerated() {
            guard let object = element.object else {
                mistakes.append(.invalid("\(path)[\(index)] must be an object"))
                continue
            }
            for name in object.keys.sorted() where !members.contains(name) {
                mistake(index, String(name.prefix(64)), "is not a member of a rule")
            }
            if let rule = read(&self, index, element) { rules.append((index, rule)) }
        }
        return rules
    }

    private mutating func providers(_ value: JSONValue?, _ index: Int) -> EmailTrustRule.Providers? {
        switch text(value) {
        case "*": return .any
        case "oidc.*": return .openIDConnect
        case "saml.*": return .saml
        case let name:
            if let provider = name.flatMap(ProviderID.init) { return .only(provider) }
            mistake(index, "provider", "must be the id of a provider, oidc.*, saml.* or *")
            return nil
        }
    }

    private mutating func issuers(_ value: JSONValue?, _ index: Int) -> EmailTrustRule.Issuers? {
        guard let value = named(value) else { return .any }
        switch value.string {
        case "none": return EmailTrustRule.Issuers.none
        case let issuer? where issuer.hasPrefix("https://") && issuer.utf8.count <= 2048: return .only(issuer)
        default:
            mistake(index, "issuer", "must be an https URL, none or *")
            return nil
        }
    }

    private mutating func domains(_ value: JSONValue?, _ index: Int) -> EmailTrustRule.Domains? {
        guard let value = named(value) else { return .any }
        if value == .string("hosted") { return .hosted }
        // The domain in the canonical form of an address, with which it is compared.
        if let address = value.string.flatMap({ EmailAddress("anyone@" + $0) }) { return .only(String(address.domain)) }
        mistake(index, "domain", "must be the domain of an address, hosted or *")
        return nil
    }

    /// The value of a member; `nil` if it is absent or means "any".
    private func named(_ value: JSONValue?) -> JSONValue? {
        value == .null || value == .string("*") ? nil : value
    }

    private func text(_ value: JSONValue?) -> String? { value?.string }

    private mutating func mistake(_ index: Int, _ member: String, _ rule: String) {
        mistakes.append(.invalid("\(path)[\(index)].\(member) \(rule)"))
    }

    private mutating func checkDistinct<Scope: Hashable>(_ scopes: [(index: Int, scope: Scope)]) {
        var first: [Scope: Int] = [:]
        for (index, scope) in scopes {
            if let other = first[scope] {
                mistakes.append(.invalid("\(path)[\(index)] is about the same as \(path)[\(other)]"))
            } else {
                first[scope] = index
            }
        }
    }

    private static func names<Kind: CaseIterable & RawRepresentable<String>>(_: Kind.Type) -> String {
        Kind.allCases.map(\.rawValue).joined(separator: ", ")
    }
}

extension EmailTrustRule {
    /// The form that is stored and shown.
    package var json: JSONValue {
        var members: [String: JSONValue] = ["trust": .string(trust.rawValue)]
        switch scope.providers {
        case .any: members["provider"] = .string("*")
        case .openIDConnect: members["provider"] = .string("oidc.*")
        case .saml: members["provider"] = .string("saml.*")
        case .only(let provider): members["provider"] = .string(provider.rawValue)
        }
        switch scope.issuers {
        case .any: break
        case .none: members["issuer"] = .string("none")
        case .only(let issuer): members["issuer"] = .string(issuer)
        }
        switch scope.domains {
        case .any: break
        case .hosted: members["domain"] = .string("hosted")
        case .only(let domain): members["domain"] = .string(domain)
        }
        return .object(members)
    }
}

extension ConflictProofRule {
    /// The form that is stored and shown.
    package var json: JSONValue {
        var members: [String: JSONValue] = ["proofs": .array(proofs.map(\.rawValue).sorted().map(JSONValue.string))]
        if let method = scope.method { members["method"] = .string(method.name) }
        if let provider = scope.provider { members["provider"] = .string(provider.rawValue) }
        return .object(members)
    }
}
