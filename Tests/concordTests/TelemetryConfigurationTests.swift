import AccountTestSupport
import Foundation
import Testing

@testable import concord

/// The configuration of a collector, and the network that its client may use.
struct TelemetryConfigurationTests {
    private static let key = "1:" + Data(repeating: 1, count: 32).base64EncodedString()

    private func sources(_ telemetry: [String: String]) -> ConfigurationSources {
        let required = [
            "CONCORD_DATABASE_URL": "postgresql:///concord",
            "CONCORD_KEYS_ENCRYPTION": Self.key,
        ]
        let given = Dictionary(uniqueKeysWithValues: telemetry.map { ("CONCORD_TELEMETRY_" + $0, $1) })
        return configurationSources(nil, required.merging(given) { $1 })
    }

    private func read(_ telemetry: [String: String]) throws -> TelemetryConfiguration? {
        try ServeConfiguration(sources(telemetry)).telemetry
    }

    private func mistakes(_ telemetry: [String: String]) -> String {
        do {
            _ = try read(telemetry)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `nothing is exported without an endpoint`() throws {
        #expect(try read([:]) == nil)
        #expect(try read(["TRACES_SAMPLE": "0.5", "SERVICE_NAME": "accounts"]) == nil)
    }

    @Test func `an endpoint exports everything by default`() throws {
        let read = try #require(try read(["OTLP_ENDPOINT": "http://collector:4318/"]))
        #expect(read.endpoint == "http://collector:4318")
        #expect(read.tracesSample == 1 && read.metricsInterval == .seconds(60))
        #expect(read.serviceName == "concord" && read.fields.isEmpty)
    }

    @Test func `header fields are names and values, and are never shown`() throws {
        let settings = [
            "OTLP_ENDPOINT": "https://otlp.example.com/a", "OTLP_HEADERS": "Authorization=Basic a2V5=, x-tenant=7",
        ]
        let fields = try #require(try read(settings)).fields
        #expect(fields.map(\.name) == ["authorization", "x-tenant"])
        #expect(fields.map(\.value) == ["Basic a2V5=", "7"])
        let shown = ConfigurationTable.effective(sources(settings)).map(\.value).joined(separator: " ")
        #expect(shown.contains("otlp.example.com") && !shown.contains("a2V5"))
    }

    @Test(arguments: [
        "collector:4318", "ftp://collector", "http://", "http://collector/?a=b", "http://user@collector", "/v1/traces",
    ])
    func `an endpoint that is no URL of a collector is refused`(_ endpoint: String) {
        #expect(mistakes(["OTLP_ENDPOINT": endpoint]).contains("telemetry.otlp_endpoint"))
    }

    @Test(arguments: ["key", "=value", "a b=c", "key=", "key=a,", "content-type=text/plain", "key=a\u{7}"])
    func `a malformed header field is refused without its value`(_ fields: String) {
        let text = mistakes(["OTLP_ENDPOINT": "http://collector", "OTLP_HEADERS": fields])
        #expect(text.contains("telemetry.otlp_headers: not allowed"))
    }

    @Test func `header fields need an endpoint`() {
        #expect(mistakes(["OTLP_HEADERS": "key=value"]).contains("needs telemetry.otlp_endpoint beside it"))
    }

    @Test(arguments: [("TRACES_SAMPLE", "1.1"), ("TRACES_SAMPLE", "-1"), ("METRICS_INTERVAL_SECONDS", "0")])
    func `numbers out of range are refused`(_ name: String, _ value: String) {
        #expect(mistakes([name: value]).contains("telemetry.\(name.lowercased())"))
    }

    @Test func `the configurations in the guide are valid`() throws {
        let guide = try String(
            contentsOfFile: Repository.root + "/docs/guides/observability.md",
            encoding: .utf8
        )
        let snippets = guide.matches(of: #/```yaml\n([^`]*)```/#).map { String($0.output.1) }
        #expect(snippets.count == 2)
        for snippet in snippets {
            let sources = configurationSources(
                snippet,
                ["CONCORD_DATABASE_URL": "postgresql:///concord", "CONCORD_KEYS_ENCRYPTION": Self.key],
                files: ["/etc/concord/otlp-headers": "authorization=Bearer KEY\n"]
            )
            #expect(try ServeConfiguration(sources).telemetry != nil)
        }
    }
}
