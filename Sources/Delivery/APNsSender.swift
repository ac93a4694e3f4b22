package import Crypto
import FoundationEssentials
import HTTPClient
import IdentityProviders
import JSON
import Synchronization

/// The credential of the developer account for Apple's push service ("Establishing a connection to APNs").
package enum APNsCredential: Sendable {
    /// A key of a team, for all of its apps.
    case key(id: String, team: String, P256.Signing.PrivateKey)
    /// A certificate of one app with its chain and its key, in PEM.
    case certificate([UInt8])
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

    /// - Parameters:
    ///   - apps: the credentials, by bundle identifier.
    ///   - hosts: the hosts to send to.
    ///   - authorities: additional certificate authorities for the hosts, in PEM.
    package init(apps: [String: APNsCredential], hosts: APNsHosts, authorities: [UInt8] = []) {
        func client(_ identity: [UInt8]) -> ReusedClient {
            var connection = HTTPTransport.Connection()
            connection.version = .http2
            connection.isReused = true
            connection.trust = .system(additional: authorities)
            connection.identity = identity
            return ReusedClient(connection)
        }
        var routes: [String: Route] = [:]
        var clients: [ReusedClient] = []
        var withTokens: ReusedClient?
        var tokens: [String: ProviderTokens] = [:]
        for (topic, credential) in apps {
            switch credential {
            case .certificate(let identity):
                let client = client(identity)
                clients.append(client)
                routes[topic] = Route(client: client, tokens: nil)
            case .key(let id, let team, let key):
                let shared = withTokens ?? client([])
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
        var fields = [
            (name: "apns-id", value: push.id), ("apns-topic", push.topic), ("apns-push-type", "background"),
            ("apns-priority", "5"), ("apns-expiration", String(push.expiresAt)), ("content-type", "application/json"),
        ]
        let token = route.tokens.map { $0.current(at: seconds) }
        if let token {
            guard let token else { return .unavailable(reason: "unusable key") }
            fields.append(("authorization", "bearer " + token))
        }
        let line = route.client.enter()
        defer { line.leave() }
        let request = HTTPTransport.Request(
            "POST",
            (push.usesSandbox ? hosts.sandbox : hosts.production) + "/3/device/" + push.deviceToken,
            fields: fields,
            body: push.payload,
            connection: route.client.connection,
            responseBody: .collected(bytesMax: Self.answerBytesMax),
            deadline: .now + timeout
        )
        do {
            let response = try await line.transport.response(to: request)
            let answer = try? JSONValue(parsing: response.body, depthMax: 4)
            let outcome = DeliveryOutcome(status: response.status, reason: answer?["reason"]?.string)
            if outcome == .deferred(reason: Self.expiredToken) { route.tokens?.forget(token) }
            return outcome
        } catch {
            if error == .timedOut { route.client.replace(line) }
            return .deferred(reason: "unreachable")
        }
    }

    /// Closes the connections. No push can be sent afterwards.
    package func shutDown() async {
        for client in clients { client.shutDown() }
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
    fileprivate init(status: Int, reason: String?) {
        let isName =
            reason.map { (1...64).contains($0.utf8.count) && $0.utf8.allSatisfy { ($0 | 0x20) &- 0x61 < 26 } } ?? false
        let reason = isName ? reason ?? "" : "status \(status)"
        self =
            switch (status, reason) {
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
    /// A transport with the number of its requests in flight.
    final class Line: Sendable {
        private struct State {
            var users = 0
            var isRetired = false
        }

        let transport = HTTPTransport()
        private let state = Mutex(State())

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
            if isOver { transport.shutDown() }
        }

        fileprivate func retire() {
            state.withLock { $0.isRetired = true }
        }
    }

    let connection: HTTPTransport.Connection
    private let line = Mutex(Line())

    init(_ connection: HTTPTransport.Connection) {
        self.connection = connection
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
            line = Line()
            dead.retire()
        }
    }

    func shutDown() {
        line.withLock { $0 }.transport.shutDown()
    }
}
