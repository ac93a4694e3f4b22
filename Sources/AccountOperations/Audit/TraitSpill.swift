import AccountLinking
import AccountStore

/// What accounts of a tenant contribute to rules about several, on its way to the file: a record of what each contributes of one
/// family (`AuditRule.Trait.family`).
///
/// In a record: the tenant and the family, by which it is found; the user, the account's version; then of each trait its rule,
/// key and detail.
struct TraitBatch: Sendable {
    fileprivate var records: [UInt8] = []
    /// Where each record ends, and the hash of what it is found by.
    fileprivate var ends: [(hash: UInt64, end: Int)] = []

    /// - `traits`: all of an account. Those of one family that come one after the other are one record.
    mutating func append(_ traits: TraitList, of snapshot: AccountSnapshot) {
        for place in traits.entries.indices {
            let (family, key) = (traits.entries[place].trait.family, traits.entries[place].trait.key)
            if place == 0 || traits.entries[place - 1].trait.family != family { begin(family, snapshot) }
            records.append(UInt8(traits.entries[place].rule))
            append(key, after: family)
            append(traits.entries[place].trait.detail, after: key)
            ends[ends.count - 1].end = records.count
        }
    }

    private mutating func begin(_ family: String, _ snapshot: AccountSnapshot) {
        let start = records.count
        append(snapshot.tenant.rawValue)
        append(family)
        ends.append((records[start...].withUnsafeBytes(stableHash), records.count))
        append(snapshot.id.rawValue)
        withUnsafeBytes(of: (snapshot.account?.version ?? 0).littleEndian) { records.append(contentsOf: $0) }
    }

    /// - `other`: what was appended before it, which is not written again.
    private mutating func append(_ text: String, after other: String? = nil) {
        if let other, text == other { return records.append(TextLength.same) }
        var text = text
        text.withUTF8 { text in
            let count = min(text.count, Int(UInt16.max))
            if count < TextLength.inTwoBytes {
                records.append(UInt8(count))
            } else {
                records.append(TextLength.inTwoBytes)
                withUnsafeBytes(of: UInt16(count).littleEndian) { records.append(contentsOf: $0) }
            }
            records.append(contentsOf: UnsafeBufferPointer(rebasing: text.prefix(count)))
        }
    }
}

/// What stands before a text in place of its length.
private enum TextLength {
    static let inTwoBytes: UInt8 = 0xFE
    /// The text before it again.
    static let same: UInt8 = 0xFF
}

/// The same in every run, so that findings come in the same order: FNV-1a of words of eight bytes, then of the bytes that are
/// left, each folded down. Whoever makes many collide only makes the records of a bucket be compared.
private func stableHash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func mix(_ word: UInt64) {
        hash = (hash ^ word) &* 0x100_0000_01B3
        hash ^= hash >> 32
    }
    let words = bytes.count / 8 * 8
    for offset in stride(from: 0, to: words, by: 8) {
        mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
    }
    for byte in bytes[words...] { mix(UInt64(byte)) }
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
        var traits: [StoredTrait] = []
        forEachRecord(in: bytes) { hash, record in
            if repeated.contains(hash) { traits += StoredTrait.all(in: bytes[record]) }
        }
        return groups(traits)
    }

    /// Calls `body` with the hash of each record, and where it lies.
    private static func forEachRecord(in bytes: [UInt8], _ body: (_ hash: UInt64, _ record: Range<Int>) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let hash = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                let count = Int(bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self))
                body(hash, offset + 12..<offset + 12 + count)
                offset += 12 + count
            }
        }
    }

    /// Those with one hash need not have one family, and those of one family not one key.
    private static func groups(_ traits: [StoredTrait]) -> [TraitGroup] {
        Dictionary(grouping: traits) { [String($0.rule), $0.tenant, $0.key] }.values.compactMap { same in
            guard same.count > 1, let first = same.first else { return nil }
            let members = same.compactMap { trait in
                UserID(trait.user).map { AuditRule.Member(user: $0, version: trait.version, detail: trait.detail) }
            }
            .sorted { $0.user.rawValue.utf8.lexicographicallyPrecedes($1.user.rawValue.utf8) }
            return TraitGroup(rule: first.rule, tenant: TenantID(first.tenant), key: first.key, members: members)
        }
    }

    private struct StoredTrait {
        var rule: Int
        var tenant: String
        var key: String
        var user: String
        var detail: String
        var version: Int64

        /// Those of a record.
        static func all(in record: ArraySlice<UInt8>) -> [StoredTrait] {
            var rest = record
            func text(after other: String = "") -> String {
                let length = rest.removeFirst()
                if length == TextLength.same { return other }
                var count = Int(length)
                if length == TextLength.inTwoBytes { count = Int(rest.removeFirst()) | Int(rest.removeFirst()) << 8 }
                defer { rest = rest.dropFirst(count) }
                return String(decoding: rest.prefix(count), as: UTF8.self)
            }
            let (tenant, family, user) = (text(), text(), text())
            let version = rest.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            var traits: [StoredTrait] = []
            while let rule = rest.popFirst() {
                let key = text(after: family)
                traits.append(
                    StoredTrait(
                        rule: Int(rule),
                        tenant: tenant,
                        key: key,
                        user: user,
                        detail: text(after: key),
                        version: Int64(bitPattern: version)
                    )
                )
            }
            return traits
        }
    }
}
