import Testing

@testable import JSON

struct HexadecimalTests {
    @Test func `every byte is two lower-case digits`() {
        #expect(Hexadecimal.encode([0x00, 0x0F, 0xA0, 0xFF]) == "000fa0ff")
        #expect(Hexadecimal.encode([]).isEmpty)
    }

    @Test func `digits are read in either case, other characters are refused`() {
        let values = (UInt8.min...UInt8.max).compactMap { byte in Hexadecimal.value(of: byte).map { (byte, $0) } }
        #expect(values.map { UnicodeScalar($0.0) }.map(String.init).joined() == "0123456789ABCDEFabcdef")
        #expect(values.map(\.1) == Array(0...9) + Array(10...15) + Array(10...15))
    }
}

struct SnakeCaseTests {
    @Test(arguments: [("localId", "local_id"), ("iOSBundleId", "i_o_s_bundle_id"), ("a", "a"), ("", "")])
    func `every capital begins a word`(name: String, expected: String) {
        #expect(name.snakeCase == expected)
    }
}
