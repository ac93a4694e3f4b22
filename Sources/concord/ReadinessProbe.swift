import AccountAPI
import AsyncHTTPClient
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A request for `/readyz` of one server.
struct ReadinessProbe: Sendable, Hashable {
    /// The address as people write it.
    let place: String
    let url: String
    /// The host of `url` and the address to connect to, if it differs.
    let connection: [String: String]
    /// True if the certificate must be valid for the host of `url`. On loopback there is no attacker in between, and no
    /// certificate names it.
    let verifiesCertificate: Bool

    /// Time for the whole request. The intervals of health checks are 5 s and more.
    static let timeout = Duration.seconds(2)
    private static let bodyBytesMax = 4096

    /// A server at `base`, an http or https URL; `nil` if it is none.
    init?(base: String) {
        guard let parts = URL(string: base), let host = parts.host, !host.isEmpty,
            parts.scheme == "http" || parts.scheme == "https"
        else { return nil }
        self.init(
            place: base,
            url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/readyz",
            verifiesCertificate: !isLoopback(host: host)
        )
    }

    /// The server that `listen` starts on this machine; `nil` if the system chooses its only port.
    ///
    /// A listener with TLS beyond loopback is asked under the name of `listen.public_url`, or else over the admin
    /// listener, because its certificate names no network address.
    init?(_ listen: ListenConfiguration) {
        let isLocal = isLoopback(host: listen.host) || isEveryAddress(host: listen.host)
        guard listen.port != 0 else {
            guard let admin = listen.adminListener else { return nil }
            self.init(admin)
            return
        }
        let usesTLS = listen.transport != .plain
        if usesTLS, !isLocal, listen.publicURL == nil, let admin = listen.adminListener {
            self.init(admin)
            return
        }
        var host = listen.host
        if isEveryAddress(host: host) { host = host.contains(":") ? "::1" : "127.0.0.1" }
        var name = host
        if usesTLS, !isLocal, let publicName = listen.publicURL.flatMap({ URL(string: $0)?.host }) { name = publicName }
        self.init(
            place: Self.place(host, listen.port),
            url: "\(usesTLS ? "https" : "http")://\(Self.place(name, listen.port))/readyz",
            connection: name == host ? [:] : [name: host],
            verifiesCertificate: !isLocal
        )
    }

    private init(_ admin: ListenConfiguration.AdminListener) {
        switch admin {
        case .loopback(let address):
            let place = Self.place(address.host, address.port)
            self.init(place: place, url: "http://\(place)/readyz", verifiesCertificate: false)
        case .unixSocket(let path):
            let url = URL(httpURLWithSocketPath: path, uri: "/readyz")?.absoluteString ?? ""
            self.init(place: path, url: url, verifiesCertificate: false)
        }
    }

    private init(place: String, url: String, connection: [String: String] = [:], verifiesCertificate: Bool) {
        self.place = place
        self.url = url
        self.connection = connection
        self.verifiesCertificate = verifiesCertificate
    }

    private static func place(_ host: String, _ port: Int) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Returns the reason why the server is not ready, in one line; `nil` if it is ready.
    func problem() async -> String? {
        switch await within(Self.timeout, { try await answer() }) {
        case .success((status: 200, body: _)): nil
        case .success((status: 503, let body)) where body.hasPrefix("not ready"): "\(place): \(body)"
        case .success(let answer):
            "\(place) answers /readyz with status \(answer.status): it is not Concord, or a proxy in front of it"
        case nil: silence
        case .failure(let error) where Self.isTimeout(error): silence
        case .failure(let error): "cannot ask \(place): \(Self.words(for: error)). Is `concord serve` running there?"
        }
    }

    private var silence: String { "\(place) does not answer within \(Self.timeout.components.seconds) s" }

    private static func isTimeout(_ error: any Error) -> Bool {
        let error = error as? HTTPClientError
        return error == .deadlineExceeded || error == .connectTimeout
    }

    private func answer() async throws -> (status: Int, body: String) {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = connection
        if !verifiesCertificate {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.certificateVerification = .none
            configuration.tlsConfiguration = tls
        }
        let url = url
        let isSocket = place.hasPrefix("/")
        return try await HTTPClient.withHTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: configuration
        ) { client in
            var request = HTTPClientRequest(url: url)
            request.headers.add(name: "user-agent", value: "concord healthcheck")
            // The admin listener refuses other names.
            if isSocket { request.headers.add(name: "host", value: "localhost") }
            let response = try await client.execute(request, timeout: TimeAmount(Self.timeout))
            let body = try await response.body.collect(upTo: Self.bodyBytesMax)
            let text = String(decoding: body.readableBytesView, as: UTF8.self)
            return (Int(response.status.code), text.split(separator: "\n").first.map(String.init) ?? "")
        }
    }

    private static func words(for error: any Error) -> String {
        let cause = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        if let system = cause as? IOError { return String(cString: strerror(system.errnoCode)).lowercased() }
        if error is NIOConnectionError { return "the name has no address" }
        return "\(cause)"
    }
}
