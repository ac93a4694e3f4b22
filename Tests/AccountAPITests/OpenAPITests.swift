import AccountTestSupport
import EmbeddedFiles
import Foundation
import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The description of Concord's own routes, and whether the routes are as it says.
struct OpenAPIDocument {
    let root: JSONValue

    init() throws {
        root = try JSONValue(parsing: EmbeddedFile.bytes(of: "Sources/AccountAPI/OpenAPI/openapi.json"))
    }

    /// The paths with their methods, as `GET /path`.
    var operations: Set<String> {
        var operations: Set<String> = []
        for (path, item) in root["paths"]?.object ?? [:] {
            for method in (item.object ?? [:]).keys { operations.insert("\(method.uppercased()) \(path)") }
        }
        return operations
    }

    /// The differences between an answer to `method` at `path` and the description; empty if there are none.
    func defects(of answer: Wire.Answer, to method: HTTPRequest.Method, at path: String) throws -> [String] {
        let operation = root["paths"]?[path]?[method.rawValue.lowercased()]
        let responses = try #require(operation?["responses"], "\(method.rawValue) \(path) is not described")
        guard let response = (responses["\(answer.status)"] ?? responses["default"]).map(resolved) else {
            return ["status \(answer.status) is not described"]
        }
        if responses["\(answer.status)"] == nil, answer.status < 400 { return ["\(answer.status) is not described"] }
        let type = answer.headers[.contentType]?.split(separator: ";").first.map(String.init) ?? ""
        guard let schema = response["content"]?[type]?["schema"] else { return ["\(type) is not described"] }
        return defects(of: answer.json, in: schema, at: "")
    }

    /// The defects of the examples of requests and answers. An operation without one of them is a defect.
    func defectsOfExamples() -> [String] {
        var defects: [String] = []
        for (path, item) in root["paths"]?.object ?? [:] {
            for (method, operation) in item.object ?? [:] {
                var bodies = (operation["responses"]?.object ?? [:]).mapValues(resolved)
                bodies["request"] = operation["requestBody"]
                for (name, body) in bodies {
                    for (type, content) in body["content"]?.object ?? [:] {
                        let place = "\(method) \(path) \(name) \(type)"
                        guard let example = content["example"] else {
                            defects.append("\(place): no example")
                            continue
                        }
                        defects += self.defects(of: example, in: content["schema"] ?? .null, at: place)
                    }
                }
            }
        }
        return defects
    }

    private func resolved(_ value: JSONValue) -> JSONValue {
        guard let reference = value["$ref"]?.string else { return value }
        return reference.split(separator: "/").dropFirst()
            .reduce(Optional(root)) { $0?[String($1)] }
            .map(resolved) ?? .null
    }

    /// The keywords of JSON Schema that the description uses; another one is a defect, so that none is left out by mistake.
    private static let keywords: Set<String> = [
        "type", "required", "additionalProperties", "properties", "items", "enum", "minimum", "maximum", "maxLength",
        "format", "description",
    ]

