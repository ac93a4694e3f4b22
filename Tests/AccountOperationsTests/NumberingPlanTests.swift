import AccountLinking
import AccountOperations
import Testing

struct NumberingPlanTests {
    @Test(arguments: [
        ("+16505553434", "+16505553434", "US"), ("+1 650-555-3434", "+16505553434", "US"),
        ("+44 (0)20 7183 8750", "+442071838750", "GB"), ("+886 912 345 678", "+886912345678", "TW"),
        ("+66.81.234.5678", "+66812345678", "TH"), ("+39 333 123 4567", "+393331234567", "IT"),
        ("+39 06 6982", "+39066982", "VA"),
        ("+49 175 1234567", "+491751234567", "DE"), ("+800 1234 5678", "+80012345678", "001"),
    ])
    func `an assignable number is converted to its canonical form`(
        typed: String,
        canonical: String,
        region: String
    ) throws {
        let dialable = try NumberingPlan.judge(typed).get()
        #expect(dialable.number.rawValue == canonical && dialable.region == region)
        #expect(try NumberingPlan.judge(canonical).get() == dialable)
    }

    @Test(arguments: [
        ("", PhoneNumberDefect.malformed), ("+", .malformed), ("16505553434", .malformed), ("+1a", .malformed),
        ("+1650555343\0", .malformed), ("+" + String(repeating: "9", count: 40), .malformed),
        ("+9991234567", .unknownCountryCode), ("+1650", .tooShort), ("+1650555343455", .tooLong),
        ("+15555550100", .unassigned), ("+447700900123", .unassigned),
    ])
    func `a number that cannot be assigned is refused with its defect`(typed: String, defect: PhoneNumberDefect) {
        #expect(NumberingPlan.judge(typed) == .failure(defect))
    }

    @Test func `many threads can judge numbers at once`() async {
        await withTaskGroup(of: Bool.self) { group in
            for index in 0..<512 {
                group.addTask { @concurrent in
                    let numbers = ["+16505553434", "+442071838750", "+886912345678", "+1650", "+9991234567"]
                    let first = NumberingPlan.judge(numbers[index % numbers.count])
                    return (0..<20).allSatisfy { _ in NumberingPlan.judge(numbers[index % numbers.count]) == first }
                }
            }
            for await agreed in group { #expect(agreed) }
        }
    }
}
