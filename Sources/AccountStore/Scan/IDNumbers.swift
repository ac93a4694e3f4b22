import Postgres

/// Numbers ids in the order in which they are met, and says in which order they are by their bytes.
///
/// Found by a hash with a seed of its own: whoever chooses ids cannot choose such as have one hash. The ids are compared.
///
/// SAFETY: as `PackedColumns`.
struct IDNumbers {
    private(set) var ids: [PackedText] = []
    /// Open addressing. Of each id the upper half of its hash and, in the lower one, its number plus one; 0 is none.
    private var slots = [UInt64](repeating: 0, count: 4096)
    private let seed = UInt64.random(in: 0...UInt64.max)

    /// The number of an id, which is `ids.count` before the call where it was not met yet.
    @inline(__always)
    mutating func number(of id: PackedText) -> Int {
        let hash = hash(of: id.bytes)
        var place = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[place] != 0 {
            let number = Int(UInt32(truncatingIfNeeded: slots[place])) - 1
            if slots[place] >> 32 == hash >> 32, ids[number] == id { return number }
            place = (place + 1) & (slots.count - 1)
        }
        ids.append(id)
        slots[place] = Self.slot(hash, ids.count)
        if ids.count * 2 > slots.count { grow() }
        return ids.count - 1
    }

    private static func slot(_ hash: UInt64, _ content: Int) -> UInt64 { (hash >> 32) << 32 | UInt64(content) }

    private mutating func grow() {
        var larger = [UInt64](repeating: 0, count: slots.count * 4)
        for (number, id) in ids.enumerated() {
            let hash = hash(of: id.bytes)
            var place = Int(truncatingIfNeeded: hash) & (larger.count - 1)
            while larger[place] != 0 { place = (place + 1) & (larger.count - 1) }
            larger[place] = Self.slot(hash, number + 1)
        }
        slots = larger
    }

    /// Words of eight bytes multiplied and folded. The last of them ends where the id does, and reaches into the one before it.
    @inline(__always)
    private func hash(of id: UnsafeRawBufferPointer) -> UInt64 {
        var hash = seed ^ UInt64(id.count)
        let last = max(0, id.count - 8)
        var offset = 0
        while true {
            let product = (hash ^ id.number(after: offset)).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            hash = product.high ^ product.low
            if offset == last { return hash }
            offset = min(offset &+ 8, last)
        }
    }

    /// The numbers of all ids, in the order of the ids' bytes.
    func inOrder() -> [Int] {
        guard let first = ids.first else { return [] }
        let prefixCount = ids.reduce(first.bytes.count) { min($0, $1.bytes.commonPrefixCount(with: first.bytes)) }
        // Eight bytes tell most of them apart.
        return ids.enumerated().map { (key: $1.bytes.number(after: prefixCount), number: $0) }
            .sorted { $0.key == $1.key ? ids[$0.number] < ids[$1.number] : $0.key < $1.key }
            .map(\.number)
    }
}

extension UnsafeRawBufferPointer {
    /// The eight bytes behind an offset, as a number; what is not there counts as zero.
    @inline(__always)
    func number(after offset: Int) -> UInt64 {
        if count - offset >= 8 {
            return UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        var number: UInt64 = 0
        for place in 0..<8 {
            number = number << 8 | (offset + place < count ? UInt64(self[offset + place]) : 0)
        }
        return number
    }

    /// How many bytes both begin with.
    func commonPrefixCount(with other: UnsafeRawBufferPointer) -> Int {
        let most = Swift.min(count, other.count)
        var common = 0
        while common < most, self[common] == other[common] { common += 1 }
        return common
    }
}
