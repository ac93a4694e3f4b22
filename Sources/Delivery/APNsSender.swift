import AsyncHTTPClient
package import Crypto
import FoundationEssentials
import IdentityProviders
import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import Synchronization

/// The credential of the developer account for Apple's push service ("Establishing a connection to APNs").
package enum APNsCredential: Sendable {
    /// A key of a team, for all of its apps.
    case key(id: String, team: String, P256.Signing.PrivateKey)
    /// A certificate of one app, and its key.
    case certificate([NIOSSLCertificate], NIOSSLPrivateKey)
}

/// The hosts of Apple's push service: origins, without a slash at the end.
package struct APNsHosts: Sendable, Hashable {
    package var production: String
    package var sandbox: String

    package init(
        production: String = "https://api.push.apple.com",
        sandbox: String = "https://api.sandbox.push.apple.com"
    ) {
        self.production = production
        self.sandbox = sandbox
    }
}

/// Sends pushes to Apple's push service over reused HTTP/2 connections ("Sending notification requests to APNs"). If an
/// answer does not arrive in time, the next push uses a new connection: a dead connection looks alive while requests
/// are sent over it.
package final class APNsSender: PushSending {
    /// Apple refuses tokens older than 1 hour, and teams that create a new token within 20 minutes ("Establishing a
    /// token-based connection to APNs").
    private static let tokenSeconds: Int64 = 40 * 60
    private static let answerBytesMax = 4096

    /// The client and the credential for pushes to one app.
    private struct Route: Sendable {
        let client: ReusedClient
        /// `nil` if a certificate authenticates the app.
        let tokens: ProviderTokens?
    }

    private let routes: [String: Route]
    private let clients: [ReusedClient]
    private let hosts: APNsHosts

    ///
    /// - `apps`: by bundle identifier.
    /// - `authorities`: additional certificate authorities for the hosts.
    package init(apps: [String: APNsCredential], hosts: APNsHosts, authorities: [NIOSSLCertificate] = []) {
        func client(_ identity: ([NIOSSLCertificate], NIOSSLPrivateKey)?) -> ReusedClient {
            var tls = TLSConfiguration.makeClientConfiguration()
            if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
            if let identity {
                tls.certificateChain = identity.0.map { .certificate($0) }
                tls.privateKey = .privateKey(identity.1)
            }
            var configuration = HTTPClient.Configuration(tlsConfiguration: tls, redirectConfiguration: .disallow)
            configuration.httpVersion = .automatic
            configuration.connectionPool.retryConnectionEstablishment = false
            return ReusedClient(configuration)
        }
        var routes: [String: Route] = [:]
        var clients: [ReusedClient] = []
        var withTokens: ReusedClient?
        var tokens: [String: ProviderTokens] = [:]
        for (topic, credential) in apps {
            switch credential {
            case .certificate(let chain, let key):
                let client = client((chain, key))
                clients.append(client)
                routes[topic] = Route(client: client, tokens: nil)
            case .key(let id, let team, let key):
                let shared = withTokens ?? client(nil)
                withTokens = shared
                // Apps of one team share tokens, because Apple limits how often a team creates one.
                let name = "\(team) \(id)"
                let made = tokens[name] ?? ProviderTokens(keyID: id, team: team, key: key)
                tokens[name] = made
                routes[topic] = Route(client: shared, tokens: made)
            }
        }
        self.routes = routes
        self.clients = clients + [withTokens].compactMap(\.self)
        self.hosts = hosts
    }

    package func send(_ push: SilentPush, at seconds: Int64, timeout: Duration) async -> DeliveryOutcome {
        guard let route = routes[push.topic] else { return .refused(reason: "unknown app") }
        var request = HTTPClientRequest(
            url: (push.usesSandbox ? hosts.sandbox : hosts.production) + "/3/device/" + push.deviceToken
        )
        request.method = .POST
        request.headers = [
            "apns-id": push.id, "apns-topic": push.topic, "apns-push-type": "background", "apns-priority": "5",
            "apns-expiration": String(push.expiresAt), "content-type": "application/json",
        ]
        let token = route.tokens.map { $0.current(at: seconds) }
        if let token {
            guard let token else { return .unavailable(reason: "unusable key") }
            request.headers.add(name: "authorization", value: "bearer " + token)
        }
        request.body = .bytes(ByteBuffer(bytes: push.payload))
        let line = route.client.enter()
        defer { line.leave() }
        do {
            let response = try await line.client.execute(request, timeout: TimeAmount(timeout))
            let body = try await response.body.collect(upTo: Self.answerBytesMax)
            let answer = try? JSONValue(parsing: Array(body.readableBytesView), depthMax: 4)
            let outcome = DeliveryOutcome(response.status, reason: answer?["reason"]?.string)
            if outcome == .deferred(reason: Self.expiredToken) { route.tokens?.forget(token) }
            return outcome
        } catch {
            if error as? HTTPClientError == .deadlineExceeded { route.client.replace(line) }
            return .deferred(reason: "unreachable")
        }
    }

    /// Closes the connections. No push can be sent afterwards.
    package func shutDown() async {
        for client in clients { await client.shutDown() }
    }

    fileprivate static let expiredToken = "ExpiredProviderToken"

    /// The tokens that one key of a team signs.
    private final class ProviderTokens: Sendable {
        private let keyID: String
        private let team: String
        private let key: P256.Signing.PrivateKey
        private let made = Mutex<(token: String, at: Int64)?>(nil)

        init(keyID: String, team: String, key: P256.Signing.PrivateKey) {
            self.keyID = keyID
            self.team = team
            self.key = key
        }

        /// `nil` if no token can be signed.
        func current(at seconds: Int64) -> String? {
            made.withLock { made in
                if let made, made.at <= seconds, seconds - made.at < APNsSender.tokenSeconds { return made.token }
                let token = try? key.signedToken(keyID: keyID) { writer in
                    writer.field("iss", team)
                    writer.field("iat", seconds)
                }
                made = token.map { ($0, seconds) }
                return token
            }
        }

        /// Does nothing if there is a newer token.
        func forget(_ token: String??) {
            made.withLock { if $0?.token == token { $0 = nil } }
        }
    }
}

