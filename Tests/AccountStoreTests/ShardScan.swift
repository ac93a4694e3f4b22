import AccountStore

/// Finds in the text of a statement what Citus 13 refuses, and what it sends to every shard.
///
/// It knows the SQL that Concord writes, not all of SQL. The rules were found with `EXPLAIN` on Citus 13.2:
///
/// - Citus sends a statement to one shard if each distributed table in it has `key = $n`, a function of parameters
///   alone included, or equals such a key in the same query. `= ANY($n)` and `IN ($n, …)` ask the shards of the values.
/// - It derives nothing across the border of a subquery: `own.user_id = users.user_id` in a `LATERAL` restricts
///   nothing.
struct ShardScan {
    /// The distributed tables without a key, by the names that the statement gives them.
    private(set) var unrestricted: [String] = []
    /// Constructions that Citus refuses.
    private(set) var faults: [String] = []

    /// Statements that may ask every shard, each with the reason. `Type.*` stands for all of a type. Every other
    /// statement asks one shard, or those of its values.
    private static let asksEveryShard: [String: String] = {
        let purge = "the purge, in the background"
        let administrator = "a list or a search by an administrator"
        let codes = "the codes of an account, stored by their hashes: only when the account changes"
        let development = "deletes a whole tenant, in development"
        let imports = "many accounts in one statement of an import"
        let background = "times of many accounts, written together in the background"
        let scan = "reads whole tables"
        return [
            "AuditTables.*": scan, "ExportTables.*": scan, "TenantRow.next": scan, "TenantRow.firstWithUsers": scan,
            "TenantRow.nextWithUsers": scan, "TenantRow.exists": scan,
            "SessionRow.countUnused": scan, "UserIDRow.cuts": scan, "StoredEventRow.countWithoutFacts": scan,
            "SealedCountRow.byPrefix": scan, "SealedValueRow.page": scan, "SealedValueRow.replace": scan,
            "StoredEventRow.withID": administrator, "StoredEventRow.withQuestions": scan,
            "AccountJournalRow.*": "merges, plans and their undo",
            "Purgeable.*": purge, "ConflictRow.countEnded": purge, "SignInRefusalRow.deleteOld": purge,
            "SessionRow.dateUndated": purge, "SessionRow.deleteUnused": purge, "SessionRow.moveUsed": purge,
            "ConflictRow.page": administrator, "IdentifierRow.federated": administrator,
            "IdentifierRow.anyFederated": administrator, "LinkedProviderRow.issuers": administrator,
            "UserIDRow.linkedWithEmail": administrator,
            "UserIDRow.withInitialEmails": administrator, "UserRow.after": administrator,
            "UserRow.idPage": administrator, "UserRow.count": administrator,
            "CodeMethodRow.live": codes, "CodeMethodRow.settle": codes, "CodeMethodRow.settleAll": codes,
            "CodeMethodRow.since": codes, "CodeMethodRow.voidElsewhere": codes, "CodeMethodRow.voidLater": codes,
            "EmailCodeRow.canTakeBack": codes, "EmailCodeRow.deleteAll": codes, "EmailCodeRow.recoverable": codes,
            "EmailCodeRow.recoveries": codes, "EmailCodeRow.recovery": codes, "EmailCodeRow.voidAddressChanges": codes,
            "EmailCodeRow.voidAll": codes, "EmailCodeRow.voidAllButProvenRecovery": codes,
            "EmailCodeRow.voidAllButRecovery": codes, "EmailCodeRow.voidElsewhere": codes,
            "EmailCodeRow.deleteOrphans": development,
            "RepairRow.deleteCodes": administrator, "RepairRow.deleteUnusedCodes": administrator,
            "ConflictReturnRow.withCode": "the app presents a code without its account, once for each conflict",
            "SecondFactorRow.isEnrolled": "a test number, when an administrator adds it to the settings",
            "PasswordAttemptRow.deleteAllSources": development, "StoredResponseRow.deleteAll": development,
            "IdentifierRow.releaseOrphans": development, "UserRow.deleteAll": development,
            "WriteProbeRow.deleteNothing": "finds no row in any shard: Citus asks none",
            "SessionRow.touch": background, "UserRow.touch": background, "SignInRefusalRow.add": background,
            "AccountEventRow.insertMany": imports, "IdentifierRow.claimMany": imports,
            "IdentifierRow.releaseMany": imports, "LinkedProviderRow.insertMany": imports,
            "PasswordCredentialRow.putMany": imports, "SecondFactorRow.insertNumbers": imports,
            "SignInMethodRow.insertMany": imports, "UserRow.assertAllRaised": imports, "UserRow.insertMany": imports,
            "UserRow.updateMany": imports,
        ]
    }()

