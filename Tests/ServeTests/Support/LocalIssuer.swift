import AccountTestSupport
import Crypto
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An OpenID Connect issuer on this machine, over TLS with a separate certificate, like a company's internal issuer.
/// `concord serve` fetches its documents and checks its signatures like those of any issuer.
struct LocalIssuer: Sendable {
    let url: String
    /// The file with the certificate, as an operator would configure it.
    let certificatePath: String
    private let key: P256.Signing.PrivateKey
    private static let keyID = "local-1"

    /// Publishes the documents for as long as `body` runs.
    static func run<Output: Sendable>(_ body: (LocalIssuer) async throws -> Output) async throws -> Output {
        let key = P256.Signing.PrivateKey()
        let identity = try TLSIdentity()
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(try NIOSSLCertificate(bytes: Array(identity.pem.utf8), format: .pem))],
                privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.keyPEM.utf8), format: .pem))
            )
        )
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("concord-issuer-\(UUID().uuidString).pem").path
        try identity.pem.write(toFile: path, atomically: true, encoding: .utf8)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(Documents(publicKey: key.publicKey))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let issuer = LocalIssuer(
            url: "https://127.0.0.1:\(channel.localAddress?.port ?? 0)",
            certificatePath: path,
            key: key
        )
        func close() async throws {
            try await channel.close()
            try FileManager.default.removeItem(atPath: path)
        }
        do {
            let output = try await body(issuer)
            try await close()
            return output
        } catch {
            try await close()
            throw error
        }
    }

    /// An ID token about `subject` for the client `audience`, issued now for five minutes.
    func token(
        for subject: String,
        audience: String,
        email: String? = nil,
        isVerified: Bool = false
    ) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        var claims: [String: JSONValue] = [
            "iss": .string(url), "sub": .string(subject), "aud": .string(audience), "iat": .integer(now),
            "exp": .integer(now + 300),
        ]
        if let email {
            claims["email"] = .string(email)
            claims["email_verified"] = .bool(isVerified)
        }
        let header: JSONValue = ["alg": "ES256", "kid": .string(Self.keyID), "typ": "JWT"]
        let input = [header, .object(claims)].map { Base64URL.encode($0.text.utf8) }.joined(separator: ".")
        let signature = try key.signature(for: Array(input.utf8)).rawRepresentation
        return input + "." + Base64URL.encode(signature)
    }

    /// Answers the two paths an issuer has.
    private final class Documents: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let publicKey: P256.Signing.PublicKey

        init(publicKey: P256.Signing.PublicKey) {
            self.publicKey = publicKey
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            let url = "https://\(head.headers.first(name: "host") ?? "")"
            let document: JSONValue? =
                switch head.uri {
                case "/.well-known/openid-configuration": Self.discovery(url)
                case "/jwks": keySet
                default: nil
                }
            let body = Array((document ?? .null).text.utf8)
            let headers: HTTPHeaders = ["content-type": "application/json", "content-length": String(body.count)]
            let status = document == nil ? HTTPResponseStatus.notFound : .ok
            context.write(
                wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))),
                promise: nil
            )
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        private static func discovery(_ url: String) -> JSONValue {
            [
                "issuer": .string(url), "jwks_uri": .string(url + "/jwks"),
                "id_token_signing_alg_values_supported": ["ES256"],
                "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            ]
        }

        private var keySet: JSONValue {
            let point = publicKey.x963Representation.dropFirst()
            return [
                "keys": [
                    [
                        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": .string(keyID),
                        "x": .string(Base64URL.encode(point.prefix(32))),
                        "y": .string(Base64URL.encode(point.suffix(32))),
                    ]
                ]
            ]
        }
    }
}
