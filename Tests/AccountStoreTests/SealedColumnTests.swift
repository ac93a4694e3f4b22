import AccountTestSupport
import Testing

@testable import AccountStore
@testable import Postgres

/// The list of columns with sealed values.
@Suite(.store)
struct SealedColumnTests {
    @Test func `every column of the schema whose name says sealed is listed`() async throws {
        let columns: Query<String?> = """
            SELECT table_name || '.' || column_name FROM information_schema.columns
            WHERE table_schema = 'public' AND column_name ~ '(^|_)sealed_' ORDER BY 1
            """
        let declared = try await StoreScene.shared.database.rows(columns).compactMap(\.self)
        #expect(declared.count >= 15)
        let listed = SealedColumn.allCases.map(\.rawValue).filter { !$0.hasPrefix("account_journal.") }
        #expect(declared.sorted() == listed.sorted())
    }

    @Test func `every column is read by its primary key`() async throws {
        for column in SealedColumn.allCases {
            let table = column.rawValue.prefix { $0 != "." }
            let key: Query<String?> = """
                SELECT a.attname::text FROM pg_index AS i
                JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place) ON true
                JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number
                WHERE i.indisprimary AND i.indrelid = \(String(table))::text::regclass ORDER BY k.place
                """
            let names = try await StoreScene.shared.database.rows(key).compactMap(\.self)
            #expect(column.key.map(\.name.text) == names, "\(column.rawValue)")
        }
    }

    @Test func `every statement about a sealed column is valid`() async throws {
        let scene = try StoreScene.shared
        for column in SealedColumn.allCases {
            let rows = try await scene.store.sealedRows(column, after: nil, rowsMax: 10, unlessPrefixed: [1, 1, 49])
            #expect(rows.isEmpty, "\(column.rawValue)")
            let forms: [SealedColumn.Part.Form: String] = [
                .text: "a", .hexadecimal: "00", .integer: "1", .uuid: "00000000-0000-4000-8000-000000000001",
            ]
            let place = try column.key.map { try #require(forms[$0.form]) }
            _ = try await scene.store.sealedRows(column, after: place, rowsMax: 10, unlessPrefixed: [1, 1, 49])
            #expect(try await scene.store.reseal(column, [ResealedValue(key: place, old: [1], new: [2])]) == 0)
        }
        #expect(try await scene.store.sealedCounts() == [])
    }
}
