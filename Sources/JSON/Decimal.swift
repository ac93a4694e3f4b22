extension [UInt8] {
    /// Appends a number in decimal digits, with leading zeros up to `width`. Creates no string.
    package mutating func append(decimal number: Int64, width: Int = 1) {
        let start = count
        var rest = number.magnitude
        repeat {
            append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        while count - start < width { append(UInt8(ascii: "0")) }
        if number < 0 { append(UInt8(ascii: "-")) }
        var (low, high) = (start, count - 1)
        while low < high {
            swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