extension DeliveryOutcome {
    /// The outcome of a push, from Apple's answer ("Handling notification responses from APNs").
    ///
    /// A failure that the requester of a push can cause ends that push, and no other.
    fileprivate init(_ status: HTTPResponseStatus, reason: String?) {
        let isName =
            reason.map { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { ($0 | 0x20) &- 0x61 < 26 } } ?? false
        let reason = isName ? reason ?? "" : "status \(status.code)"
        self =
            switch (status.code, reason) {
            case (200, _): .delivered
            case (_, APNsSender.expiredToken): .deferred(reason: reason)
            // A failure of the configuration: no push would succeed.
            case (403, "BadCertificate"), (403, "Forbidden"), (403, "InvalidProviderToken"),
                (429, "TooManyProviderTokenUpdates"):
                .unavailable(reason: reason)
            case (429, _): .deferred(reason: reason)
            case (400..<500, _): .refused(reason: reason)
            default: .deferred(reason: reason)
            }
    }
}

/// A client with reused connections, which it replaces if no answer arrives.
private final class ReusedClient: Sendable {
    /// A client with the number of its requests in flight.
    final class Line: Sendable {
        private struct State {
            var users = 0
            var isRetired = false
        }

        let client: HTTPClient
        private let state = Mutex(State())

        init(_ configuration: HTTPClient.Configuration) {
            client = HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton),
                configuration: configuration
            )
        }

        fileprivate func enter() {
            state.withLock { $0.users += 1 }
        }

        /// Called once for each `enter`. The last caller closes a retired line, so that answers to earlier requests can
        /// still arrive.
        func leave() {
            let isOver = state.withLock { state in
                state.users -= 1
                return state.isRetired && state.users == 0
            }
            if isOver { _ = client.shutdown() as EventLoopFuture<Void> }
        }

        fileprivate func retire() {
            state.withLock { $0.isRetired = true }
        }
    }

    private let configuration: HTTPClient.Configuration
    private let line: Mutex<Line>

    init(_ configuration: HTTPClient.Configuration) {
        self.configuration = configuration
        line = Mutex(Line(configuration))
    }

    /// The line for the next request. Call `leave` afterwards.
    func enter() -> Line {
        line.withLock { line in
            line.enter()
            return line
        }
    }

    /// Later requests use a new line instead of `dead`, which the caller has entered.
    func replace(_ dead: Line) {
        line.withLock { line in
            guard line === dead else { return }
            line = Line(configuration)
            dead.retire()
        }
    }

    func shutDown() async {
        let client = line.withLock { $0.client }
        try? await client.shutdown()
    }
}
