package import NIOHTTP1

/// The id of a request in its answer and in log lines: the client's `X-Request-Id`, or a random one.
package struct RequestID: Sendable, Hashable {
    package static let fieldName = "X-Request-Id"
    package static let lengthMax = 128

    /// The id of the request that the current task answers; `nil` outside of requests.
    @TaskLocal package static var current: RequestID?

    package let text: String

    /// The id that the client sent. If it sent none, several or a malformed one, the id is random.
    package init(_ headers: HTTPHeaders) {
        let sent = headers[Self.fieldName]
        if sent.count == 1, Self.isValid(sent[0]) {
            text = sent[0]
        } else {
            text = Self.random()
        }
    }

    /// Returns true for 1 to 128 letters, digits, `.`, `_` and `-`: an id can neither end a log line nor look like an
    /// e-mail address.
    private static func isValid(_ text: String) -> Bool {
        (1...lengthMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// 32 hexadecimal digits.
    private static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        var text: [UInt8] = []
        text.reserveCapacity(32)
        for var word in [generator.next(), generator.next()] {
            for _ in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: word & 0xF)
                text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                word >>= 4
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
