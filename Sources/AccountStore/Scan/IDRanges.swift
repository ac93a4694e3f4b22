/// Divides all ids into ranges with about as many in each, in the order of their bytes, so that whatever hangs off an id
/// goes to one range, and the ranges one after the other are in order.
struct IDRanges: Sendable {
    /// What all of a sample begin with; what does not begin so lies before or behind all that does.
    private let prefix: [UInt8]
    /// The place with which each range but the first begins, in order.
    private let starts: [UInt64]
    private let cells: Cells

    var count: Int { starts.count + 1 }

    /// - `sample`: some of the ids, in any order; the more, the more even the ranges.
    /// - `countMax`: ranges at most; there are fewer where the sample does not tell so many apart.
    init(_ sample: IDSample, countMax: Int) {
        let ids = 0..<sample.count
        let first = sample.count > 0 ? sample.withID(0) { Array($0) } : []
        let length = ids.reduce(first.count) { length, place in
            sample.withID(place) { id in first.withUnsafeBytes { min(length, $0.commonPrefixCount(with: id)) } }
        }
        prefix = Array(first.prefix(length))
        let places = ids.map { place in sample.withID(place) { $0.number(after: length) } }.sorted()
        var starts: [UInt64] = []
        for range in 1..<max(1, countMax) where !places.isEmpty {
            let start = places[range * places.count / countMax]
            if start > starts.last ?? places[0] { starts.append(start) }
        }
        self.starts = starts
        cells = Cells(places, starts: starts)
    }

    /// The range that an id lies in.
    func index(of id: UnsafeRawBufferPointer) -> Int {
        for (place, byte) in prefix.enumerated() {
            guard place < id.count, id[place] >= byte else { return 0 }
            if id[place] > byte { return count - 1 }
        }
        // Where an id stands among all that begin with the prefix: its next eight bytes.
        let place = id.number(after: prefix.count)
        // There are fewer starts than cells: hardly one is left to look at.
        var left = cells.starts(near: place) ?? 0..<starts.count
        while !left.isEmpty {
            let middle = (left.lowerBound + left.upperBound) / 2
            left = starts[middle] <= place ? middle + 1..<left.upperBound : left.lowerBound..<middle
        }
        return left.lowerBound
    }

    /// Tells by the first bytes of a place between which starts it lies. Ids are random: a search that branches would guess
    /// wrong every other time, which costs more than all else that is done with a row.
    private struct Cells: Sendable {
        /// Few enough for the nearest memory.
        private static let countMax = 4096
        private static let noDigit = UInt16.max

        /// A number for each byte that is among the first ones of a place, in order.
        private let digits: [UInt16]
        private let radix: Int
        /// How many bytes tell the cell.
        private let byteCount: Int
        /// How many starts lie in the cells before each.
        private let startsBefore: [UInt16]

        init(_ places: [UInt64], starts: [UInt64]) {
            var alphabet = Set<UInt8>()
            var (digits, radix, byteCount, cellCount) = ([UInt16](repeating: Self.noDigit, count: 256), 0, 0, 1)
            for count in 1...8 {
                for place in places { alphabet.insert(Self.byte(count - 1, of: place)) }
                let cells = (0..<count).reduce(1) { cells, _ in min(cells * alphabet.count, Self.countMax + 1) }
                if cells > Self.countMax { break }
                for (digit, byte) in alphabet.sorted().enumerated() { digits[Int(byte)] = UInt16(digit) }
                (radix, byteCount, cellCount) = (alphabet.count, count, cells)
            }
            var startsBefore = [UInt16](repeating: 0, count: cellCount + 1)
            for start in starts {
                guard let cell = Self.cell(of: start, digits, radix, byteCount) else { continue }
                startsBefore[cell + 1] += 1
            }
            for cell in 1..<startsBefore.count { startsBefore[cell] += startsBefore[cell - 1] }
            (self.digits, self.radix, self.byteCount, self.startsBefore) = (digits, radix, byteCount, startsBefore)
        }

        private static func byte(_ index: Int, of place: UInt64) -> UInt8 {
            UInt8(truncatingIfNeeded: place >> (56 - 8 * UInt64(index)))
        }

        /// `nil` where a byte is none of those that were seen.
        @inline(__always)
        private static func cell(of place: UInt64, _ digits: [UInt16], _ radix: Int, _ byteCount: Int) -> Int? {
            var cell = 0
            for index in 0..<byteCount {
                let digit = digits[Int(byte(index, of: place))]
                if digit == noDigit { return nil }
                cell = cell * radix + Int(digit)
            }
            return cell
        }

        /// The starts in the cell of a place: those before them are not above it, those behind them are. `nil` where it has bytes that
        /// were not seen.
        @inline(__always)
        func starts(near place: UInt64) -> Range<Int>? {
            Self.cell(of: place, digits, radix, byteCount).map { Int(startsBefore[$0])..<Int(startsBefore[$0 + 1]) }
        }
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
