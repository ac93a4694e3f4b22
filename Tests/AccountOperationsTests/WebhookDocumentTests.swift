import AccountStore
import AccountTestSupport
import Delivery
import Foundation
import JSON
import Testing

/// The instructions of `docs/guides/webhooks.md` to receivers.
struct WebhookDocumentTests {
    /// Runs the document's Python example on a request.
    private func isVerified(_ fields: [String: String], _ body: String, secret: String, now: Int64) throws -> Bool {
        let document = try String(contentsOfFile: Repository.root + "/docs/guides/webhooks.md", encoding: .utf8)
        let begin = try #require(document.firstRange(of: "```python\n")?.upperBound)
        let end = try #require(document[begin...].firstRange(of: "```")?.lowerBound)
        let input: JSONValue = .object([
            "secret": .string(secret), "headers": .object(fields.mapValues(JSONValue.string)), "body": .string(body),
            "now": .integer(now),
        ])
        let program = """
            \(document[begin..<end])
            import json, sys
            request = json.loads(sys.argv[1])
            print(verify(request["secret"], request["headers"], request["body"].encode(), request["now"]))
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-B", "-c", program, input.text]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let answer = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return answer == "True\n"
    }

    @Test func `the example accepts what Concord signs with either secret, and nothing else`() throws {
        let secret = try #require(WebhookSecret(bytes: Array(0..<32)))
        let other = try #require(WebhookSecret(bytes: Array(repeating: 7, count: 24)))
        let body = #"{"type":"method.linked","data":{"rule":"L4"}}"#
        let webhook = Webhook(id: "msg_1", body: Array(body.utf8))
        let now: Int64 = 1_763_755_200
        let fields = Dictionary(uniqueKeysWithValues: webhook.fields(at: now, secrets: [secret]))
        let both = Dictionary(uniqueKeysWithValues: webhook.fields(at: now, secrets: [other, secret]))
        #expect(try isVerified(fields, body, secret: secret.text, now: now + 299))
        #expect(try isVerified(both, body, secret: secret.text, now: now))
        #expect(try isVerified(both, body, secret: other.text, now: now))

        #expect(try !isVerified(fields, body, secret: other.text, now: now))
        #expect(try !isVerified(fields, body + " ", secret: secret.text, now: now))
        #expect(try !isVerified(fields, body, secret: secret.text, now: now + 301), "too old")
        for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
            var changed = fields
            changed[name] = name == "webhook-timestamp" ? String(now + 1) : (changed[name] ?? "") + "A"
            #expect(try !isVerified(changed, body, secret: secret.text, now: now), "\(name)")
        }
    }

    @Test func `the document explains every type`() throws {
        let document = try String(contentsOfFile: Repository.root + "/docs/guides/webhooks.md", encoding: .utf8)
        for kind in WebhookEvent.Kind.allCases { #expect(document.contains("`\(kind.rawValue)`"), "\(kind)") }
    }

    @Test(arguments: [0, 23, 65])
    func `a secret has 24 to 64 bytes`(count: Int) {
        #expect(WebhookSecret(bytes: Array(repeating: 1, count: count)) == nil)
        #expect(WebhookSecret(bytes: Array(repeating: 1, count: 24)) != nil)
        #expect(WebhookSecret(bytes: Array(repeating: 1, count: 64)) != nil)
    }
}
