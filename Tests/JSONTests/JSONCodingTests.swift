import JSON
import Testing

struct JSONCodingTests {
    private struct Name: Codable, Hashable {
        var first: String
        var isShort = false
    }

    private struct Person: Codable, Hashable {
        enum CodingKeys: String, CodingKey {
            case name = "+name"
            case nickname = "+nickname"
            case age, isKnown, wants, friends
        }

        struct Nickname: Codable, Hashable { var nick: String }

        var name: Name
        var nickname: Nickname?
        var age: Int
        var isKnown: Bool
        var wants: Bool?
        var friends: [Name]
    }

    private static let ann = Person(
        name: Name(first: "Ann \"A\""),
        nickname: nil,
        age: 40,
        isKnown: false,
        wants: false,
        friends: [Name(first: "Bob", isShort: true)]
    )

    @Test func `an inlined value has its members in the object around it, and a listed name is omitted if false`()
        throws
    {
        var writer = JSONWriter()
        writer.value(encoding: Self.ann, omittingFalse: ["isShort", "wants"])
        let document: JSONValue = .object([
            "first": .string("Ann \"A\""), "age": .integer(40), "isKnown": .bool(false), "wants": .bool(false),
            "friends": .array([.object(["first": .string("Bob"), "isShort": .bool(true)])]),
        ])
        #expect(try JSONValue(parsing: writer.bytes) == document)
        #expect(try document.decode(Person.self) == Self.ann)
    }

    @Test func `every value survives a round trip`() throws {
        var known = Self.ann
        known.nickname = .init(nick: "A")
        known.isKnown = true
        known.wants = nil
        #expect(try JSONValue(encoding: known).decode(Person.self) == known)
        #expect(try JSONValue(encoding: [1.5, -2]).decode([Double].self) == [1.5, -2])
        #expect(try JSONValue(encoding: ["a": "b"]) == .object(["a": .string("b")]))
    }

    @Test func `a document that lacks a value or has a wrong type is refused`() {
        #expect(throws: DecodingError.self) { try JSONValue.object([:]).decode(Name.self) }
        #expect(throws: DecodingError.self) { try JSONValue.object(["first": .integer(1)]).decode(Name.self) }
        #expect(throws: DecodingError.self) { try JSONValue.array([.integer(300)]).decode([UInt8].self) }
        #expect(throws: DecodingError.self) { try JSONValue.string("a").decode(Name.self) }
    }
}
