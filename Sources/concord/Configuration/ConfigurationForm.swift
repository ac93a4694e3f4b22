import FoundationEssentials

/// The form of a value: the allowed values in words, and the conversions between text and value.
struct ConfigurationForm<Value: Sendable>: Sendable {
    /// Follows "give …" in an error.
    let allowed: String
    /// `nil` if the text is not allowed.
    let parse: @Sendable (_ text: String) -> Value?
    let format: @Sendable (_ value: Value) -> String
}

extension ConfigurationForm where Value == Int {
    /// Decimal digits, nothing else.
    static func wholeNumber(_ range: ClosedRange<Int>) -> Self {
        Self(
            allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            parse: { text in
                guard let number = decimal(text), range.contains(number) else { return nil }
                return number
            },
            format: { String($0) }
        )
    }

    /// A number of bytes with its unit, `B`, `KiB`, `MiB` or `GiB`: `16MiB`.
    static func byteCount(_ range: ClosedRange<Int>) -> Self {
        Self(
            allowed: "a size with its unit, from \(formatted(bytes: range.lowerBound)) "
                + "to \(formatted(bytes: range.upperBound))",
            parse: { text in
                guard let bytes = scaled(text, by: byteUnits), range.contains(bytes) else { return nil }
                return bytes
            },
            format: { formatted(bytes: $0) }
        )
    }
}

extension ConfigurationForm where Value == Duration {
    /// A time with its unit, `ms`, `s`, `m` or `h`: `250ms`. Bounds are in milliseconds.
    static func duration(milliseconds range: ClosedRange<Int>) -> Self {
        Self(
            allowed: "a time with its unit, from \(formatted(milliseconds: range.lowerBound)) "
                + "to \(formatted(milliseconds: range.upperBound))",
            parse: { text in
                guard let milliseconds = scaled(text, by: timeUnits), range.contains(milliseconds) else { return nil }
                return .milliseconds(milliseconds)
            },
            format: { duration in
                let (seconds, attoseconds) = duration.components
                return formatted(milliseconds: Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
            }
        )
    }
}

extension ConfigurationForm where Value == Bool {
    static let truth = Self(
        allowed: "true or false",
        parse: { ["true": true, "false": false][$0] },
        format: { $0 ? "true" : "false" }
    )
}

extension ConfigurationForm where Value == String {
    /// Any text without control characters, up to 4,096 bytes. `allowed` describes it.
    static func text(_ allowed: String) -> Self {
        Self(
            allowed: allowed,
            parse: { text in
                let isClean = !text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
                return isClean && (1...4096).contains(text.utf8.count) ? text : nil
            },
            format: { $0 }
        )
    }

    static let path = text("the path of a file")

    /// Scheme, host and perhaps port and path; the slash at the end is dropped. Without TLS on this machine only.
    static let gatewayURL = Self(
        allowed: "an https URL without query, or an http URL of this machine",
        parse: { text in
            guard text.utf8.count <= 2048, let url = URL(string: text), url.query == nil, url.fragment == nil,
                url.user == nil, let host = url.host, !host.isEmpty
            else { return nil }
            switch url.scheme {
            case "https": break
            case "http":
                guard isLoopback(host: host.filter { $0 != "[" && $0 != "]" }) else { return nil }
            default: return nil
            }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        },
        format: { $0 }
    )

    /// 1 to 64 letters and digits. `allowed` describes them.
    static func identifier(_ allowed: String) -> Self {
        Self(
            allowed: allowed,
            parse: { text in
                let isIdentifier = text.utf8.allSatisfy { byte in
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                }
                return isIdentifier && (1...64).contains(text.utf8.count) ? text : nil
            },
            format: { $0 }
        )
    }
}

extension ConfigurationForm where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the names of an enumeration, exactly as written.
    static var choice: Self {
        let names = Value.allCases.map(\.rawValue)
        return Self(
            allowed: "one of \(names.joined(separator: ", "))",
            parse: { Value(rawValue: $0) },
            format: { $0.rawValue }
        )
    }
}

private let byteUnits: [(name: String, factor: Int)] = [
    ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1),
]

private let timeUnits: [(name: String, factor: Int)] = [
    ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1000),
]

private func formatted(bytes: Int) -> String {
    let unit = byteUnits.first { bytes >= $0.factor && bytes.isMultiple(of: $0.factor) }
    return "\(bytes / (unit?.factor ?? 1))\(unit?.name ?? "B")"
}

private func formatted(milliseconds: Int) -> String {
    for (name, factor) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)]
    where milliseconds >= factor && milliseconds.isMultiple(of: factor) {
        return "\(milliseconds / factor)\(name)"
    }
    return "\(milliseconds)ms"
}

/// `nil` unless the text is one to eighteen decimal digits.
func decimal(_ text: some StringProtocol) -> Int? {
    let isDecimal = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isDecimal && (1...18).contains(text.utf8.count) ? Int(text) : nil
}

private func scaled(_ text: String, by units: [(name: String, factor: Int)]) -> Int? {
    for (name, factor) in units where text.hasSuffix(name) {
        guard let number = decimal(text.dropLast(name.count)) else { continue }
        let (product, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : product
    }
    return nil
}
