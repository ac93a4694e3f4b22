import Foundation

@testable import ConcordAuth

/// The values of one journey: those that the player made up, by name.
struct VectorValues {
    var saved: [String: JSONValue] = [:]
    let now: @Sendable () -> Date

    /// A value of a request, an argument or an outcome: saved values put in.
    func fill(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let items): return .array(items.map(fill))
        case .object(let members):
            if let name = members["$use"]?.stringValue { return saved[name] ?? .string("no value \(name)") }
            if let parts = members["$text"]?.arrayValue {
                return .string(parts.map { fill($0).stringValue ?? "" }.joined())
            }
            return .object(members.mapValues(fill))
        default: return value
        }
    }

    /// A value of an answer: new values made up and saved.
    mutating func makeUp(_ value: JSONValue) -> JSONValue {
        saveSimple(value)
        saveTokens(value)
        return strip(fill(complete(value)))
    }

    /// Makes up the values that depend on no other.
    private mutating func saveSimple(_ value: JSONValue) {
        walk(value) { members, values in
            guard let name = members["$save"]?.stringValue, let form = members["is"]?.stringValue else { return }
            if form != "idToken" { values.saved[name] = values.example(form, members) }
        }
    }

    /// Makes up ID tokens, whose claims may use the other values.
    private mutating func saveTokens(_ value: JSONValue) {
        walk(value) { members, values in
            guard let name = members["$save"]?.stringValue, members["is"]?.stringValue == "idToken" else { return }
            values.saved[name] = values.example("idToken", members)
        }
    }

    private mutating func walk(
        _ value: JSONValue,
        _ visit: (_ members: [String: JSONValue], _ values: inout VectorValues) -> Void
    ) {
        switch value {
        case .array(let items): for item in items { walk(item, visit) }
        case .object(let members):
            visit(members, &self)
            for member in members.values { walk(member, visit) }
        default: break
        }
    }

    /// Replaces `$save` by the saved value and `$is` by an example.
    private func complete(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let items): return .array(items.map(complete))
        case .object(let members):
            if let name = members["$save"]?.stringValue { return saved[name] ?? .null }
            if let form = members["$is"]?.stringValue { return example(form, members) }
            if let items = members["$unordered"] { return complete(items) }
            if let inner = members["$json"] {
                let bytes = (try? JSONEncoder().encode(fill(complete(inner)))) ?? Data()
                return .string(String(decoding: bytes, as: UTF8.self))
            }
            return .object(members.mapValues(complete))
        default: return value
        }
    }

    private func strip(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let items): return .array(items.map(strip))
        case .object(let members): return .object(members.filter { $0.key != "$more" }.mapValues(strip))
        default: return value
        }
    }

    private func example(_ form: String, _ members: [String: JSONValue]) -> JSONValue {
        let random = UUID().uuidString
        switch form {
        case "idToken":
            let claims = members["claims"].map { complete(fill($0)).objectValue ?? [:] } ?? [:]
            let uid = claims["user_id"]?.stringValue ?? claims["sub"]?.stringValue ?? "nobody"
            return .string(JSONValue.idToken(uid, extra: claims))
        case "uid": return .string(String(random.replacingOccurrences(of: "-", with: "").prefix(28)))
        case "digits": return "12345678"
        case "millis": return "1790000000000"
        case "number": return 1_790_000_000
        case "timestamp": return "2027-01-15T08:30:00.000Z"
        case "uuid": return .string(random.lowercased())
        case "url":
            var components = URLComponents(string: "https://id.example.com/page") ?? URLComponents()
            components.queryItems = members["parameters"]?.objectValue?.values
                .compactMap { $0.stringValue }.map { URLQueryItem(name: $0, value: random) }
            return .string(components.string ?? "")
        default: return .string("\(form)-\(random)")
        }
    }
}

/// Compares what a client sent or said with what a vector expects.
enum VectorComparison {
    /// Returns the first difference; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - actual: What the client sent.
    ///   - expected: What the vector says, with saved values put in.
    ///   - mayAdd: Members that a client may add to the outermost object, with their values.
    ///   - place: The name of the value.
    /// - Returns: The difference in words.
    static func difference(
        _ actual: JSONValue?,
        _ expected: JSONValue,
        mayAdd: [String: JSONValue] = [:],
        at place: String
    ) -> String? {
        guard let actual else { return "\(place) is missing" }
        switch expected {
        case .object(let members):
            if let form = members["$form"]?.objectValue {
                let fields = actual.stringValue.flatMap(FormEncoding.fields)?.mapValues { JSONValue.string($0) }
                return difference(fields.map(JSONValue.object), .object(form), mayAdd: mayAdd, at: place)
            }
            if let inner = members["$json"] {
                let value = actual.stringValue.flatMap { JSONValue.parse(Data($0.utf8)) }
                return difference(value, inner, at: place)
            }
            guard case .object(let found) = actual else { return "\(place) is no object" }
            for (name, value) in members where name != "$more" {
                if let difference = difference(found[name], value, at: "\(place).\(name)") { return difference }
            }
            guard members["$more"] == nil else { return nil }
            for (name, value) in found where members[name] == nil {
                let isAllowed = mayAdd[name].map { $0 == "any" || $0.arrayValue?.contains(value) == true } ?? false
                if !isAllowed { return "\(place).\(name) is not expected" }
            }
            return nil
        case .array(let items):
            guard case .array(let found) = actual, found.count == items.count else {
                return "\(place) has another length"
            }
            for (index, (one, other)) in zip(found, items).enumerated() {
                if let difference = difference(one, other, at: "\(place)[\(index)]") { return difference }
            }
            return nil
        default:
            return actual == expected ? nil : "\(place) is \(actual), not \(expected)"
        }
    }
}
