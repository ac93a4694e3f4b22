import ArgumentParser
import Glibc
import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// `concord-demo issuer`: an OpenID Connect provider that signs in any user without proof.
struct IssuerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "issuer",
        abstract: "Run a local OpenID Connect issuer with fresh keys.",
        discussion: """
            Publishes its discovery document and its key set, and signs at /token whatever claims it is given. Prints its \
            URL once it answers.
            """
    )

    @Option(help: ArgumentHelp("The port to listen on; 0 lets the system choose.", valueName: "number"))
    var port = 0

    @Flag(help: "Sign with a key that is not published, as an impostor of this issuer would.")
    var wrongKey = false

    func run() async throws {
        let issuer = IssuerResponder(issuer: Issuer(signsWithUnpublishedKey: wrongKey))
        let listener = Listener(
            address: .tcp(host: "127.0.0.1", port: port),
            limits: ServerLimits(bodyBytesMax: 16 << 10, requestTimeout: .seconds(10)),
            eventLoops: MultiThreadedEventLoopGroup.singleton,
            responder: issuer,
            connectionsMax: 256,
            whenListening: { address in
                let running = "http://127.0.0.1:\(address?.port ?? 0)"
                issuer.url.withLock { $0 = running }
                print("issuer ready at \(running)")
                // The process that started this one waits for the line, and a pipe buffers it.
                fflush(nil)
            }
        )
        try await listener.run()
    }
}

private final class IssuerResponder: Responder {
    private let issuer: Issuer
    /// The issuer's address, once it listens.
    let url = Mutex("")

    init(issuer: Issuer) {
        self.issuer = issuer
    }

    func respond(to request: ServerRequest) async -> ServerResponse {
        let url = url.withLock { $0 }
        switch (request.method, request.target) {
        case (.get, "/.well-known/openid-configuration"): return json(Issuer.discovery(url: url))
        case (.get, "/jwks"): return json(issuer.keySet)
        case (.post, "/token"):
            guard case .complete(let body) = request.body,
                let claims = try? JSONValue(parsing: Array(body.readableBytesView)).object,
                let token = try? issuer.sign(claims, url: url)
            else { return ServerResponse(status: .badRequest) }
            return json(.object(["id_token": .string(token)]))
        default: return ServerResponse(status: .notFound)
        }
    }

    private func json(_ value: JSONValue) -> ServerResponse {
        ServerResponse(
            status: .ok,
            headers: ["Content-Type": "application/json"],
            body: ByteBuffer(string: value.text)
        )
    }
}
