extension SQL {
    /// Returns the text with its values as literals, for statements that take no parameters.
    /// - `quote`: makes a literal of a text; `nil` if the text cannot be one.
    /// - Throws: `.misuse` for a value of a type that is not among those below.
    func textWithLiterals(_ quote: (String) -> String?) throws(PostgresError) -> String {
        let types = types
        return try shape.text { (index: Int) throws(PostgresError) -> String in
            try literal(parameters[index], type: types[index], quote)
        }
    }

    private func literal(
        _ parameter: Parameter,
        type: UInt32,
        _ quote: (String) -> String?
    ) throws(PostgresError) -> String {
        guard let length = parameter.valueLength else { throw PostgresError(.misuse, "NULL cannot be a literal") }
        let bytes = values.bytes[Int(parameter.valueOffset)..<Int(parameter.valueOffset + length)].span.bytes
        switch type {
        case String.typeOID:
            let text = bytes.text()
            guard !text.utf8.contains(0), let literal = quote(text) else { throw PostgresError(.misuse, "not a text") }
            return "\(literal)::text"
        case Bool.typeOID:
            return try Bool(decoding: bytes) ? "true" : "false"
        case Int64.typeOID:
            return "'\(try Int64(decoding: bytes))'::bigint"
        case PostgresTimestamp.typeOID:
            let microseconds = try PostgresTimestamp(decoding: bytes).microsecondsSinceEpoch
            return "(timestamptz '1970-01-01 00:00:00Z' + interval '\(microseconds) microseconds')"
        default:
            throw PostgresError(.misuse, "a value of type \(type) cannot be a literal")
        }
    }
}
