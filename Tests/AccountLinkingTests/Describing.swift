import AccountLinking

// Text of accounts, changes and decisions in golden tables: one line each, in the words of docs/reference/decisions.md.

extension Account {
    var described: String {
        var words = [id.rawValue + ":"]
        if let email {
            words.append(email.isVerified ? "verified" : "unverified")
            words.append(email.address == ann ? "ann" : "bob")
        } else {
            words.append("no e-mail")
        }
        if hasInitialEmail { words.append("changed before") }
        let methods = [hasPassword ? "password" : nil, hasEmailLink ? "link" : nil, phoneNumber != nil ? "phone" : nil]
        words += methods.compactMap { $0 }
        words += linkedProviders.sorted { $0.key < $1.key }.map { $0.key.rawValue + "/" + $0.value }
        if isDisabled { words.append("disabled") }
        if hasSecondFactor { words.append("second-factor") }
        return words.joined(separator: " ")
    }
}

extension AccountChange {
    var described: String {
        if isEmpty { return "nothing" }
        var words: [String] = []
        switch email {
        case .keep: break
        case .set(let address, let proof):
            words.append("e-mail := \(address.canonical) (\(proof?.name ?? "unproven"))")
        case .prove(let proof): words.append("e-mail proven (\(proof.name))")
        case .unprove: words.append("e-mail unproven")
        case .remove: words.append("e-mail removed")
        }
        if let rememberedInitialEmail { words.append("remember \(rememberedInitialEmail.canonical)") }
        switch password {
        case .keep: break
        case .set: words.append("password set")
        case .remove: words.append("password removed")
        }
        if let emailLink { words.append(emailLink ? "link flag" : "no link flag") }
        switch phone {
        case .keep: break
        case .set(let number): words.append("phone := \(number.rawValue)")
        case .release: words.append("phone released")
        case .remove: words.append("phone removed")
        }
        if !unlinkedProviders.isEmpty {
            words.append("unlink " + unlinkedProviders.sorted().map(\.rawValue).joined(separator: " "))
        }
        if let linkedIdentity {
            words.append("link \(linkedIdentity.provider.rawValue)/\(linkedIdentity.subject)")
        }
        switch profile {
        case .keep: break
        case .fillBlanks: words.append("fill profile")
        case .replace: words.append("replace profile")
        case .rename: words.append("rename")
        }
        if let secondFactors {
            words.append("second factors := [\(secondFactors.map(\.id.rawValue).joined(separator: " "))]")
        }
        if let isDisabled { words.append(isDisabled ? "disable" : "enable") }
        if usesCustomTokens == true { words.append("mark custom") }
        if endsSessions { words.append("end sessions") }
        if voidsOutstandingProofs { words.append("void proofs") }
        return words.joined(separator: ", ")
    }
}

extension Conflict {
    var described: String {
        switch self {
        case .accountExistsWithDifferentCredential(let account, let providers):
            "account exists: \(account.rawValue) [\(providers.map(\.rawValue).joined(separator: " "))]"
        case .credentialAlreadyInUse(let account): "credential in use: \(account.rawValue)"
        case .emailAlreadyInUse(let account): "e-mail in use: \(account.rawValue)"
        case .unprovenAddress: "unproven address"
        case .firstSignIn: "first sign-in"
        }
    }
}

extension SignInDecision {
    var described: String {
        switch self {
        case .createUser(let change): "create: " + change.described
        case .signIn(let user, let change, let emailWasRecycled):
            "sign in \(user.rawValue)\(emailWasRecycled ? " (recycled)" : ""): " + change.described
        case .secondFactorRequired(let user): "second factor of \(user.rawValue)"
        case .conflict(let conflict): "conflict, " + conflict.described
        case .refuse(let refusal): "refuse \(refusal)"
        }
    }
}

extension UpdateDecision {
    var described: String {
        switch self {
        case .apply(let user, let change, let issuesTokens):
            "apply to \(user.rawValue)\(issuesTokens ? " (tokens)" : ""): " + change.described
        case .takeAddress(let user, let change, let owner, let loss):
            "apply to \(user.rawValue): \(change.described); to \(owner.rawValue): \(loss.described)"
        case .unchanged: "unchanged"
        case .refuse(let refusal): "refuse \(refusal)"
        }
    }
}

/// The distinct rows of a decision over its whole input. A change of policy appears as a diff of the text.
///
/// Outcomes that write are listed in full, with every account that they can happen to. Others have the number of their
/// combinations.
struct DecisionTable {
    private struct Row: Hashable {
        let rule: Rule
        let outcome: String
    }

    private var counts: [Row: Int] = [:]
    private var accounts: [Row: Set<String>] = [:]

    mutating func add(_ rule: Rule, _ outcome: String, writesTo account: Account?) {
        let row = Row(rule: rule, outcome: outcome)
        counts[row, default: 0] += 1
        if let account { accounts[row, default: []].insert(account.described) }
    }

    func text(combinations: Int) -> String {
        let rows = counts.keys.sorted { ($0.rule.place, $0.outcome) < ($1.rule.place, $1.outcome) }
        var lines = ["\(combinations) combinations", ""]
        for row in rows {
            lines.append("\(row.rule.rawValue)  \(row.outcome)  [\(counts[row] ?? 0)]")
            lines += (accounts[row] ?? []).sorted().map { "      " + $0 }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension Rule {
    /// The position in golden tables: by the letter and the number of the code. Independent of the position in the
    /// decision table.
    fileprivate var place: Int {
        let letters = Array("ILMNPRUVSCWKBFDXZOGATYQJEH")
        let letter = rawValue.first.flatMap(letters.firstIndex) ?? letters.count
        return letter * 100 + (Int(rawValue.dropFirst()) ?? 0)
    }
}
