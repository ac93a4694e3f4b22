import Testing

@testable import concord

struct TextTableTests {
    @Test func `columns are aligned, and no line ends with a space`() {
        let rows = [["N", "NAME", "NOTE"], ["1", "a", ""], ["12", "ünder", "x y"], ["", "", ""]]
        #expect(TextTable.lines(rows) == ["N   NAME   NOTE", "1   a", "12  ünder  x y", ""])
        #expect(TextTable.lines(rows, rightAligned: 1) == [" N  NAME   NOTE", " 1  a", "12  ünder  x y", ""])
        #expect(TextTable.text([("id", "1"), ("state", "")]) == "id     1\nstate")
        #expect(TextTable.lines([]).isEmpty)
    }

    @Test func `the name of the text format may also be table`() {
        #expect(OutputFormat(argument: "table") == .text)
        #expect(OutputFormat(argument: "text") == .text && OutputFormat(argument: "json") == .json)
        #expect(OutputFormat(argument: "csv") == nil)
    }
}
