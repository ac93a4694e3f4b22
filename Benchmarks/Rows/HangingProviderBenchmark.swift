import Glibc
import JSON

extension Benchmark {
    /// Sign-ins with a working provider, beside another that accepts connections and never answers.
    static let besideHangingProvider = Benchmark(
        name: "beside-hanging",
        summary:
            "HTTP signInWithIdp at a fixed pace beside sign-ins with a provider that hangs; p99 against without them"
    ) { lab in
        lab.note("beside-hanging: \(Int(signInsPerSecond)) sign-ins a second beside a provider that hangs")
        let listener = try UnresponsiveListener()
        let server = try await lab.developmentServer()
        defer { server.process.stop() }
        try register(listener, server)
        _ = try signIn(lab, server, seconds: 1)

        var alone: [Sample] = []
        var beside: [Sample] = []
        let seconds = lab.plan.seconds
        for round in 0..<lab.plan.rounds {
            alone.append(try signIn(lab, server, seconds: seconds))
            async let hanging = hang(server, seconds: seconds)
            beside.append(try signIn(lab, server, seconds: seconds))
            let unanswered = try await hanging
            lab.note(
                """
                  p99 \(beside[round].percentile(99).shown(2)) ms against \(alone[round].percentile(99).shown(2)) ms; \
                \(unanswered.count) of the other provider's turned away in time
                """
            )
        }
        let ratios = zip(beside, alone).map { $0.percentile(99) / $1.percentile(99) }
        return [
            Outcome(
                name: "beside-hanging",
                summary: "HTTP signInWithIdp at a fixed pace beside a provider that hangs; p99 against without it",
                reference: "the same sign-ins alone",
                samples: beside,
                referenceRates: alone.map(\.rate),
                values: ratios
            )
        ]
    }

    /// Well below the machine's capacity, so that the row measures interference and not saturation.
    private static let signInsPerSecond = 200.0
    private static let hangingPerSecond = 40.0

    private static func signIn(_ lab: Lab, _ server: Server, seconds: Double) throws -> Sample {
        let requests = try idpSignIns(lab, server, seconds: seconds, of: .linked)
        let load = try HTTPLoad(port: server.port, connections: 32)
        return try server.measure { try load.run(requests, seconds: seconds, perSecond: signInsPerSecond) }
    }

    /// Sends sign-ins with the provider that hangs. Each is answered 503, the last after the time is over.
    private static func hang(_ server: Server, seconds: Double) throws -> Sample {
        let body = JSONWriter.object { writer in
            writer.field("requestUri", "http://localhost")
            writer.field("postBody", "providerId=github.com&access_token=whoever")
        }
        // As many as can wait at once, each for the time limit of a provider.
        let load = try HTTPLoad(port: server.port, connections: 250)
        load.expectedStatus = "503"
        return try load.run(
            [request("/v1/accounts:signInWithIdp?key=\(Lab.apiKey)", body, port: server.port)],
            repeats: true,
            seconds: seconds,
            perSecond: hangingPerSecond
        )
    }

    private static func register(_ listener: UnresponsiveListener, _ server: Server) throws {
        let body = JSONWriter.object { writer in
            writer.field("enabled", true)
            writer.field("clientId", "bench")
            writer.field("clientSecret", "bench")
            writer.field(
                "addresses",
                object: { writer in writer.field("tokenInfo", "http://127.0.0.1:\(listener.port)/") }
            )
        }
        let path = "/v2/projects/\(Lab.projectID)/defaultSupportedIdpConfigs?idpId=github.com"
        _ = try HTTPLoad(port: server.port, connections: 1).run(
            [request(path, body, port: server.port, fields: "Authorization: Bearer owner\r\n")]
        )
    }
}

/// A port of this machine whose connections are never accepted by a program.
final class UnresponsiveListener {
    let port: UInt16
    let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { address in
                bind(socket, address.baseAddress, length) == 0 && listen(socket, 4096) == 0
                    && getsockname(socket, address.baseAddress, &length) == 0
            }
        }
        guard isListening else { throw BenchmarkFailure("no port to listen at") }
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(socket) }
}
