package import AccountLinking
import AccountStore
import Glibc
import Postgres

/// The clock and the random source. With the network, they are all that tests replace.
package struct Effects: Sendable {
    package var now: @Sendable () -> Timestamp
    /// `count` bytes fit for secrets.
    package var randomBytes: @Sendable (_ count: Int) -> [UInt8]

    package init(now: @escaping @Sendable () -> Timestamp, randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8]) {
        self.now = now
        self.randomBytes = randomBytes
    }

    /// The machine's clock and the system's cryptographic generator.
    package static let system = Effects(
        now: {
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
        },
        randomBytes: { count in
            // Whole words, because each number drawn is a system call.
            var generator = SystemRandomNumberGenerator()
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count)
            while bytes.count < count {
                var word = generator.next()
                for _ in 0..<min(8, count - bytes.count) {
                    bytes.append(UInt8(truncatingIfNeeded: word))
                    word >>= 8
                }
            }
            return bytes
        }
    )

    /// A random 52-bit number: the first session epoch of a new user. Exact in any JSON reader.
    func newSessionEpoch() -> Int64 {
        randomBytes(8).reduce(0) { $0 << 8 | Int64($1) } & 0x000F_FFFF_FFFF_FFFF
    }

    /// A random identifier of 28 letters and digits (166 bits), in the form of `localId`.
    func newLocalID() -> String {
        var id: [UInt8] = []
        while id.count < 28 {
            // Values past the last multiple of 62 would favour the first letters.
            for byte in randomBytes(40) where byte < 248 && id.count < 28 {
                id.append(Self.lettersAndDigits[Int(byte) % 62])
            }
        }
        return String(decoding: id, as: UTF8.self)
    }

    func newDigits(_ count: Int) -> String {
        var digits = ""
        while digits.count < count {
            // Values past the last multiple of 10 would favour the first digits.
            for byte in randomBytes(count) where byte < 250 && digits.count < count { digits += String(byte % 10) }
        }
        return digits
    }

    /// A version 7 UUID (RFC 9562 §5.7): the time in milliseconds, then 74 random bits. Later ids are greater.
    func newEventID() -> AccountEvent.ID {
        let words = [randomBytes(2), randomBytes(8)].map { $0.reduce(0 as UInt64) { $0 << 8 | UInt64($1) } }
        return PostgresUUID(
            high: UInt64(bitPattern: now().millisecondsSinceEpoch) << 16 | words[0] & 0x0FFF | 0x7000,
            low: words[1] & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }

    private static let lettersAndDigits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8
    )
}
