import JSON
package import Postgres

extension PostgresUUID {
    /// The form of RFC 9562 §4, in lower case.
    package var text: String {
        let digits = Hexadecimal.encode(
            [high, low].flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        )
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }

    /// The inverse of `text`; `nil` for anything else.
    package init?(text: String) {
        let digits = text.filter { $0 != "-" }
        guard digits.utf8.count == 32, let high = UInt64(digits.prefix(16), radix: 16),
            let low = UInt64(digits.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
        guard self.text == text else { return nil }
    }
}
