import AccountLinking
import AccountOperations
import Testing

struct RFC3339Tests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (1_750_000_000_250_999, "2025-06-15T15:06:40.250Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
        (4_107_542_399_009_000, "2100-02-28T23:59:59.009Z"), (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000Z"), (253_402_300_800_000_000, "10000-01-01T00:00:00.000Z"),
    ])
    func `an instant is written with milliseconds in UTC and with a year of at least four digits`(
        microseconds: Int64,
        text: String
    ) {
        #expect(RFC3339.text(Timestamp(microsecondsSinceEpoch: microseconds)) == text)
    }

    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("2025-06-15T15:06:40.25Z", 1_750_000_000_250_000),
        ("2025-06-15 17:06:40.2509991+02", 1_750_000_000_250_999), ("2025-06-15t10:36:40-04:30", 1_750_000_000_000_000),
        ("2000-02-29T00:00:00.000z", 951_782_400_000_000), ("2025-06-15 15:06:40+0000", 1_750_000_000_000_000),
    ])
    func `an instant is read in the forms of RFC 3339 and of PostgreSQL`(text: String, microseconds: Int64) {
        #expect(RFC3339.instant(text) == Timestamp(microsecondsSinceEpoch: microseconds))
    }

    @Test func `an instant survives writing and reading`() {
        for day in stride(from: 0 as Int64, to: 80_000, by: 13) {
            let instant = Timestamp(microsecondsSinceEpoch: day * 86_400_000_000 + 45_296_789_000)
            #expect(RFC3339.instant(RFC3339.text(instant)) == instant)
        }
    }

    @Test(arguments: [
        "", "2025", "2025-06-15", "2025-06-15T15:06:40", "2025-02-30T00:00:00Z", "2025-13-01T00:00:00Z",
        "2025-06-15T24:00:00Z", "2025-06-15T15:06:40.Z", "2025-06-15T15:06:40+", "2025-06-15T15:06:40+2:00:00",
        "1969-12-31T23:59:59Z", "2025-06-15X15:06:40Z", "2025-06-15T15:06:40Zx", "20x5-06-15T15:06:40Z",
    ])
    func `other text is not an instant`(text: String) {
        #expect(RFC3339.instant(text) == nil)
    }
}
