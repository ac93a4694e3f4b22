import AccountLinking

/// Accounts with the same trait for a rule.
struct TraitGroup: Sendable {
    var rule: Int
    var tenant: TenantID
    var key: String
    /// In the order of their ids.
    var members: [AuditRule.Member]
}

/// Finds accounts that share a trait, among more accounts than memory holds.
struct SharedTraits: ~Copyable {
    private var sort: ExternalSort
    /// The record that is being made. Keeps its memory.
    private var record: [UInt8] = []

    /// - `folder`: for the temporary file.
    init(in folder: String) throws(TemporaryFileFailure) {
        sort = try ExternalSort(in: folder)
    }

    /// Adds a trait of an account for a rule.
    mutating func append(_ trait: AuditRule.Trait, rule: Int, of snapshot: AccountSnapshot) throws(TemporaryFileFailure)
    {
        record.removeAll(keepingCapacity: true)
        add(String(rule))
        add(snapshot.tenant.rawValue)
        add(trait.key)
        let key = Self.hash(record)
        add(snapshot.id.rawValue)
        add(String(snapshot.account?.version ?? 0))
        add(trait.detail)
        try sort.append(record, key: key)
    }

    /// Adds a text to the record. PostgreSQL's texts cannot hold U+0000, so it separates them.
    private mutating func add(_ text: String) {
        record += text.utf8
        record.append(0)
    }

    /// Calls `body` for each trait that several accounts share, or one account has several times. The order is the same in
    /// every run.
    consuming func groups(_ body: (TraitGroup) throws -> Void) throws {
        try sort.forEachRepeatedKey { records in
            // Different traits may have the same hash.
            let groups = Dictionary(grouping: records.map(Self.texts)) { $0.prefix(3) }
                .sorted { $0.key.lexicographicallyPrecedes($1.key) }
            for (trait, records) in groups where records.count > 1 {
                guard let rule = Int(trait[0]) else { continue }
                let members = records.compactMap { texts -> AuditRule.Member? in
                    guard let user = UserID(texts[3]), let version = Int64(texts[4]) else { return nil }
                    return AuditRule.Member(user: user, version: version, detail: texts[5])
                }
                .sorted { $0.user.rawValue.utf8.lexicographicallyPrecedes($1.user.rawValue.utf8) }
                try body(TraitGroup(rule: rule, tenant: TenantID(trait[1]), key: trait[2], members: members))
            }
        }
    }

    private static func texts(_ record: [UInt8]) -> [String] {
        record.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    }

    /// FNV-1a, which is the same in every run. Collisions only cost time.
    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
