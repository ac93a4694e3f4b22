package import Tracing

/// The place of a span in a trace, as `traceparent` and `tracestate` carry it (W3C Trace Context).
package struct TraceContext: Sendable, Hashable {
    /// 16 bytes, not all 0.
    package struct TraceID: Sendable, Hashable {
        package let high: UInt64
        package let low: UInt64

        package init?(high: UInt64, low: UInt64) {
            guard high != 0 || low != 0 else { return nil }
            self.high = high
            self.low = low
        }

        /// 32 hexadecimal digits.
        package var text: String { hexadecimal([high, low]) }
    }

    /// 8 bytes, not all 0.
    package struct SpanID: Sendable, Hashable {
        package let bits: UInt64

        package init?(bits: UInt64) {
            guard bits != 0 else { return nil }
            self.bits = bits
        }

        /// 16 hexadecimal digits.
        package var text: String { hexadecimal([bits]) }
    }

    package static let parentField = "traceparent"
    package static let stateField = "tracestate"
    /// A longer `tracestate` is dropped (W3C Trace Context §3.3.1.5 asks for at least this length).
    private static let stateBytesMax = 512

    package let trace: TraceID
    package let span: SpanID
    /// True if the spans of the trace are exported.
    package let isSampled: Bool
    /// The `tracestate` that came with the trace, unchanged.
    package let state: String?

    package init(trace: TraceID, span: SpanID, isSampled: Bool, state: String? = nil) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
        self.state = state
    }

    /// The context that a request carries; `nil` if `parents` is not one valid value (W3C Trace Context §3.2).
    package init?(parents: [String], states: [String] = []) {
        guard parents.count == 1 else { return nil }
        let text = Array(parents[0].utf8)
        guard text.count >= 55, text[2] == hyphen, text[35] == hyphen, text[52] == hyphen,
            let version = number(text[0..<2]), let flags = number(text[53..<55]),
            let high = number(text[3..<19]), let low = number(text[19..<35]), let bits = number(text[36..<52]),
            let trace = TraceID(high: high, low: low), let span = SpanID(bits: bits)
        else { return nil }
        // Version 00 ends here, 255 is invalid, and later versions may add parts.
        guard version != 0xFF, text.count == 55 || version != 0 && text[55] == hyphen else { return nil }
        let state = states.joined(separator: ",")
        let isUsable =
            (1...Self.stateBytesMax).contains(state.utf8.count) && state.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        self.init(trace: trace, span: span, isSampled: flags & 1 == 1, state: isUsable ? state : nil)
    }

    /// The value of `traceparent` for a call that this span makes.
    package var parent: String { "00-\(trace.text)-\(span.text)-\(isSampled ? "01" : "00")" }
}

extension ServiceContext {
    private enum TraceKey: ServiceContextKey {
        typealias Value = TraceContext
    }

    /// The place of the current span in its trace.
    package var trace: TraceContext? {
        get { self[TraceKey.self] }
        set { self[TraceKey.self] = newValue }
    }
}

private let hyphen = UInt8(ascii: "-")

/// The number of at most 16 hexadecimal digits in lower case; `nil` if another byte is among them.
private func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
    var result: UInt64 = 0
    for digit in digits {
        let value: UInt8
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
        default: return nil
        }
        result = result << 4 | UInt64(value)
    }
    return result
}

/// 16 digits for each word.
private func hexadecimal(_ words: [UInt64]) -> String {
    var digits: [UInt8] = []
    digits.reserveCapacity(16 * words.count)
    for word in words {
        for shift in stride(from: 60, through: 0, by: -4) {
            let value = UInt8(truncatingIfNeeded: word >> UInt64(shift) & 0xF)
            digits.append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
        }
    }
    return String(decoding: digits, as: UTF8.self)
}
