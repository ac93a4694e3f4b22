import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(20))) struct SQLTests {
    @Test func `an interpolated value becomes a parameter`() {
        let statement: SQL = "SELECT id FROM users WHERE email = \("a'b") AND age > \(Int64(7))"
        #expect(statement.text == "SELECT id FROM users WHERE email = $1 AND age > $2")
        #expect(statement.types == [25, 20])
        #expect(statement.values.bytes == Array("a'b".utf8) + [0, 0, 0, 0, 0, 0, 0, 7])
        #expect(statement.parameters.map(\.valueOffset) == [0, 3])
        #expect(statement.parameters.map(\.valueLength) == [3, 8])
    }

    @Test func `nil binds NULL with the type of its optional`() {
        let none: Int32? = nil
        let statement: SQL = "VALUES (\(none), \(Int32?.some(1)))"
        #expect(statement.text == "VALUES ($1, $2)")
        #expect(statement.types == [23, 23])
        #expect(statement.parameters.map(\.valueLength) == [nil, 4])
    }

    @Test func `statements that insert one row each are merged into one that inserts all rows`() throws {
        func insert(_ id: Int16, _ name: String?) -> SQL {
            "INSERT INTO t (id, name) VALUES \(row: "(\(id), lower(\(name)))") ON CONFLICT DO NOTHING"
        }
        let first = insert(1, "one")
        #expect(first.text == "INSERT INTO t (id, name) VALUES ($1, lower($2)) ON CONFLICT DO NOTHING")
        guard case .row(let row) = first.mergePoint else { throw PostgresError(.misuse, "no row") }
        let all = SQL.merging(rowsOf: [first, insert(2, nil), insert(3, "three")], at: row)
        #expect(
            all.text == """
                INSERT INTO t (id, name) VALUES ($1, lower($2)), ($3, lower($4)), ($5, lower($6)) ON CONFLICT DO NOTHING
                """
        )
        #expect(all.types == [21, 25, 21, 25, 21, 25])
        #expect(all.parameters.map(\.valueLength) == [2, 3, 2, nil, 2, 5])
        #expect(all.parameters.map(\.valueOffset) == [0, 2, 5, 7, 7, 9])
        #expect(all.values.bytes == [0, 1] + Array("one".utf8) + [0, 2] + [0, 3] + Array("three".utf8))
        #expect(SQL.merging(rowsOf: [first], at: row).shape == first.shape)
        let other = SQL.merging(rowsOf: [insert(7, "x"), insert(8, "y"), insert(9, nil)], at: row)
        #expect(other.shape == all.shape, "as many rows are the same statement")
    }

    @Test func `an interpolated fragment is spliced and its parameters are renumbered`() {
        let columns: SQL = "a, b"
        let condition: SQL = "x = \(Int16(1)) AND y = \("two")"
        let statement: SQL = "SELECT \(columns) FROM t WHERE z = \(true) AND (\(condition)) LIMIT \(Int64(3))"
        #expect(statement.text == "SELECT a, b FROM t WHERE z = $1 AND (x = $2 AND y = $3) LIMIT $4")
        #expect(statement.types == [16, 21, 25, 20])
        #expect(statement.values.bytes == [1, 0, 1] + Array("two".utf8) + [0, 0, 0, 0, 0, 0, 0, 3])
        #expect(statement.parameters.map(\.valueOffset) == [0, 1, 3, 6])
    }

    @Test func `placeholders are renumbered in nested fragments`() {
        let inner: SQL = "é = \(Int16(1))"
        let middle: SQL = "\(inner) OR \(inner)"
        let outer: SQL = "q = \(Int16(0)) AND \(middle) AND \(middle)"
        #expect(outer.text == "q = $1 AND é = $2 OR é = $3 AND é = $4 OR é = $5")
        #expect(outer.types.count == 5)
        var appended: SQL = "v = \(Int16(9)), "
        appended.append(outer)
        #expect(appended.text == "v = $1, q = $2 AND é = $3 OR é = $4 AND é = $5 OR é = $6")
        #expect(appended.parameters.map(\.valueOffset) == [0, 2, 4, 6, 8, 10])
    }

    @Test func `placeholders of ten and more are renumbered`() {
        var eleven = SQL(literal: "")
        for number in 0..<11 { eleven.append("\(Int16(number)) ") }
        let statement: SQL = "\(Int16(99)) \(eleven)end"
        #expect(statement.text == "$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 end")
        let twice: SQL = "\(statement), \(statement)"
        #expect(
            twice.text
                == "$1 $2 $3 $4 $5 $6 $7 $8 $9 $10 $11 $12 end, $13 $14 $15 $16 $17 $18 $19 $20 $21 $22 $23 $24 end"
        )
        #expect(twice.parameters.map(\.valueOffset) == (0..<24).map { Int32($0 * 2) })
    }

    @Test func `a dollar sign in a literal is unchanged`() {
        let fragment: SQL = "note = '$1' AND x = \(Int16(1))"
        let statement: SQL = "y = \(Int16(2)) AND \(fragment)"
        #expect(statement.text == "y = $1 AND note = '$1' AND x = $2")
    }

    @Test func `equal text with other types is another prepared statement`() {
        let catalog = StatementCatalog(namesMax: 2)
        let first: SQL = "SELECT \(Int64(1))"
        let same: SQL = "SELECT \(Int64(2))"
        let other: SQL = "SELECT \(1.0)"
        let third: SQL = "SELECT \(true)"
        #expect(catalog.name(of: first)?.text == "c0")
        #expect(catalog.name(of: same)?.text == "c0")
        #expect(catalog.name(of: other)?.text == "c1")
        #expect(catalog.name(of: third) == nil, "a full catalog gives out no names")
        #expect(catalog.name(of: first)?.text == "c0")
    }

    @Test func `equal text is one prepared statement for any division into pieces`() {
        let catalog = StatementCatalog(namesMax: 10)
        let whole: SQL = "SELECT a FROM t WHERE b = \(Int64(1))"
        let columns: SQL = "a FROM t"
        let spliced: SQL = "SELECT \(columns) WHERE b = \(Int64(2))"
        var appended: SQL = "SELECT a FROM t WHERE b = "
        appended.append("\(Int64(3))")
        #expect(spliced.shape != whole.shape)
        #expect([whole, spliced, appended].map { catalog.name(of: $0)?.number } == [0, 0, 0])
        // The second look-up finds them by their pieces.
        #expect([whole, spliced, appended].map { catalog.name(of: $0)?.number } == [0, 0, 0])
    }

    @Test func `a statement differs from a longer one with the same beginning`() {
        let catalog = StatementCatalog(namesMax: 10)
        let statements: [SQL] = [
            "SELECT a", "SELECT a\(Int64(1))", "SELECT a\(Int32(1))", "\(Int64(1))SELECT a",
            "SELECT a\(Int64(1))\(Int64(1))", SQL(text: "SELECT b"), SQL(text: "SELECT c"), "",
        ]
        let numbers = statements.map { catalog.name(of: $0)?.number }
        #expect(numbers == Array(statements.indices))
        #expect(statements.map { catalog.name(of: $0)?.number } == numbers)
    }

    @Test func `a full catalog still finds its statements for any division into pieces`() {
        let catalog = StatementCatalog(namesMax: 1)
        #expect(catalog.name(of: "1 1 1 1 1")?.number == 0)
        let one: SQL = "1"
        let pair: SQL = "1 \(one)"
        for statement: SQL in ["\(pair) \(pair) 1", "1 \(pair) \(pair)", "\(one) 1 1 1 1", "1 1 1 1 \(one)"] {
            #expect(catalog.name(of: statement)?.number == 0)
        }
        #expect(catalog.name(of: pair) == nil)
    }

    @Test func `a batch keeps its statements in order`() {
        var batch = WriteBatch("test")
        #expect(batch.isEmpty)
        batch.append("SELECT 1")
        batch.append("SELECT 2")
        #expect(batch.statements.map(\.text) == ["SELECT 1", "SELECT 2"])
    }
}
