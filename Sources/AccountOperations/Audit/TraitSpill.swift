import AccountLinking
import AccountStore

/// What accounts contribute to rules about several, on its way to the file.
struct TraitBatch: Sendable {
    fileprivate var records: [UInt8] = []
    /// Where each record begins and ends, and the hash of what it is grouped by.
    fileprivate var ends: [(hash: UInt64, end: Int)] = []

    mutating func append(_ trait: AuditRule.Trait, of snapshot: AccountSnapshot, rule: Int) {
        let start = records.count
        records.append(UInt8(rule))
        append(snapshot.tenant.rawValue)
        append(trait.key)
        let hash = stableHash(records[start...])
        append(snapshot.id.rawValue)
        append(trait.detail)
        withUnsafeBytes(of: (snapshot.account?.version ?? 0).littleEndian) { records += $0 }
        ends.append((hash, records.count))
    }

    private mutating func append(_ text: String) {
        let count = min(text.utf8.count, Int(UInt16.max))
        records.append(UInt8(truncatingIfNeeded: count))
        records.append(UInt8(truncatingIfNeeded: count >> 8))
        var text = text
        text.withUTF8 { records.append(contentsOf: $0.prefix(count)) }
    }
}

/// FNV-1a, 64 bits: the same in every run, so that findings come in the same order. Whoever makes many collide only makes
/// the records of a bucket be compared.
private func stableHash(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}

/// Accounts that contributed the same to a rule.
struct TraitGroup: Sendable {
    var rule: Int
    var tenant: TenantID
    var key: String
    /// In the order of their ids.
    var members: [AuditRule.Member]
}

/// Puts together what belongs together among more accounts than memory holds.
///
/// Records go to one of many buckets by their hash; a bucket is small enough to be put in order in memory.
struct TraitSpill: ~Copyable {
    /// What is told comes bucket by bucket, so this is for ever.
    private static let bucketCount = 256
    /// Parts of each bucket, which are read one after the other.
    private static let partCount = 4

    private let file: BucketFile
    private var writer: BucketWriter

    /// - `folder`: where the file goes.
    init(in folder: String) throws(SpillFailure) {
        file = try BucketFile(in: folder, buckets: Self.bucketCount * Self.partCount)
        writer = BucketWriter(file)
    }

    mutating func append(_ batch: TraitBatch) throws {
        var start = 0
        for (hash, end) in batch.ends {
            let record = start..<end
            try withUnsafeBytes(of: (hash, UInt32(record.count))) { head in
                try batch.records.withUnsafeBytes { records in
                    try writer.append(
                        UnsafeRawBufferPointer(rebasing: records[record]),
                        after: UnsafeRawBufferPointer(rebasing: head.prefix(12)),
                        to: Self.bucket(of: hash)
                    )
                }
            }
            start = end
        }
    }

    private static func bucket(of hash: UInt64) -> Int {
        let (rest, bucket) = hash.quotientAndRemainder(dividingBy: UInt64(bucketCount))
        return Int(bucket) * partCount + Int(rest % UInt64(partCount))
    }

    /// Calls `body` for every two accounts or more that contributed the same to a rule: rule by rule within a bucket, by
    /// key. Once, after the last `append`.
    consuming func groups(_ body: (TraitGroup) throws -> Void) throws {
        let file = file
        try writer.finish()
        for index in 0..<Self.bucketCount {
            var groups: [TraitGroup] = []
            for part in 0..<Self.partCount {
                groups += Self.groups(in: try file.contents(of: index * Self.partCount + part))
            }
            groups.sort { ($0.rule, $0.tenant.rawValue, $0.key) < ($1.rule, $1.tenant.rawValue, $1.key) }
            for group in groups { try body(group) }
        }
    }

    /// Only records whose hash another one has are looked at closely.
    private static func groups(in bytes: [UInt8]) -> [TraitGroup] {
        var places: [(hash: UInt64, start: Int)] = []
        var offset = 0
        while offset < bytes.count {
            let (hash, count) = bytes.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
                    Int(bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
                )
            }
            places.append((hash, offset + 12))
            offset += 12 + count
        }
        places.sort { ($0.hash, $0.start) < ($1.hash, $1.start) }
        var groups: [TraitGroup] = []
        var first = 0
        while first < places.count {
            var end = first + 1
            while end < places.count, places[end].hash == places[first].hash { end += 1 }
            if end > first + 1 { groups += exactGroups(places[first..<end].map { Record(bytes, at: $0.start) }) }
            first = end
        }
        return groups
    }

    /// Those with one hash need not have one key.
    private static func exactGroups(_ records: [Record]) -> [TraitGroup] {
        Dictionary(grouping: records) { [String($0.rule), $0.tenant, $0.key] }.values.compactMap { same in
            guard same.count > 1, let first = same.first else { return nil }
            let members = same.compactMap { record in
                UserID(record.user).map {
                    AuditRule.Member(user: $0, version: record.version, detail: record.detail)
                }
            }
            .sorted { $0.user.rawValue.utf8.lexicographicallyPrecedes($1.user.rawValue.utf8) }
            return TraitGroup(rule: first.rule, tenant: TenantID(first.tenant), key: first.key, members: members)
        }
    }

    private struct Record {
        var rule: Int
        var tenant: String
        var key: String
        var user: String
        var detail: String
        var version: Int64

        init(_ bytes: [UInt8], at start: Int) {
            var offset = start + 1
            func text() -> String {
                let count = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
                defer { offset += 2 + count }
                return String(decoding: bytes[(offset + 2)..<(offset + 2 + count)], as: UTF8.self)
            }
            rule = Int(bytes[start])
            tenant = text()
            key = text()
            user = text()
            detail = text()
            version = bytes.withUnsafeBytes {
                Int64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Int64.self))
            }
        }
    }
}
