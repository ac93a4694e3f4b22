/// The contributions of an account to rules about several accounts. One list serves account after account and keeps its
/// memory.
package struct TraitList {
    package struct Entry {
        /// The place of the rule that asked.
        package var rule: Int
        package var trait: AuditRule.Trait

        package init(rule: Int, trait: AuditRule.Trait) {
            self.rule = rule
            self.trait = trait
        }
    }

    package private(set) var entries: [Entry]
    /// The place of the rule that is being asked.
    var rule = 0
    /// The address that was asked about last, and its key: several rules ask about the same.
    private var lastAddress = ""
    private var lastLookAlikeKey = ""

    package init(_ entries: [Entry] = []) {
        self.entries = entries
    }

    /// Keeps the memory.
    package mutating func removeAll() { entries.removeAll(keepingCapacity: true) }

    /// - `family`: as of a trait.
    mutating func append(key: String, detail: String, family: String? = nil) {
        entries.append(Entry(rule: rule, trait: AuditRule.Trait(key: key, detail: detail, family: family)))
    }

    /// Returns true if the current rule has appended a trait with the key.
    func contains(key: String) -> Bool {
        entries.indices.contains { entries[$0].rule == rule && entries[$0].trait.key == key }
    }

    /// `EmailAddress.lookAlikeKey`.
    mutating func lookAlikeKey(of address: EmailAddress) -> String {
        if lastAddress != address.canonical {
            lastLookAlikeKey = address.lookAlikeKey
            lastAddress = address.canonical
        }
        return lastLookAlikeKey
    }
}
