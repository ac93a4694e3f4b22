import AccountTestSupport
import OpenTelemetry
import Spans
import Testing
import Tracing

@testable import AccountOperations

struct PasswordSpanTests {
    @Test func `hashing and verifying are spans with the wait in the queue`() async throws {
        let recorded = RecordedSpans()
        let hasher = try PasswordHasher(
            threadCount: 1,
            queueMax: 8,
            randomBytes: Effects.system.randomBytes,
            spans: recorded.spans
        )
        let hash = try await recorded.spans.trace("request", .server) { _ in
            let hash = try await hasher.hash("correct horse", for: .administrator)
            #expect(try await hasher.verify("correct horse", against: hash, for: .administrator))
            #expect(try await !hasher.verify("correct horse", against: nil, for: .administrator))
            return hash
        }
        let spans = recorded.take()
        #expect(spans.map(\.name) == ["hash password", "verify password", "verify password", "request"])
        for span in spans.dropLast() {
            #expect(span.attributes.get("concord.password.algorithm") == .string("argon2"))
            guard case .double(let wait)? = span.attributes.get("concord.password.queue_wait_ms") else {
                Issue.record("no wait")
                return
            }
            #expect(wait >= 0)
            for (name, value) in span.attributes.pairs {
                #expect(!"\(value)".contains("horse") && !"\(value)".contains(hash), "\(name)")
            }
        }
        await hasher.shutDown()
    }
}
