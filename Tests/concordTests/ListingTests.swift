import JSON
import Testing

@testable import concord

struct ListingTests {
    private static var listing: Listing<(name: String, age: Int64?)> {
        Listing(
            [
                .init("name", "NAME") { .string($0.name) },
                .init("age", "AGE") { $0.age.map { .integer($0) } },
                .init("isAdult", nil) { .bool(($0.age ?? 0) >= 18) },
            ],
            none: "there is no one"
        )
    }

    @Test func `columns are declared once for the table and for JSON`() {
        let rows: [(name: String, age: Int64?)] = [("Ada", 36), ("Bob", nil)]
        #expect(Self.listing.table(rows) == "NAME  AGE\nAda   36\nBob   -")
        #expect(
            Self.listing.json(rows)
                == #"[{"age":36,"isAdult":true,"name":"Ada"},{"isAdult":false,"name":"Bob"}]"#
        )
        #expect(Self.listing.object(rows[0]).text == #"{"age":36,"isAdult":true,"name":"Ada"}"#)
    }

    @Test func `a row can have the JSON of a route`() {
        let listing = Listing<Int>([.init("number", "NUMBER") { .integer(Int64($0)) }], document: { #"{"n":\#($0)}"# })
        #expect(listing.table([7]) == "NUMBER\n7")
        #expect(listing.json([7, 8]) == #"[{"n":7},{"n":8}]"#)
    }

    @Test func `an empty list is a sentence for people and an empty array for programs`() {
        #expect(Self.listing.table([]) == "there is no one")
        #expect(Self.listing.json([]) == "[]")
        #expect(Listing<Int>([.init("number", "NUMBER") { .integer(Int64($0)) }]).table([]) == nil)
    }
}