    /// The name in the list above that concerns the statement `name`.
    static func exemption(of name: String) -> String? {
        let type = name.prefix { $0 != "." } + ".*"
        return asksEveryShard[name] != nil ? name : asksEveryShard[String(type)] != nil ? String(type) : nil
    }

    static var exemptions: Set<String> { Set(asksEveryShard.keys) }

    private static let keys: [String: String] = Dictionary(
        uniqueKeysWithValues: Distribution.tables.compactMap { table in
            if case .byKey(let key, _) = table.placement { (table.name, key) } else { nil }
        }
    )
    private static let names = Set(Distribution.tables.map(\.name))

    init(_ text: String) {
        let tokens = Self.tokens(of: text)
        var queries: [Query] = []
        Self.split(tokens, into: &queries)
        for query in queries { unrestricted += query.unrestricted(Self.keys) }
        findFaults(text, tokens, queries)
    }

    private mutating func findFaults(_ text: String, _ tokens: [String], _ queries: [Query]) {
        let line = tokens.joined(separator: " ")
        let writes = line.contains(#/\b(INSERT INTO|UPDATE \w|DELETE FROM)/#)
        let isDistributed = queries.contains { $0.relations.contains { Self.keys[$0.table] != nil } }
        if line.contains("EXISTS ( SELECT FROM") { faults.append("EXISTS (SELECT FROM …): select 1") }
        if !unrestricted.isEmpty, line.contains(#/\bFOR (UPDATE|SHARE)\b/#),
            queries.contains(where: {
                $0.locks && !$0.unrestricted(Self.keys).isEmpty
            })
        {
            faults.append("FOR UPDATE over several shards: lock one row in each statement")
        }
        if writes, line.contains("clock_timestamp (") || line.contains("random (") {
            faults.append("a volatile function in a write: bind the value, or use statement_timestamp()")
        }
        if let update = line.firstRange(of: "DO UPDATE SET") {
            let set = line[update.upperBound...]
            if set.contains(") [") { faults.append("an array subscript in DO UPDATE SET crashes Citus 13.2") }
            if set.contains("( SELECT") { faults.append("a subquery in DO UPDATE SET") }
            if set.contains(#/(reserved_until|_at) [+-] interval/#) {
                faults.append("timestamptz and interval in DO UPDATE SET: not immutable")
            }
        }
        if isDistributed, line.contains("unnest ("), line.contains("JOIN LATERAL"), line.contains("OFFSET 0") {
            faults.append("LATERAL over unnest: compare with = ANY")
        }
        if isDistributed, line.contains("WITH RECURSIVE") { faults.append("a recursive query over shards") }
        if !unrestricted.isEmpty, line.contains(#/LIMIT \$\d+( OFFSET \$\d+)? \) AS \w+ LEFT JOIN LATERAL/#) {
            faults.append("a page that is joined to subqueries: find the page by user_id IN (SELECT … LIMIT …)")
        }
        for query in queries {
            guard let target = query.target, let key = Self.keys[target], query.sets.contains(key) else { continue }
            faults.append("an update of the key \(target).\(key): insert, then delete")
        }
        // Joins of tables of different groups.
        for query in queries {
            let groups = Set(query.relations.compactMap { relation in Self.keys[relation.table] })
            if groups.count > 1, !query.isInsert { faults.append("a join of tables that do not lie together") }
        }
    }

    /// Words, parameters and punctuation; `'…'` is one token without its content.
    private static func tokens(of text: String) -> [String] {
        var tokens: [String] = []
        var word = ""
        var isInText = false
        func isWord(_ character: Character) -> Bool {
            character.isLetter || character.isNumber || "_$.".contains(character)
        }
        for character in text {
            if isInText {
                if character == "'" { isInText = false }
                continue
            }
            if isWord(character) {
                word.append(character)
                continue
            }
            if !word.isEmpty {
                tokens.append(word)
                word = ""
            }
            if character == "'" {
                isInText = true
                tokens.append("''")
            } else if !character.isWhitespace, character != "\"" {
                tokens.append(String(character))
            }
        }
        if !word.isEmpty { tokens.append(word) }
        return tokens
    }

    /// Splits the tokens at the parentheses that hold a query, and at `UNION`.
    private static func split(_ tokens: [String], into queries: inout [Query]) {
        var own: [String] = []
        var place = 0
        func finish() {
            if !own.isEmpty { queries.append(Query(own, names: names)) }
            own = []
        }
        while place < tokens.count {
            let token = tokens[place]
            if token == "(", place + 1 < tokens.count,
                ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains(tokens[place + 1])
            {
                var depth = 1
                var end = place + 1
                while end < tokens.count, depth > 0 {
                    if tokens[end] == "(" { depth += 1 } else if tokens[end] == ")" { depth -= 1 }
                    end += 1
                }
                split(Array(tokens[(place + 1)..<(end - 1)]), into: &queries)
                own += ["(", "subquery", ")"]
                place = end
                continue
            }
            if token == "UNION" { finish() } else { own.append(token) }
            place += 1
        }
        finish()
    }

    /// One query of a statement, without its subqueries.
    private struct Query {
        struct Relation {
            let table: String
            let name: String
        }

        private let tokens: [String]
        private(set) var relations: [Relation] = []
        /// The table that is written.
        private(set) var target: String?
        private(set) var isInsert = false
        /// The columns that `UPDATE … SET` writes.
        private(set) var sets: Set<String> = []
        /// `= $n`, or equal to a column that is.
        private var restricted: Set<String> = []

        var locks: Bool {
            zip(tokens, tokens.dropFirst()).contains { $0 == "FOR" && ["UPDATE", "SHARE"].contains($1) }
        }

        init(_ tokens: [String], names: Set<String>) {
            self.tokens = tokens
            findRelations(names)
            findSets()
            findRestrictions()
        }

        private mutating func findRelations(_ names: Set<String>) {
            let ends: Set<String> = [
                "ON", "WHERE", "SET", "JOIN", "LEFT", "CROSS", "ORDER", "FOR", "USING", "LIMIT", "GROUP", "UNION",
                "FROM",
                "VALUES", "SELECT", "RETURNING", "RIGHT", "OFFSET", "AND",
            ]
            for place in tokens.indices where names.contains(tokens[place]) && place > 0 {
                let before = tokens[place - 1]
                guard ["FROM", "JOIN", "INTO", "UPDATE", "USING", ",", "ONLY"].contains(before) else { continue }
                if before == "UPDATE", place > 1, ["FOR", "DO"].contains(tokens[place - 2]) { continue }
                if before == "," && !isInFrom(place) { continue }
                var name = tokens[place]
                if place + 1 < tokens.count {
                    let next = tokens[place + 1]
                    if next == "AS", place + 2 < tokens.count {
                        name = tokens[place + 2]
                    } else if next.allSatisfy({ $0.isLetter || $0 == "_" }), !ends.contains(next) {
                        name = next
                    }
                }
                relations.append(Relation(table: tokens[place], name: name))
                if before == "INTO" { isInsert = true }
                if before == "INTO" || before == "UPDATE" || place > 1 && tokens[place - 2] == "DELETE" {
                    target = target ?? tokens[place]
                }
            }
        }

        private func isInFrom(_ place: Int) -> Bool {
            for token in tokens[..<place].reversed() {
                if ["FROM", "USING"].contains(token) { return true }
                if ["WHERE", "SELECT", "SET", "ON", "VALUES", "BY"].contains(token) { return false }
            }
            return false
        }

        private mutating func findSets() {
            guard let start = tokens.firstIndex(of: "SET"), !tokens.contains("INSERT") else { return }
            for place in tokens.indices where place > start && tokens[place] == "=" {
                if ["WHERE", "FROM"].contains(where: { tokens[start..<place].contains($0) }) { break }
                if ["SET", ","].contains(tokens[place - 2]) { sets.insert(tokens[place - 1]) }
            }
        }

        /// Finds the keys that are compared with parameters after `WHERE` or `ON`, and the columns equal to them.
        private mutating func findRestrictions() {
            var equal: [(String, String)] = []
            let start = tokens.firstIndex { ["WHERE", "ON"].contains($0) } ?? tokens.endIndex
            for place in tokens.indices where place >= start && ["=", "IN"].contains(tokens[place]) && place > 0 {
                if place + 1 == tokens.count || [">", "<", "!"].contains(tokens[place - 1]) { continue }
                let column = tokens[place - 1]
                let isAlternative = place > 1 && tokens[place - 2] == "OR"
                if isAlternative || place > 1 && tokens[place - 2] == "NOT" { continue }
                let rest = tokens[(place + 1)...].prefix {
                    !["AND", "OR", "ORDER", "FOR", "LIMIT", "OFFSET", "RETURNING"].contains($0)
                }
                if rest.first.map({ $0.hasPrefix("$") || $0 == "''" }) == true
                    || ["ANY", "(", "sha256"].contains(rest.first ?? "") && isConstant(rest)
                {
                    restricted.insert(column)
                } else if let other = rest.first, other.contains(".") {
                    equal.append((column, other))
                }
            }
            var grows = true
            while grows {
                grows = false
                for (one, other) in equal where restricted.contains(one) != restricted.contains(other) {
                    restricted.formUnion([one, other])
                    grows = true
                }
            }
        }

        private func isConstant(_ tokens: ArraySlice<String>) -> Bool {
            tokens.allSatisfy { token in
                token.hasPrefix("$") || ["ANY", "(", ")", ",", "sha256", "''"].contains(token)
                    || token.allSatisfy(\.isNumber)
            }
        }

        func unrestricted(_ keys: [String: String]) -> [String] {
            relations.enumerated().compactMap { number, relation in
                guard let key = keys[relation.table] else { return nil }
                if isInsert, number == 0 { return insertsKey(key) ? nil : relation.name }
                let isOnly =
                    relations.filter { keys[$0.table] != nil }.count == (isInsert ? 2 : 1) || relations.count == 1
                let names = ["\(relation.name).\(key)", "\(relation.table).\(key)"] + (isOnly ? [key] : [])
                return names.contains(where: restricted.contains) ? nil : relation.name
            }
        }

        /// True if the key's value is a parameter, or comes from a row that is restricted.
        private func insertsKey(_ key: String) -> Bool {
            guard let open = tokens.firstIndex(of: "("), let close = tokens[open...].firstIndex(of: ")"),
                let place = tokens[open..<close].split(separator: ",").firstIndex(where: { $0.last == key })
            else { return false }
            guard let start = tokens.firstIndex(where: { ["VALUES", "SELECT"].contains($0) }) else { return false }
            var items: [[String]] = [[]]
            var depth = 0
            for token in tokens[(start + 1)...] {
                if token == "FROM", depth == 0 { break }
                if token == "(" { depth += 1 } else if token == ")" { depth -= 1 }
                let level = tokens[start] == "VALUES" ? 1 : 0
                if token == ",", depth == level { items.append([]) } else { items[items.count - 1].append(token) }
            }
            guard items.indices.contains(place) else { return false }
            return items[place].contains { $0.hasPrefix("$") } || restricted.contains(key)
        }
    }
}