    private func defects(of value: JSONValue, in schema: JSONValue, at place: String) -> [String] {
        let schema = resolved(schema)
        guard let keywords = schema.object else { return ["\(place): no schema"] }
        if let alternatives = schema["anyOf"]?.array {
            let found = alternatives.map { self.defects(of: value, in: $0, at: place) }
            return found.contains([]) ? [] : found.flatMap(\.self)
        }
        var defects = Set(keywords.keys).subtracting(Self.keywords).map { "\(place): \($0) is not checked" }
        switch schema["type"]?.string {
        case "object":
            guard let members = value.object else { return ["\(place): no object"] }
            let properties = schema["properties"]?.object ?? [:]
            for name in schema["required"]?.array?.compactMap(\.string) ?? [] where members[name] == nil {
                defects.append("\(place)/\(name) is missing")
            }
            for (name, member) in members {
                if let property = properties[name] {
                    defects += self.defects(of: member, in: property, at: "\(place)/\(name)")
                } else if schema["additionalProperties"] == .bool(false) {
                    defects.append("\(place)/\(name) is not described")
                } else if let others = schema["additionalProperties"], others.object != nil {
                    defects += self.defects(of: member, in: others, at: "\(place)/\(name)")
                }
            }
        case "array":
            guard let elements = value.array else { return ["\(place): no array"] }
            for element in elements { defects += self.defects(of: element, in: schema["items"] ?? .null, at: place) }
        case "string":
            guard let text = value.string else { return ["\(place): no string"] }
            if let most = schema["maxLength"]?.integer, text.count > most { defects.append("\(place): too long") }
            if let allowed = schema["enum"]?.array, !allowed.contains(value) { defects.append("\(place): \(text)") }
            if schema["format"] == "date-time", text.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) == nil {
                defects.append("\(place): \(text) is no instant")
            }
        case "boolean":
            if value.bool == nil { defects.append("\(place): no Boolean") }
        case "integer":
            guard let number = value.integer else { return ["\(place): no integer"] }
            if let least = schema["minimum"]?.integer, number < least { defects.append("\(place): \(number)") }
            if let most = schema["maximum"]?.integer, number > most { defects.append("\(place): \(number)") }
        default:
            defects.append("\(place): type is not described")
        }
        return defects
    }
}

struct OpenAPITests {
    @Test func `no path and no schema is described twice`() {
        let text = String(
            decoding: EmbeddedFile.bytes(of: "Sources/AccountAPI/OpenAPI/openapi.json"),
            as: UTF8.self
        )
        // Of two members with one name, a parser keeps one.
        let lines = text.split(separator: "\n")
        let paths = lines.filter { $0.hasPrefix(#"    "/"#) }
        #expect(!paths.isEmpty && Set(paths).count == paths.count)
        let schemas = lines.drop { $0 != #"    "schemas": {"# }.dropFirst().prefix { $0 != "    }" && $0 != "    }," }
            .filter { $0.hasPrefix(#"      ""#) }
        #expect(!schemas.isEmpty && Set(schemas).count == schemas.count)
    }

    @Test func `the document describes every Concord route and no other`() throws {
        let routes = API.routes.filter { $0.service == .concord }.map { "\($0.method.rawValue) \($0.path)" }
        #expect(!routes.isEmpty)
        #expect(try OpenAPIDocument().operations == Set(routes))
    }

    @Test func `the document lists every problem type`() throws {
        let types = try OpenAPIDocument().root["components"]?["schemas"]?["Problem"]?["properties"]?["type"]?["enum"]
        #expect(types?.array?.compactMap(\.string) == ProblemType.allCases.map { "urn:concord:problem:\($0.rawValue)" })
    }

    @Test func `the document is OpenAPI 3.1, and is served unchanged`() async throws {
        #expect(try OpenAPIDocument().root["openapi"] == "3.1.0")
        let path = AccountTestSupport.Repository.root + "/docs/openapi.json"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try await TestAPI.with { api in
            let answer = try await api.send(.get, "/openapi.json", key: nil)
            #expect(answer.status == 200 && answer.text == text)
            #expect(answer.headers[.contentType] == "application/json; charset=UTF-8")
        }
    }

    @Test func `every request and every answer has an example that matches its schema`() throws {
        #expect(try OpenAPIDocument().defectsOfExamples() == [])
    }

    @Test func `every reference has a target`() throws {
        let document = try OpenAPIDocument()
        func references(_ value: JSONValue) -> [String] {
            if let reference = value["$ref"]?.string { return [reference] }
            let children = (value.object.map { Array($0.values) } ?? []) + (value.array ?? [])
            return children.flatMap(references)
        }
        let all = references(document.root)
        #expect(all.count > 10)
        for reference in Set(all) {
            let target = reference.split(separator: "/").dropFirst()
                .reduce(Optional(document.root)) { $0?[String($1)] }
            #expect(reference.hasPrefix("#/") && target != nil, "\(reference)")
        }
    }
}
