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
    func `an instant has four digits of a year, two of what follows and three of a second`(
        microseconds: Int64,
        text: String
    ) {
        #expect(RFC3339.text(Timestamp(microsecondsSinceEpoch: microseconds)) == text)
    }
}
