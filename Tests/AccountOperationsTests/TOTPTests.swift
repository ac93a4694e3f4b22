import AccountLinking
import JSON
import Testing

@testable import AccountOperations

struct TOTPTests {
    private let totp = TOTP(secret: Array("12345678901234567890".utf8))

    /// RFC 4226, appendix D.
    @Test func `codes match RFC 4226`() {
        let expected = [
            "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
        ]
        #expect((0..<10).map { totp.code(ofStep: $0) } == expected)
    }

    /// RFC 6238, appendix B.
    @Test(
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)]
    )
    func `steps match RFC 6238`(seconds: Int64, expected: String) {
        let step = TOTP.step(at: Timestamp(secondsSinceEpoch: seconds))
        #expect(totp.code(ofStep: step, digits: 8) == expected)
        #expect(totp.code(ofStep: step) == expected.suffix(6))
    }

    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"),
        ("foobar", "MZXW6YTBOI"),
    ])
    func `secrets are encoded as in RFC 4648, without padding`(text: String, expected: String) {
        #expect(Base32.encode(Array(text.utf8)) == expected)
    }

    @Test func `a secret has 32 letters and digits`() {
        #expect(totp.sharedKey == "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
        #expect(TOTP(secret: Array(repeating: 255, count: TOTP.secretBytes)).sharedKey.utf8.count == 32)
    }

    /// Every skew from seven steps before to seven after, at the first and the last microsecond of a step.
    @Test(arguments: [0, 1, 5] as [Int64])
    func `a clock may be wrong by as many steps as the project allows, and no more`(adjacent: Int64) {
        let current: Int64 = 58_000_000
        let first = current * 30 * 1_000_000
        for instant in [first, first + 29_999_999] {
            let now = Timestamp(microsecondsSinceEpoch: instant)
            for skew in -7...7 as ClosedRange<Int64> {
                let code = totp.code(ofStep: current + skew)
                let step = totp.step(ofCode: code, at: now, adjacent: adjacent, after: nil)
                #expect(step == (abs(skew) <= adjacent ? current + skew : nil))
            }
        }
    }

    @Test func `an accepted step and earlier ones are not accepted again`() {
        let current: Int64 = 58_000_000
        let now = Timestamp(secondsSinceEpoch: current * 30)
        func step(_ step: Int64, after last: Int64) -> Int64? {
            totp.step(ofCode: totp.code(ofStep: step), at: now, adjacent: 1, after: last)
        }
        #expect(step(current, after: current) == nil)
        #expect(step(current - 1, after: current) == nil)
        #expect(step(current + 1, after: current) == current + 1)
        #expect(step(current, after: current - 1) == current)
    }

    @Test(arguments: ["", "1", "12345", "1234567", "abcdef", "755 224", "\u{0667}55224"])
    func `a text that is not a code is refused`(code: String) {
        #expect(totp.step(ofCode: code, at: Timestamp(secondsSinceEpoch: 0), adjacent: 10, after: nil) == nil)
    }

    @Test func `no step precedes the first`() {
        let now = Timestamp(secondsSinceEpoch: 0)
        #expect(totp.step(ofCode: "755224", at: now, adjacent: 10, after: nil) == 0)
        #expect(TOTP.step(at: Timestamp(secondsSinceEpoch: -31)) == 0)
    }
}
