import AccountAPI
import AccountTestSupport
import Foundation
import JSON
import PrometheusMetrics
import Testing

@testable import concord

/// The alert rules, their runbooks and the dashboard, which operators copy from `deploy/`.
struct AlertsTests {
    private static let rules = "deploy/prometheus/alerts.yaml"
    private static let cases = "deploy/prometheus/alerts-test.yaml"
    private static let dashboard = "deploy/grafana/concord.json"

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Repository.root)/\(path)", encoding: .utf8)
    }

    /// The names of the alerts in the rules.
    private func alerts() throws -> [String] {
        try text(Self.rules).matches(of: #/- alert: (\w+)\n/#).map { String($0.output.1) }
    }

    /// The metrics of Concord and of its process that `text` names, without the suffixes of histograms.
    private func metrics(in text: String) -> Set<String> {
        let names = text.matches(of: #/\b(?:concord|process)_[a-z_]+\b/#).map { String($0.output) }
        return Set(
            names.map { name in
                for suffix in ["_bucket", "_sum", "_count"] where name.hasSuffix("_seconds" + suffix) {
                    return String(name.dropLast(suffix.count))
                }
                return name
            }
        )
    }

    /// The expressions of the dashboard's panels, and of its variables.
    private func expressions(in value: JSONValue) -> [String] {
        switch value {
        case .array(let values): values.flatMap { expressions(in: $0) }
        case .object(let members):
            members.flatMap { name, value in
                if ["expr", "query"].contains(name), let text = value.string { return [text] }
                return expressions(in: value)
            }
        default: []
        }
    }

    private func run(_ program: String, _ arguments: [String]) throws -> (succeeded: Bool, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: Repository.root)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus == 0, text)
    }

    @Test func `every metric that an alert, its cases or the dashboard names exists`() throws {
        let declared = Set(MetricsTable.families(nil).map(\.name))
        for path in [Self.rules, Self.cases] {
            let named = metrics(in: try text(path))
            #expect(named.count > 10, "\(path)")
            #expect(named.subtracting(declared).isEmpty, "\(path)")
        }
        let panels = expressions(in: try JSONValue(parsing: Array(try text(Self.dashboard).utf8)))
        #expect(panels.count > 40)
        #expect(metrics(in: panels.joined(separator: "\n")).subtracting(declared).isEmpty)
    }

    @Test func `the dashboard shows every metric of Concord`() throws {
        let panels = expressions(in: try JSONValue(parsing: Array(try text(Self.dashboard).utf8)))
        let shown = metrics(in: panels.joined(separator: "\n"))
        #expect(Set(MetricsTable.families(nil).map(\.name)).subtracting(shown).isEmpty)
    }

    @Test func `every alert has a severity, a summary and a runbook with meaning, check and fix`() throws {
        let runbooks = try text("docs/guides/runbooks.md")
        let sections = Dictionary(
            uniqueKeysWithValues: runbooks.components(separatedBy: "\n### ").dropFirst().map { section in
                (section.prefix { $0 != "\n" }.description, section)
            }
        )
        let names = try alerts()
        #expect(names.count > 20)
        #expect(Set(names).count == names.count)
        #expect(Set(sections.keys) == Set(names), "a section for each alert, and no other")
        for part in ["**Meaning.**", "**Check.**", "**Fix.**"] {
            #expect(sections.filter { !$0.value.contains(part) }.keys.sorted() == [], "\(part)")
        }
        for rule in try text(Self.rules).components(separatedBy: "- alert: ").dropFirst() {
            let name = String(rule.prefix { $0 != "\n" })
            #expect(rule.contains(#/\n +severity: (critical|warning|info)\n/#), "\(name)")
            #expect(rule.contains(#/\n +summary: \S/#), "\(name)")
            let page = "runbook_url: docs/guides/runbooks.md#\(name.lowercased())"
            #expect(rule.contains("\(page)\n") || rule.hasSuffix(page), "\(name)")
        }
    }

    @Test func `every alert has a case in which it fires, and one in which it stays quiet`() throws {
        let cases = try text(Self.cases)
        for name in try alerts() {
            #expect(cases.contains("- name: \(name) fires\n"), "\(name)")
            #expect(cases.contains("- name: \(name) stays quiet\n"), "\(name)")
        }
    }

    @Test(arguments: [["check", "rules", rules], ["test", "rules", cases]])
    func `promtool accepts the rules and their cases`(arguments: [String]) throws {
        let result = try run("promtool", arguments)
        #expect(result.succeeded, "\(result.output)")
    }

    @Test func `promtool accepts the expressions of the dashboard`() throws {
        let panels = expressions(in: try JSONValue(parsing: Array(try text(Self.dashboard).utf8)))
        let rules = panels.filter { !$0.hasPrefix("label_values(") && $0 != "prometheus" }.enumerated().map {
            number,
            expression in
            let text = expression.replacingOccurrences(of: "$__rate_interval", with: "5m")
            return "  - record: panel:\(number)\n    expr: '\(text.replacingOccurrences(of: "'", with: "''"))'\n"
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: "concord-alerts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "panels.yaml")
        try Data("groups:\n- name: panels\n  rules:\n\(rules.joined())".utf8).write(to: file)
        let result = try run("promtool", ["check", "rules", file.path])
        #expect(result.succeeded, "\(result.output)")
    }

    @Test func `promtool accepts the text of an idle server`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "concord-metrics-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "metrics.txt")
        try Data(Measurements(nil).registry.text().utf8).write(to: file)
        let result = try run("sh", ["-c", "promtool check metrics <\"$0\"", file.path])
        #expect(result.succeeded, "\(result.output)")
    }
}
