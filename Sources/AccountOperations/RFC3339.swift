package import AccountLinking

/// Instants in the form of RFC 3339, in UTC with exactly three fractional digits, which iOS insists on (`spec/02` §7).
package enum RFC3339 {
    package static func text(_ instant: Timestamp) -> String {
        let milliseconds = instant.microsecondsSinceEpoch.floored(by: 1000)
        let days = milliseconds.floored(by: 86_400_000)
        let inDay = milliseconds - days * 86_400_000
        let date = civilDate(daysSinceEpoch: days)
        let seconds = inDay / 1000
        var text: [UInt8] = []
        text.reserveCapacity(24)
        append(date.year, 4, "-", to: &text)
        append(date.month, 2, "-", to: &text)
        append(date.day, 2, "T", to: &text)
        append(seconds / 3600, 2, ":", to: &text)
        append(seconds / 60 % 60, 2, ":", to: &text)
        append(seconds % 60, 2, ".", to: &text)
        append(inDay % 1000, 3, "Z", to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The date of a day number in the proleptic Gregorian calendar, counted in years that begin in March, so that the
    /// leap day is the last one.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let era = shifted.floored(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// Appends at least `width` digits and what follows them. By bytes: every lookup has such a text, and as strings put
    /// together it took a third of its answer's time.
    private static func append(_ number: Int64, _ width: Int, _ separator: Unicode.Scalar, to text: inout [UInt8]) {
        let digits = String(number).utf8
        for _ in digits.count..<max(width, digits.count) { text.append(UInt8(ascii: "0")) }
        text.append(contentsOf: digits)
        text.append(UInt8(ascii: separator))
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
