import AccountTestSupport
import HTTPTypes
import JSON

/// The values that a journey saved. They fill in requests, and are compared with answers.
struct VectorValues {
    private(set) var saved: [String: JSONValue] = [:]

    struct Unsaved: Error, CustomStringConvertible {
        let name: String
        var description: String { "no answer saved \(name)" }
    }

    mutating func save(_ value: JSONValue, as name: String) { saved[name] = value }

    // MARK: Requests

    /// The value that a template of a request stands for.
    func value(of template: JSONValue) throws -> JSONValue {
        switch template {
        case .array(let elements):
            return .array(try elements.map(value))
        case .object(let members):
            if let name = members["$use"]?.string {
                guard let value = saved[name] else { throw Unsaved(name: name) }
                return value
            }
            if let fields = members["$form"]?.object { return .string(try form(fields)) }
            if let parts = members["$text"]?.array { return .string(try parts.map(text).joined()) }
            return .object(try members.mapValues(value))
        default:
            return template
        }
    }

    func text(of template: JSONValue) throws -> String {
        let value = try value(of: template)
        return value.string ?? value.text
    }

    func form(_ fields: [String: JSONValue]) throws -> String {
        PercentEncoding.form(try fields.sorted { $0.key < $1.key }.map { ($0.key, try text(of: $0.value)) })
    }

    /// The path of a request, the values in it percent-encoded.
    func path(_ template: JSONValue) throws -> String {
        guard let parts = template["$text"]?.array else { return try text(of: template) }
        return try parts.map { try $0.string ?? PercentEncoding.encode(text(of: $0)) }.joined()
    }

    // MARK: Answers

    /// Saves what the template names. An answer can use its own values, so this comes before the comparison.
    mutating func save(_ actual: JSONValue, by template: JSONValue) {
        switch template {
        case .array(let elements):
            for (template, actual) in zip(elements, actual.array ?? []) { save(actual, by: template) }
        case .object(let members):
            if let name = members["$save"]?.string {
                saved[name] = actual
                if let claims = members["claims"], let found = try? payload(of: actual) { save(found, by: claims) }
                guard let url = actual.string, let parameters = members["parameters"]?.object else { return }
                let query = url.drop { $0 != "?" }.dropFirst().prefix { $0 != "#" }
                let found = PercentEncoding.pairs(Array(query.utf8), plusIsSpace: true)
                for (parameter, name) in parameters {
                    if let name = name.string, let value = found[parameter] { saved[name] = .string(value) }
                }
            } else if let elements = members["$unordered"]?.array {
                for (template, actual) in pairs(elements, actual.array ?? []) {
                    if let actual { save(actual, by: template) }
                }
            } else {
                for (name, template) in members {
                    if let actual = actual[name] { save(actual, by: template) }
                }
            }
        default:
            break
        }
    }

    /// The differences between a value and its template; empty if there are none.
    func differences(of actual: JSONValue, from template: JSONValue, at place: String = "") -> [String] {
        switch template {
        case .array(let elements):
            guard let found = actual.array, found.count == elements.count else {
                return ["\(place): \(actual.text) has not \(elements.count) elements"]
            }
            return zip(elements, found).enumerated().flatMap {
                differences(of: $1.1, from: $1.0, at: "\(place)/\($0)")
            }
        case .object(let members):
            if let form = (members["is"] ?? members["$is"])?.string, members["$save"] != nil || members["$is"] != nil {
                guard VectorForm(rawValue: form)?.contains(actual) == true else {
                    return ["\(place): \(actual.text) is no \(form)"]
                }
                return (members["claims"]?.object ?? [:]).flatMap { name, claim in
                    let found = (try? payload(of: actual))?[name] ?? .null
                    return differences(of: found, from: claim, at: "\(place)/claims/\(name)")
                }
            }
            if members["$use"] != nil || members["$text"] != nil {
                guard let expected = try? value(of: template) else { return ["\(place): no answer saved it"] }
                return expected == actual ? [] : ["\(place): \(actual.text) is not \(expected.text)"]
            }
            if let elements = members["$unordered"]?.array {
                guard elements.count == actual.array?.count else { return ["\(place): \(actual.text)"] }
                return pairs(elements, actual.array ?? []).filter { $0.1 == nil }
                    .map { "\(place): no element is \($0.0.text)" }
            }
            guard let found = actual.object else { return ["\(place): \(actual.text) is no object"] }
            return members.flatMap { name, template in
                found[name].map { differences(of: $0, from: template, at: "\(place)/\(name)") }
                    ?? ["\(place)/\(name) is missing"]
            }
                + found.keys.filter { members[$0] == nil }
                .map { "\(place)/\($0) is not in the vector: \(found[$0]?.text ?? "")" }
        default:
            return actual == template ? [] : ["\(place): \(actual.text) is not \(template.text)"]
        }
    }

    /// Each template with the first element that is left and fits it.
    private func pairs(_ templates: [JSONValue], _ elements: [JSONValue]) -> [(JSONValue, JSONValue?)] {
        var left = elements
        return templates.map { template in
            let index = left.firstIndex { differences(of: $0, from: template).isEmpty }
            return (template, index.map { left.remove(at: $0) })
        }
    }
}

/// A form of values that differ in each run.
enum VectorForm: String, CaseIterable {
    case idToken, refreshToken, handle, opaque, uid, digits, millis, timestamp, uuid, url, number

    func contains(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.number, .integer), (.number, .double): true
        case (.idToken, .string(let text)): Self.isIDToken(text)
        case (_, .string(let text)): matches(text)
        default: false
        }
    }

    private func matches(_ text: String) -> Bool {
        switch self {
        case .refreshToken, .opaque: !text.isEmpty
        case .handle: text.wholeMatch(of: #/[\w.~\-]{20,}/#) != nil
        case .uid: text.wholeMatch(of: #/[A-Za-z0-9]{28}/#) != nil
        case .digits: text.wholeMatch(of: #/[0-9]+/#) != nil
        case .millis: text.wholeMatch(of: #/[0-9]{13}/#) != nil
        case .timestamp: text.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil
        case .uuid: text.wholeMatch(of: #/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/#) != nil
        case .url: text.wholeMatch(of: #/https?://\S+/#) != nil
        case .idToken, .number: false
        }
    }

    private static func isIDToken(_ text: String) -> Bool {
        guard let claims = try? payload(of: text), let subject = claims["sub"], subject == claims["user_id"] else {
            return false
        }
        return claims["aud"] == .string(TestService.projectID)
            && claims["iss"] == .string("https://securetoken.google.com/\(TestService.projectID)")
            && ["iat", "exp", "auth_time"].allSatisfy { claims[$0]?.integer != nil }
    }
}
