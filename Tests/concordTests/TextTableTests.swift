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

    @Test func `the widest columns are cut with a sign until a line fits the terminal`() {
        let rows = [["ID", "RULE", "FOUND"], ["0123456789abcdef", "a-rule-with-a-name", "address: ada@example.com"]]
        let lines = TextTable.lines(rows, fitting: 50)
        #expect(
            lines == ["ID                RULE             FOUND", "0123456789abcdef  a-rule-with-a-…  address: ada@e…"]
        )
        #expect(lines.allSatisfy { $0.displayWidth <= 50 })
        #expect(TextTable.lines(rows, fitting: 100) == TextTable.lines(rows))
        let narrow = TextTable.lines(rows, fitting: 35)
        #expect(narrow[1] == "0123456789abcdef  a-rule…  address…", "below 10 if need be")
        let tooNarrow = TextTable.lines(rows, fitting: 10)
        #expect(tooNarrow[1] == "0123456789abcdef  a-r…  add…", "an id is whole, and a column has 4 at least")
    }

    @Test func `wide and combining characters have the width that a terminal gives them`() {
        #expect("王小明".displayWidth == 6 && "e\u{301}".displayWidth == 1 && "👍".displayWidth == 2)
        #expect("ünder".displayWidth == 5 && "".displayWidth == 0)
        #expect("王小明".cut(to: 4) == "王…" && "王小明".cut(to: 5) == "王小…" && "abc".cut(to: 3) == "abc")
        #expect(TextTable.lines([["王", "x"], ["abc", "y"]]) == ["王   x", "abc  y"])
    }

    @Test func `the name of the text format may also be table`() {
        #expect(OutputFormat(argument: "table") == .text)
        #expect(OutputFormat(argument: "text") == .text && OutputFormat(argument: "json") == .json)
        #expect(OutputFormat(argument: "csv") == nil)
    }

    @Test func `colours follow the flag, the terminal and NO_COLOR`() {
        #expect(ColorMode.auto.isOn(isTerminal: true, environment: [:]))
        #expect(!ColorMode.auto.isOn(isTerminal: false, environment: [:]))
        #expect(!ColorMode.auto.isOn(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(!ColorMode.auto.isOn(isTerminal: true, environment: ["TERM": "dumb"]))
        #expect(ColorMode.always.isOn(isTerminal: false, environment: ["NO_COLOR": "1"]))
        #expect(!ColorMode.never.isOn(isTerminal: true, environment: [:]))
    }
}
