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

/// The same in every run, so that findings come in the same order: FNV-1a of words of eight bytes, then of the bytes that are
/// left, each folded down. Whoever makes many collide only makes the records of a bucket be compared.
private func stableHash(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func mix(_ word: UInt64) {
        hash = (hash ^ word) &* 0x100_0000_01B3
        hash ^= hash >> 32
    }
    bytes.withUnsafeBytes { bytes in
        let words = bytes.count / 8 * 8
        for offset in stride(from: 0, to: words, by: 8) {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        }
        for byte in bytes[words...] { mix(UInt64(byte)) }
    }
    return hash
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
        file = BucketFile(in: folder, buckets: Self.bucketCount * Self.partCount)
        writer = try BucketWriter(file)
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
    consuming func groups(_ body: (TraitGroup) throws -> Void) async throws {
        let file = file
        try writer.finish()
        // Two at a time: all readers are done, and there is nobody else to use the other processors.
        for index in stride(from: 0, to: Self.bucketCount, by: 2) {
            async let next = Self.groups(ofBucket: index + 1, file)
            for group in try Self.groups(ofBucket: index, file) { try body(group) }
            for group in try await next { try body(group) }
        }
    }

    private static func groups(ofBucket index: Int, _ file: BucketFile) throws -> [TraitGroup] {
        var groups: [TraitGroup] = []
        for part in 0..<partCount { groups += Self.groups(in: try file.contents(of: index * partCount + part)) }
        groups.sort { ($0.rule, $0.tenant.rawValue, $0.key) < ($1.rule, $1.tenant.rawValue, $1.key) }
        return groups
    }

    /// Only records whose hash another one has, which are few, are looked at closely.
    private static func groups(in bytes: [UInt8]) -> [TraitGroup] {
        var hashes: [UInt64] = []
        forEachRecord(in: bytes) { hash, _ in hashes.append(hash) }
        hashes.sort()
        let repeated = Set(zip(hashes, hashes.dropFirst()).lazy.filter { $0 == $1 }.map(\.0))
        if repeated.isEmpty { return [] }
        var records: [Record] = []
        forEachRecord(in: bytes) { hash, start in
            if repeated.contains(hash) { records.append(Record(bytes, at: start)) }
        }
        return exactGroups(records)
    }

    /// Calls `body` with the hash of each record, and where what was hashed begins.
    private static func forEachRecord(in bytes: [UInt8], _ body: (_ hash: UInt64, _ start: Int) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let hash = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let count = Int(bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
                body(hash, offset + 12)
                offset += 12 + count
            }
        }
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
