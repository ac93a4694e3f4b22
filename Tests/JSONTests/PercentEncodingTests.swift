import JSON
import Testing

struct PercentEncodingTests {
    @Test(
        arguments: [
            ("a=1&b=2", ["a": "1", "b": "2"]), ("a=1&a=2", ["a": "1"]), ("a", ["a": ""]), ("a=", ["a": ""]),
            ("=x", ["": "x"]), ("&&a=b=c&", ["a": "b=c"]), ("", [:]), ("%61=%C3%A9", ["a": "é"]),
            ("a=%FF&b=%4&c=%zz&d=1", ["d": "1"]), ("a=b+c", ["a": "b+c"]),
        ] as [(String, [String: String])]
    )
    func `pairs are decoded, and malformed ones are omitted`(text: String, expected: [String: String]) {
        #expect(PercentEncoding.pairs(Array(text.utf8), plusIsSpace: false) == expected)
    }

    @Test func `in a form a plus is a space`() {
        #expect(PercentEncoding.pairs(Array("a+b=c+%2B".utf8), plusIsSpace: true) == ["a b": "c +"])
    }

    @Test(
        arguments: [
            ("a=%2Bb+c%20d", "+b c d"), ("a=%7b%7D", "{}"), ("a=%zz%4", "%zz%4"), ("a=%", "%"), ("a=x&a=y", "y"),
            ("a=%FF", "\u{FFFD}"), ("&&a=b==&&", "b=="),
        ]
    )
    func `malformed escapes are unchanged, as in browsers`(text: String, expected: String) {
        #expect(PercentEncoding.pairsAsInBrowsers(Array(text.utf8)) == ["a": expected])
    }

    @Test func `pairs are added at the end of the query of a URL`() {
        let pairs = [(name: "a", value: "b&c"), (name: "d", value: "")]
        #expect(PercentEncoding.adding(pairs, to: "https://example.com/") == "https://example.com/?a=b%26c&d=")
        #expect(PercentEncoding.adding(pairs, to: "https://example.com?x") == "https://example.com?x&a=b%26c&d=")
    }

    @Test func `every text survives a round trip`() {
        let text = "aZ09-._~ +&=%/?é\u{1F600}\u{0}"
        let encoded = PercentEncoding.encode(text)
        #expect(encoded == "aZ09-._~%20%2B%26%3D%25%2F%3F%C3%A9%F0%9F%98%80%00")
        #expect(PercentEncoding.decode(Array(encoded.utf8)[...]) == text)
    }
}
