import Testing

@testable import Postgres

/// Round trips of values as parameters and columns, in binary format.
@Suite(.timeLimit(.minutes(20))) struct ValueTests {
    private func roundTrip<Value: PostgresValue & Equatable>(_ values: [Value]) async throws {
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            for value in values {
                let back: [Value] = try connection.query("SELECT \(value)")
                #expect(back == [value])
                let none: Value? = nil
                let pair: [Pair<Value, Bool>] = try connection.query("SELECT \(value), \(none) IS NULL")
                #expect(pair.first?.first == value)
                #expect(pair.first?.second == true)
                let optional: [Value?] = try connection.query("SELECT \(none)")
                #expect(optional == [nil])
            }
        }
    }

    private func roundTrip<Element: PostgresValue & PostgresArrayElement & Equatable>(
        arraysOf elements: [Element]
    ) async throws {
        try await roundTrip([[], elements, elements + elements])
        try await roundTrip([[], elements.map(Optional.some), [nil] + elements.map(Optional.some) + [nil, nil]])
    }

    @Test func `Booleans survive a round trip`() async throws {
        try await roundTrip([true, false])
        try await roundTrip(arraysOf: [true, false])
    }

    @Test func `integers survive a round trip, extremes included`() async throws {
        try await roundTrip([Int16.min, -1, 0, 1, .max])
        try await roundTrip([Int32.min, -1, 0, 1, .max])
        try await roundTrip([Int64.min, -1, 0, 1, .max])
        try await roundTrip(arraysOf: [Int16.min, .max])
        try await roundTrip(arraysOf: [Int32.min, .max])
        try await roundTrip(arraysOf: [Int64.min, .max])
    }

    @Test func `doubles survive a round trip, extremes included`() async throws {
        try await roundTrip([
            0, -0.0, 1.5, .pi, .greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, -.infinity,
        ])
        try await roundTrip(arraysOf: [1.5, -.infinity])
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            let back: [Double] = try connection.query("SELECT \(Double.nan)")
            #expect(back.first?.isNaN == true)
        }
    }

    @Test func `text survives a round trip`() async throws {
        try await roundTrip([
            "", "a", "'; DROP TABLE users; --", "Zażółć 🦊 \u{10FFFF}\n\t", String(repeating: "x", count: 100_000),
        ])
        try await roundTrip(arraysOf: ["", "a", "NULL", "{\"}", "🦊"])
    }

    @Test func `bytes survive a round trip`() async throws {
        try await roundTrip([Bytes(), [0], Array(0...255), Bytes(repeating: 0, count: 70_000)])
        try await roundTrip([[Bytes](), [[]], [[0, 1], [], [255]]])
    }

    @Test func `timestamps survive a round trip, infinities and the year 1 included`() async throws {
        let values = [0, 1, -1, 946_684_800_000_000, 1_700_000_000_123_456, -62_135_596_800_000_000]
            .map { PostgresTimestamp(microsecondsSinceEpoch: $0) }
        try await roundTrip(values + [.infinity, .minusInfinity])
        try await roundTrip(arraysOf: values)
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            let text: [String] = try connection.query(
                "SELECT to_char(\(values[4]) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
            )
            #expect(text == ["2023-11-14 22:13:20.123456"])
            let impossible: [Int64] = [.min + 1, .min + 946_684_800_000_000, .min + 946_684_800_000_001]
            for microseconds in impossible {
                #expect(throws: PostgresError.self) {
                    let value = PostgresTimestamp(microsecondsSinceEpoch: microseconds)
                    let _: [PostgresTimestamp] = try connection.query("SELECT \(value)")
                }
            }
        }
    }

    @Test func `UUIDs and JSON documents survive a round trip`() async throws {
        try await roundTrip([PostgresUUID(high: 0, low: 0), PostgresUUID(high: .max, low: 1)])
        try await roundTrip(arraysOf: [PostgresUUID(high: 1, low: 2)])
        try await roundTrip([JSONText("null"), JSONText("{\"a\": [1, 2.5, \"é\"]}")])
        try await roundTrip(arraysOf: [JSONText("1"), JSONText("\"x\"")])
    }

    @Test func `other text types decode as text`() async throws {
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            let texts: [String] = try connection.query("SELECT 'a'::varchar(5) UNION ALL SELECT 'a'::name::varchar")
            #expect(texts == ["a", "a"])
            #expect(try connection.query("SELECT 'n'::name" as Query<String>) == ["n"])
            #expect(try connection.query("SELECT 'b '::char(2)" as Query<String>) == ["b "])
            #expect(try connection.query("SELECT ARRAY['v']::varchar[]" as Query<[String]>) == [["v"]])
        }
    }

    @Test func `a column of another type is an error that names it`() async throws {
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            #expect {
                let _: [Int32] = try connection.query("SELECT 1::int8 AS answer")
            } throws: { error in
                let error = error as? PostgresError
                return error?.code == .decoding && error?.message.contains("answer") == true
            }
            func expectDecodingError<Row: RowDecodable>(_ query: Query<Row>) {
                #expect {
                    _ = try connection.query(query)
                } throws: {
                    ($0 as? PostgresError)?.code == .decoding
                }
            }
            expectDecodingError("SELECT 1::int4" as Query<Int64>)
            expectDecodingError("SELECT 1::float4" as Query<Double>)
            expectDecodingError("SELECT '1'::json" as Query<JSONText>)
            expectDecodingError("SELECT now()::timestamp" as Query<PostgresTimestamp>)
            expectDecodingError("SELECT 'x'::bytea" as Query<String>)
            expectDecodingError("SELECT ARRAY[1]::int4[]" as Query<[Int64]>)
            expectDecodingError("SELECT NULL::int8" as Query<Int64>)
            expectDecodingError("SELECT ARRAY[1, NULL]::int8[]" as Query<[Int64]>)
            expectDecodingError("SELECT ARRAY[[1], [2]]::int8[]" as Query<[Int64]>)
            expectDecodingError("SELECT 1::int8, 2::int8" as Query<Int64>)
            expectDecodingError("SELECT 1::int8" as Query<Pair<Int64, Int64>>)
        }
    }

    @Test func `a truncated value is an error and not a crash`() throws {
        func decode<Value: PostgresValue>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
            try Value(decoding: bytes.span.bytes)
        }
        var array = ParameterBuffer()
        [Int64(1), 2].encode(into: &array)
        #expect(try decode([Int64].self, array.bytes) == [1, 2])
        for length in 0..<array.bytes.count {
            #expect(throws: PostgresError.self) { try decode([Int64].self, Array(array.bytes.prefix(length))) }
        }
        #expect(throws: PostgresError.self) { try decode(Bool.self, []) }
        #expect(throws: PostgresError.self) { try decode(Int64.self, [1, 2, 3]) }
        #expect(throws: PostgresError.self) { try decode(PostgresUUID.self, [1]) }
        #expect(throws: PostgresError.self) { try decode(JSONText.self, []) }
        #expect(throws: PostgresError.self) { try decode(JSONText.self, [2, 0x31]) }
        // A count of more elements than there are bytes must not reserve memory for them.
        let boasting: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1]
        #expect(throws: PostgresError.self) { try decode([Int64].self, boasting) }
    }

    @Test func `a string with U+0000 is refused by the server`() async throws {
        let configuration = try TestCluster.shared.get().configuration()
        try await PostgresConnection.withConnection(configuration) { connection in
            #expect {
                let _: [String] = try connection.query("SELECT \("a\0b")")
            } throws: {
                ($0 as? PostgresError)?.code == .server("22021")
            }
        }
    }
}
