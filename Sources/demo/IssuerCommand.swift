import ArgumentParser
import Glibc
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import Synchronization

/// `concord-demo issuer`: an OpenID Connect provider that takes anybody's word for who they are.
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

    @Flag(help: "Sign with a key that is not published, as somebody who only pretends to be this issuer would.")
    var wrongKey = false

    func run() async throws {
        let issuer = Issuer(signsWithUnpublishedKey: wrongKey)
        let url = Mutex("")
        let router = Router()
        router.get("/.well-known/openid-configuration") { _, _ in
            json(Issuer.discovery(url: url.withLock { $0 }))
        }
        router.get("/jwks") { _, _ in json(issuer.keySet) }
        router.post("/token") { request, _ in
            let body = try await request.body.collect(upTo: 16 << 10)
            guard let claims = try? JSONValue(parsing: Array(body.readableBytesView)).object else {
                return Response(status: .badRequest)
            }
            let token = try issuer.sign(claims, url: url.withLock { $0 })
            return json(.object(["id_token": .string(token)]))
        }
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in
                let running = "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"
                url.withLock { $0 = running }
                print("issuer ready at \(running)")
                // Whoever started this process waits for the line, and a pipe holds it back.
                fflush(nil)
            },
            logger: Logger(label: "issuer") { _ in SwiftLogNoOpLogHandler() }
        )
        try await application.runService()
    }
}

private func json(_ value: JSONValue) -> Response {
    Response(
        status: .ok,
        headers: [.contentType: "application/json"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: value.text))
    )
}
