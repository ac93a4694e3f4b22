import HTTPTypes
import JSON
import Testing

@testable import AccountAPI

/// The texts of a page, and the places where its files name them.
struct PageStrings {
    let english: [String: String]
    let page: String
    /// Its own scripts, and those that it shares with other pages.
    let script: String

    init(_ path: String, strings: String, scripts: [String]) async throws {
        func text(_ path: String) async throws -> String { try await TestAPI.shared.send(.get, path, key: nil).text }
        let file = try await TestAPI.shared.send(.get, strings, key: nil).json
        english = try #require(file["strings"]?["en"]?.object).compactMapValues(\.string)
        page = try await text(path)
        var script = ""
        for name in scripts { script += try await text(name) }
        self.script = script
    }

    /// Returns true if the page or a script has the whole name.
    func isNamed(_ name: String) -> Bool {
        page.contains("\"\(name)\"") || script.contains("\"\(name)\"") || script.contains("[language].\(name)")
            || script.contains("#own.\(name)")
    }

    /// The texts of the requirements for a password, whose names common.js composes.
    var passwordRules: Set<String> {
        let names = script.matches(of: #/\n    (\w+): (?:options|policy)\.\w+/#).map { "rules.\($0.output.1)" }
        return Set(names).union(["rules.length"])
    }

    /// The texts of the methods that are no providers.
    static let methods: Set = ["method.emailLink", "method.password", "method.phone"]

    /// Every text outside `problem.` is named in whole or `composed`, and every composed name has a text unless it is
    /// `optional`.
    func expectUsed(
        composed: Set<String>,
        optional: Set<String> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for name in english.keys where !name.hasPrefix("problem.") {
            let isUsed = composed.contains(name) || optional.contains(name) || isNamed(name)
            #expect(isUsed, "\(name) is not used", sourceLocation: sourceLocation)
        }
        for name in composed { #expect(english[name] != nil, "\(name) has no text", sourceLocation: sourceLocation) }
    }

    // MARK: Problems

    /// The problems that have a text: types, some with the name of an action.
    var problems: Set<String> {
        Set(english.keys.filter { $0.hasPrefix("problem.") }.map { String($0.dropFirst("problem.".count)) })
    }

    /// The types that the scripts throw.
    var thrown: Set<String> {
        let calls = script.matches(of: #/new Problem\(([^;]*)\)/#).map(\.output.1)
        return Set(calls.flatMap { $0.matches(of: #/"([a-z]+(?:-[a-z]+)*)"/#).map { String($0.output.1) } })
    }

    /// The types of Concord's own routes.
    static let types = Set(ProblemType.allCases.map(\.rawValue))

    /// The type that service.js has for a code of the compatible API, by the code.
    var typesOfCodes: [String: String] {
        let lines = script.matches(of: #/\n  ([A-Z_]+): "([a-z-]+)",/#)
        return Dictionary(
            lines.map { (String($0.output.1), String($0.output.2)) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Returns true if the scripts throw `type`, a service answers it, or the scripts name it.
    func canOccur(_ type: String) -> Bool {
        let code = ErrorCode(rawValue: type.uppercased().replacing("-", with: "_"))
        let isAnswered = code.map { typesOfCodes[$0.rawValue] == nil } ?? false
        return isAnswered || Self.types.contains(type) || typesOfCodes.values.contains(type)
            || script.contains("\"\(type)\"") || isNamed("problem.\(type)")
    }
}
