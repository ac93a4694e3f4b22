import Glibc

/// Texts that many columns hold, for which a packed column has a number (`PackedColumns`).
///
/// Never freed, so made once, as a constant. Those who read packed columns have the list of those who wrote them.
package struct WordList: @unchecked Sendable {
    // PROOF of Sendable: what it points to is written before it is shared, and never again.

    /// So many there may be.
    package static let countMax = 60
    /// So many bytes each has, so that four at its beginning, in its middle and at its end can be looked at.
    private static let bytes = 4...32
    private static let slotCount = 1024

    private struct Content {
        let words: UnsafeMutablePointer<UnsafeRawBufferPointer>
        let count: Int
        /// One more than the number of the word that may be meant; 0 is none.
        let slots: UnsafeMutablePointer<UInt8>
        /// Such that no two words have one slot.
        let factor: UInt32
    }

    /// Elsewhere, because the columns of every row have a list.
    private let content: UnsafeMutablePointer<Content>

    package var count: Int { content.pointee.count }

    /// Texts that are shorter or longer than a word can be, or are there already, are left out.
    package init(_ texts: [String]) {
        var seen = Set<String>()
        let texts = texts.filter { Self.bytes.contains($0.utf8.count) && seen.insert($0).inserted }
        precondition(texts.count <= Self.countMax, "more words than there are numbers")
        let words = UnsafeMutablePointer<UnsafeRawBufferPointer>.allocate(capacity: texts.count)
        for (number, text) in texts.enumerated() {
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
            bytes.copyBytes(from: text.utf8)
            (words + number).initialize(to: UnsafeRawBufferPointer(bytes))
        }
        let slots = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.slotCount)
        slots.initialize(repeating: 0, count: Self.slotCount)
        var factor: UInt32 = 0x9E37_79B1
        let list = UnsafeBufferPointer(start: words, count: texts.count)
        // One factor in six will do where there are as many words as there may be.
        while Set(list.map { Self.slot(of: $0, factor) }).count < list.count {
            factor &+= 2
            precondition(factor < 0x9E38_79B1, "words that cannot be told apart")
        }
        for (number, word) in list.enumerated() { slots[Self.slot(of: word, factor)] = UInt8(number + 1) }
        content = .allocate(capacity: 1)
        content.initialize(to: Content(words: words, count: texts.count, slots: slots, factor: factor))
    }

    @inline(__always)
    private static func slot(of text: UnsafeRawBufferPointer, _ factor: UInt32) -> Int {
        let first = text.loadUnaligned(as: UInt32.self)
        let middle = text.loadUnaligned(fromByteOffset: (text.count - 4) / 2, as: UInt32.self)
        let last = text.loadUnaligned(fromByteOffset: text.count - 4, as: UInt32.self)
        let mixed = (first &+ middle &* 31 &+ last &* 961 &+ UInt32(text.count)) &* factor
        return Int(mixed >> 22)
    }

    /// The number of a word; `nil` for what is none.
    @inline(__always)
    func number(of text: UnsafeRawBufferPointer) -> UInt8? {
        guard Self.bytes.contains(text.count) else { return nil }
        let number = content.pointee.slots[Self.slot(of: text, content.pointee.factor)]
        guard number > 0 else { return nil }
        let word = self[Int(number) - 1]
        guard let known = word.baseAddress, let base = text.baseAddress, word.count == text.count,
            memcmp(known, base, text.count) == 0
        else { return nil }
        return number - 1
    }

    /// - `number`: less than `count`.
    @inline(__always)
    subscript(number: Int) -> UnsafeRawBufferPointer { content.pointee.words[number] }
}
