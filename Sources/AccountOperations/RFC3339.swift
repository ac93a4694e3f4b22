package import AccountLinking
import JSON

/// Instants as text of RFC 3339, in UTC with exactly three fractional digits, which iOS requires.
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

    /// Parses a date, a time and an offset. Accepts a space instead of `T` and an offset of hours alone, as PostgreSQL
    /// writes them. `nil` for anything else, and outside the years 1970 to 9999.
    package static func instant(_ text: String) -> Timestamp? {
        let bytes = Array(text.utf8)
        guard (20...40).contains(bytes.count), bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            [UInt8(ascii: "T"), UInt8(ascii: "t"), UInt8(ascii: " ")].contains(bytes[10]),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10]),
            let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60,
            second < 60
        else { return nil }
        var rest = bytes[19...]
        var microseconds: Int64 = 0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty, let fraction = number((Array(digits) + [0x30, 0x30, 0x30, 0x30, 0x30]).prefix(6))
            else {
                return nil
            }
            microseconds = fraction
            rest = rest.dropFirst(1 + digits.count)
        }
        guard let offset = offsetSeconds(rest) else { return nil }
        let days = daysSinceEpoch(year: year, month: month, day: day)
        let date = civilDate(daysSinceEpoch: days)
        // Reject the 31st of February, which would become another day.
        guard date.month == month, date.day == day else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return seconds < 0 ? nil : Timestamp(microsecondsSinceEpoch: seconds * 1_000_000 + microseconds)
    }

    private static func offsetSeconds(_ text: ArraySlice<UInt8>) -> Int64? {
        guard let sign = text.first else { return nil }
        if text.count == 1, sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") { return 0 }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        let digits = text.dropFirst().filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 2 || digits.count == 4, let hours = number(digits.prefix(2)),
            let minutes = number(digits.dropFirst(2) + (digits.count == 2 ? [0x30] : [])), hours < 24, minutes < 60
        else { return nil }
        return (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The inverse of `civilDate`.
    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted.floored(by: 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
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

    /// Appends at least `width` digits and the separator. Appends bytes because every lookup writes such texts: joining
    /// strings took a third of its time.
    private static func append(_ number: Int64, _ width: Int, _ separator: Unicode.Scalar, to text: inout [UInt8]) {
        text.append(decimal: number, width: width)
        text.append(UInt8(ascii: separator))
    }
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
