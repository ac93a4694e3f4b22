import Foundation
import JSON
import Testing

@Suite struct JSONValueTests {
    @Test func `values of every kind survive a round trip`() throws {
        let text = #"{"a":[1,-2,9223372036854775807,1.5,true,false,null,"x"],"b":{"c":"é\"\\\n"}}"#
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(value["a"]?.array?[2].integer == .max)
        #expect(value["b"]?["c"]?.string == "é\"\\\n")
        #expect(try JSONValue(parsing: Array(value.text.utf8)) == value)
    }

    @Test(arguments: [
        "", "{", "{]", "nul", #"{"a":}"#, "\u{FEFF}{}x", "\u{FEFF}{}", "[1,]", #"{"a":1,}"#, "[,1]", "[1 2]", "{,}",
        #"{a:1}"#, #"{"a" 1}"#, "'a'", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "NaN", "Infinity", "1e400",
        "tru",
        "nulls", "1 2", "\"a", #""\x""#, #""\u12""#, #""\u12G4""#, "\"\n\"", "\"\u{1}\"", "\"\u{0}\"", "/**/1", "[",
        #"{"a":1"#, #""\"#, "\u{A0}1",
    ])
    func `malformed text is refused`(text: String) {
        #expect(throws: JSONValue.ParseFailure.malformed) { try JSONValue(parsing: Array(text.utf8)) }
    }

    @Test func `bytes that are not UTF-8 are refused`() {
        #expect(throws: JSONValue.ParseFailure.malformed) { try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
    }

    @Test(arguments: [
        [0x22, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC0, 0xAF, 0x22],
        [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0x22, 0xC3, 0x5C, 0x6E, 0x22], [0xFF],
    ])
    func `sequences that are not valid UTF-8 are refused`(bytes: [UInt8]) {
        #expect(throws: JSONValue.ParseFailure.malformed) { try JSONValue(parsing: bytes) }
    }

    @Test func `a surrogate pair is one character, a lone surrogate is refused`() throws {
        let pair = Array(#""\ud83d\uDE00\u00e9\u20AC""#.utf8)
        #expect(try JSONValue(parsing: pair) == .string("😀é€"))
        let halves = [
            #""\ud83d""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ude00\ud83d""#,
        ]
        for text in halves {
            #expect(throws: JSONValue.ParseFailure.malformed) { try JSONValue(parsing: Array(text.utf8)) }
        }
    }

    @Test func `every escape is decoded`() throws {
        let text = Array(#""\"\\\/\b\f\n\r\t""#.utf8)
        #expect(try JSONValue(parsing: text) == .string("\"\\/\u{8}\u{C}\n\r\t"))
    }

    private static let numbers: [(String, JSONValue)] = [
        ("0", .integer(0)), ("-0", .integer(0)), ("1.0", .integer(1)), ("1e3", .integer(1000)),
        ("-1.5E-1", .double(-0.15)), ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .double(9_223_372_036_854_775_808)),
    ]

    @Test(arguments: numbers)
    func `a number is an integer if it fits in 64 bits, otherwise a double`(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)) == value)
    }

    @Test func `the first of repeated names wins, and white space is ignored`() throws {
        let text = " {\r\n\t\"a\" : 1 , \"a\":2, \"b\" : [ ] , \"c\":{ } } "
        #expect(
            try JSONValue(parsing: Array(text.utf8)) == .object(["a": .integer(1), "b": .array([]), "c": .object([:])])
        )
    }

    @Test func `nesting deeper than 64 is refused`() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        _ = try JSONValue(parsing: nested(64))
        #expect(throws: JSONValue.ParseFailure.tooDeep) { try JSONValue(parsing: nested(65)) }
        #expect(throws: JSONValue.ParseFailure.tooDeep) { try JSONValue(parsing: nested(500_000)) }
        // Brackets inside a string do not nest.
        _ = try JSONValue(parsing: Array(("\"" + String(repeating: "[", count: 100) + "\\\"[\"").utf8))
    }

    @Test func `the character NUL is refused in names and values`() {
        for text in [#"{"a":"\u0000"}"#, #"{"\u0000":1}"#, #"[["x\u0000y"]]"#] {
            #expect(throws: JSONValue.ParseFailure.containsNUL) { try JSONValue(parsing: Array(text.utf8)) }
        }
    }

    @Test func `absent fields are omitted, and the order of fields is preserved`() {
        let bytes = JSONWriter.object { writer in
            writer.field("z", "1")
            writer.field("a", nil as String?)
            writer.field("n", decimalString: 5)
            writer.field("list", ["x", "y"])
            writer.field("o", object: { writer in writer.field("t", true) })
        }
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"z":"1","n":"5","list":["x","y"],"o":{"t":true}}"#)
    }

    @Test func `integers have the format of Swift`() {
        for number in [0, 1, -1, 9, 10, 99, 100, -10, 1_763_839_800_123, .max, .min, .max - 1] as [Int64] {
            var bytes = Array("x".utf8)
            bytes.append(decimal: number)
            #expect(String(decoding: bytes, as: UTF8.self) == "x\(number)")
            let object = JSONWriter.object { writer in
                writer.field("n", number)
                writer.field("s", decimalString: number)
            }
            #expect(String(decoding: object, as: UTF8.self) == "{\"n\":\(number),\"s\":\"\(number)\"}")
        }
    }

    @Test(arguments: [(7, 4, "0007"), (12_345, 4, "12345"), (0, 2, "00"), (-7, 3, "-007")])
    func `integers are padded to the requested number of digits`(number: Int64, width: Int, text: String) {
        var bytes: [UInt8] = []
        bytes.append(decimal: number, width: width)
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test func `control characters are escaped and slashes are not`() {
        let bytes = JSONWriter.object { writer in writer.field("a", "/\u{1}\u{1F}\u{7F}\"\\") }
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":"/\u0001\u001f\u007f\"\\"}"#)
    }
}

@Suite struct JSONDocumentsTests {
    @Test func `several documents are written with a separator`() {
        var writer = JSONWriter()
        for number in 0..<3 {
            writer.object { writer in
                writer.name("list")
                writer.array { writer in for _ in 0..<number { writer.string("x") } }
                writer.field("n", Int64(number))
            }
            writer.between("\n")
        }
        #expect(writer.text == "{\"list\":[],\"n\":0}\n{\"list\":[\"x\"],\"n\":1}\n{\"list\":[\"x\",\"x\"],\"n\":2}\n")
    }
}

@Suite struct Base64URLTests {
    @Test func `the standard alphabet with padding matches Foundation`() {
        for length in 0...70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 59 &+ 251) }
            let padded = Base64URL.encodePadded(bytes)
            #expect(padded == Data(bytes).base64EncodedString())
            #expect(Base64URL.encodeStandardAlphabet(bytes) == String(padded.prefix { $0 != "=" }))
        }
    }

    @Test func `every length survives a round trip`() {
        for length in 0...70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test func `the vectors of RFC 4648 are encoded without padding`() {
        for (plain, encoded) in [("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")]
        {
            #expect(Base64URL.encode(Array(plain.utf8)) == encoded)
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test(arguments: ["Z", "Zg==", "Zm9+", "Zm9/", "Zm 9", "Zh", "Zm9"])
    func `only the canonical encoding is decoded`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
