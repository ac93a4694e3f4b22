import JSON

/// The fields of a request, read by their declared names: unknown fields are ignored, `snake_case` is accepted for
/// declared names, `null` means absent, integers may be decimal strings (docs/reference/protocol.md, "Request
/// parsing").
struct RequestBody: Sendable {
    private let members: [String: JSONValue]
    /// True if some name can be a declared name in `snake_case`. Most requests have none, and spelling each declared
    /// name in `snake_case` to find that out costs more than parsing them.
    private let mayHaveSnakeCase: Bool

    static let empty = RequestBody(members: [:])

    init(members: [String: JSONValue]) {
        self.members = members
        mayHaveSnakeCase = members.keys.contains { $0.utf8.contains(UInt8(ascii: "_")) }
    }

    /// - Throws: `APIError` for anything but a JSON object; an empty body is an empty object.
    ///
    /// `depthMax`: the maximum nesting of arrays and objects.
    init(parsing bytes: [UInt8], depthMax: Int) throws(APIError) {
        guard !bytes.isEmpty else {
            self = .empty
            return
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, depthMax: depthMax)
        } catch {
            switch error {
            case .malformed: throw .malformedJSON("The body is not valid JSON.")
            case .tooDeep: throw .malformedJSON("The body is nested too deeply.")
            case .containsNUL: throw .containsNUL
            }
        }
        guard let members = value.object else { throw .malformedJSON("The body must be an object.") }
        self.init(members: members)
    }

    /// The names of the fields that were sent.
    var names: Set<String> { Set(members.keys) }

    /// All members of the body.
    var json: JSONValue { .object(members) }

    /// The value as sent, of any type; `nil` when absent or `null`.
    func value(_ name: String) -> JSONValue? {
        guard let value = sent(name), value != .null else { return nil }
        return value
    }

    private func sent(_ name: String) -> JSONValue? {
        members[name] ?? (mayHaveSnakeCase ? members[name.snakeCase] : nil)
    }

    /// Returns true if the field was sent as an explicit `null`.
    func isNull(_ name: String) -> Bool {
        sent(name) == .null
    }

    func string(_ name: String) throws(APIError) -> String? {
        guard let value = value(name) else { return nil }
        guard let string = value.string else { throw .invalidValue(at: name, expected: "TYPE_STRING") }
        return string
    }

    /// A string; an empty one counts as absent.
    func nonEmptyString(_ name: String) throws(APIError) -> String? {
        let string = try string(name)
        return string == "" ? nil : string
    }

    func bool(_ name: String) throws(APIError) -> Bool? {
        guard let value = value(name) else { return nil }
        switch value {
        case .bool(let bool): return bool
        case .string("true"): return true
        case .string("false"): return false
        default: throw .invalidValue(at: name, expected: "TYPE_BOOL")
        }
    }

    func integer(_ name: String) throws(APIError) -> Int64? {
        guard let value = value(name) else { return nil }
        switch value {
        case .integer(let integer): return integer
        case .string(let text):
            guard let integer = Int64(text) else { throw .invalidValue(at: name, expected: "TYPE_INT64") }
            return integer
        default: throw .invalidValue(at: name, expected: "TYPE_INT64")
        }
    }

    /// The fields of a nested message.
    func object(_ name: String) throws(APIError) -> RequestBody? {
        guard let value = value(name) else { return nil }
        guard let members = value.object else { throw .invalidValue(at: name, expected: "TYPE_MESSAGE") }
        return RequestBody(members: members)
    }

    func strings(_ name: String) throws(APIError) -> [String] {
        guard let value = value(name) else { return [] }
        // A single value is a list of one, as in protobuf's JSON form of query parameters.
        if let single = value.string { return [single] }
        guard let elements = value.array else { throw .invalidValue(at: name, expected: "TYPE_STRING") }
        var strings: [String] = []
        for element in elements {
            guard let string = element.string else { throw .invalidValue(at: name, expected: "TYPE_STRING") }
            strings.append(string)
        }
        return strings
    }

    /// A member of an enumeration, by its name or by its number, which is its index in `names`.
    func enumeration(_ name: String, _ names: [String]) throws(APIError) -> String? {
        guard let value = value(name) else { return nil }
        return try Self.member(value, of: names, field: name)
    }

    /// A list of members of an enumeration.
    func enumerations(_ name: String, _ names: [String]) throws(APIError) -> [String] {
        guard let value = value(name) else { return [] }
        var members: [String] = []
        for element in value.array ?? [value] { members.append(try Self.member(element, of: names, field: name)) }
        return members
    }

    private static func member(
        _ value: JSONValue,
        of names: [String],
        field: String
    ) throws(APIError) -> String {
        if let text = value.string, names.contains(text) { return text }
        let number = value.integer ?? value.string.flatMap { Int64($0) }
        if let number, let index = Int(exactly: number), names.indices.contains(index) { return names[index] }
        throw .invalidValue(at: field, expected: "TYPE_ENUM")
    }

    /// A list of objects, each read by the same rules.
    func objects(_ name: String) throws(APIError) -> [RequestBody] {
        guard let value = value(name) else { return [] }
        guard let elements = value.array else { throw .invalidValue(at: name, expected: "TYPE_MESSAGE") }
        var objects: [RequestBody] = []
        for element in elements {
            guard let members = element.object else { throw .invalidValue(at: name, expected: "TYPE_MESSAGE") }
            objects.append(RequestBody(members: members))
        }
        return objects
    }

    /// A text of at most `lengthMax` characters; an empty one counts as absent.
    func nonEmptyString(_ name: String, lengthMax: Int) throws(APIError) -> String? {
        let text = try string(name, lengthMax: lengthMax)
        return text == "" ? nil : text
    }

    /// A text of at most `lengthMax` characters.
    func string(_ name: String, lengthMax: Int) throws(APIError) -> String? {
        guard let text = try string(name) else { return nil }
        guard text.unicodeScalars.count <= lengthMax else {
            throw .invalidValue(at: name, expected: "at most \(lengthMax) characters")
        }
        return text
    }
}
