/// Divides all ids into ranges with about as many in each, in the order of their bytes, so that whatever hangs off an id
/// goes to one range, and the ranges one after the other are in order.
struct IDRanges: Sendable {
    /// What all of a sample begin with; what does not begin so lies before or behind all that does.
    private let prefix: [UInt8]
    /// The place with which each range but the first begins, then places behind all others until there are whole blocks.
    private let starts: [UInt64]
    /// The first of each block of `starts`.
    private let blocks: [UInt64]
    private static var blockSize: Int { 32 }
    private static var behindAll: UInt64 { .max >> 1 }

    let count: Int

    /// - `sample`: some of the ids, in any order; the more, the more even the ranges.
    /// - `countMax`: ranges at most; there are fewer where the sample does not tell so many apart.
    init(_ sample: IDSample, countMax: Int) {
        let ids = 0..<sample.count
        let first = sample.count > 0 ? sample.withID(0) { Array($0) } : []
        let length = ids.reduce(first.count) { length, place in
            sample.withID(place) { id in first.withUnsafeBytes { min(length, $0.commonPrefixCount(with: id)) } }
        }
        let prefix = Array(first.prefix(length))
        self.prefix = prefix
        let places = ids.map { place in sample.withID(place) { Self.place(of: $0, after: length) } }.sorted()
        var starts: [UInt64] = []
        for range in 1..<max(1, countMax) where !places.isEmpty {
            let start = places[range * places.count / countMax]
            if start > starts.last ?? places[0] { starts.append(start) }
        }
        count = starts.count + 1
        while starts.count % Self.blockSize > 0 { starts.append(Self.behindAll) }
        self.starts = starts
        blocks = stride(from: 0, to: starts.count, by: Self.blockSize).map { starts[$0] }
    }

    /// The range that an id lies in.
    func index(of id: UnsafeRawBufferPointer) -> Int {
        for (place, byte) in prefix.enumerated() {
            guard place < id.count, id[place] >= byte else { return 0 }
            if id[place] > byte { return count - 1 }
        }
        let place = Self.place(of: id, after: prefix.count)
        let block = Self.count(notAbove: place, of: blocks[...])
        if block == 0 { return 0 }
        let first = (block - 1) * Self.blockSize
        return first + Self.count(notAbove: place, of: starts[first..<first + Self.blockSize])
    }

    /// How many of some places are not above one. Each is looked at, by the sign of a difference: ids are random, and what branches
    /// guesses wrong every other time, which costs as much as looking at a block.
    @inline(__always)
    private static func count(notAbove place: UInt64, of some: ArraySlice<UInt64>) -> Int {
        some.withUnsafeBufferPointer { some in
            var above: UInt64 = 0
            for start in some { above &+= (place &- start) >> 63 }
            return some.count - Int(above)
        }
    }

    /// Where an id stands among all that begin with the prefix: its next eight bytes but for the last bit.
    private static func place(of id: UnsafeRawBufferPointer, after count: Int) -> UInt64 {
        min(id.number(after: count) >> 1, behindAll - 1)
    }
}

/// Some ids, of many.
struct IDSample: Sendable {
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    mutating func append(_ id: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: id)
        ends.append(bytes.count)
    }

    /// Calls `body` with one of them.
    func withID<Output>(_ place: Int, _ body: (UnsafeRawBufferPointer) -> Output) -> Output {
        bytes.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[(place == 0 ? 0 : ends[place - 1])..<ends[place]]))
        }
    }
}
