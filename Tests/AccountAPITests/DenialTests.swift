import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import NIOCore
import NIOHTTP1
import Testing

@testable import AccountAPI
@testable import HTTPServer

/// The "no" of an operation at the edge: `Edge` alone makes it an answer.
struct DenialTests {
    private static let compatible = "/v1/test"
    private static let own = Problem.pathPrefix + "test"

    private func status(of denial: Denial, at path: String, _ log: RecordedLog) async -> Int {
        let api = API(
            service: ServiceHandle(),
            callers: RegisteredCallers(),
            development: nil,
            jsonDepthMax: 64,
            trustedProxies: [],
            logger: log.logger
        )
        var table = RouteTable<Edge.Target>()
        table.add(.get, path, Edge.Target(handler: { _ in throw denial }, series: api.metrics.unmatched, path: path))
        let edge = Edge(
            table: table,
            audience: .everyone,
            trustedProxies: [],
            logger: log.logger,
            requests: .off,
            metrics: api.metrics,
            isDevelopment: false,
            isSecure: false
        )
        let request = ServerRequest(
            method: .get,
            target: path,
            headers: [:],
            body: .complete(ByteBuffer()),
            peer: nil
        )
        return await edge.respond(to: request).status.code
    }

    @Test(arguments: Refusal.allCases)
    func `a refusal is never reported as a failure of the service`(_ refusal: Refusal) async {
        let log = RecordedLog()
        // The routes for suspended methods are Concord's own.
        if refusal != .methodNotQuarantined {
            #expect((400..<500).contains(await status(of: .refusal(refusal), at: Self.compatible, log)))
        }
        #expect((400..<500).contains(await status(of: .refusal(refusal), at: Self.own, log)))
        #expect(!log.lines.contains { $0.contains("request failed") })
    }

    @Test(arguments: [
        (Denial.invalidIDToken, 400, 401), (.refusal(.userDisabled), 400, 403), (.refusal(.invalidPassword), 400, 403),
    ])
    func `each kind of route has its format of refusals`(_ denial: Denial, compatible: Int, own: Int) async {
        let log = RecordedLog()
        #expect(await status(of: denial, at: Self.compatible, log) == compatible)
        #expect(await status(of: denial, at: Self.own, log) == own)
    }
}
