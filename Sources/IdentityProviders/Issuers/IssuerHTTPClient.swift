import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
package import NameResolution

/// Fetches issuers' documents within `NetworkPolicy` and limits on size, time and redirects.
///
/// Every fetch resolves the name, checks the address and connects to that address. So DNS rebinding is useless. The
/// certificate is checked against the name. Connections are not reused, because each issuer gets about one request an
/// hour.
package struct IssuerHTTPClient: HTTPFetching {
    package struct Limits: Sendable, Hashable {
        package var bodyBytesMax = 256 * 1024
        /// Maximum number of redirects within one origin.
        package var redirectsMax = 2

        package init() {}
    }

    private let policy: NetworkPolicy
    private let authorities: [NIOSSLCertificate]
    private let limits: Limits
    private let resolver: HostResolver

    /// - Parameters:
    ///   - policy: the allowed networks.
    ///   - authorities: additional certificate authorities, for issuers with certificates of an organisation.
    ///   - limits: the limits of an answer.
    ///   - resolver: the resolver, which several clients may share.
    package init(
        policy: NetworkPolicy,
        authorities: [NIOSSLCertificate] = [],
        limits: Limits = Limits(),
        resolver: HostResolver = .providers
    ) {
        self.policy = policy
        self.authorities = authorities
        self.limits = limits
        self.resolver = resolver
    }

    package func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPDocument {
        var target = try Target(address)
        for _ in 0...limits.redirectsMax {
            switch try await answer(from: target, deadline: deadline) {
            case .document(let document): return document
            case .redirect(let location): target = try target.following(location)
            }
        }
        throw .redirected
    }

    package func answer(
        to request: ProviderRequest,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> ProviderAnswer {
        var outgoing = HTTPClientRequest(url: request.address)
        outgoing.method = request.method == .post ? .POST : .GET
        outgoing.headers.add(name: "accept", value: "application/json")
        for field in request.fields { outgoing.headers.replaceOrAdd(name: field.name, value: field.value) }
        if request.method == .post { outgoing.body = .bytes(ByteBuffer(bytes: request.body)) }
        let bodyBytesMax = limits.bodyBytesMax
        return try await exchange(outgoing, with: try Target(request.address), deadline: deadline) { response in
            let body = try await response.body.collect(upTo: bodyBytesMax)
            return ProviderAnswer(status: Int(response.status.code), body: Array(body.readableBytesView))
        }
    }

    /// Posts `body` within the same rules. Follows no redirect, and does not read the body of the answer.
    /// - Returns: the status.
    /// - Throws: `ProviderUnavailable` if there is no answer.
    package func post(
        _ body: [UInt8],
        fields: [(name: String, value: String)],
        to address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> Int {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        request.body = .bytes(ByteBuffer(bytes: body))
        return try await exchange(request, with: try Target(address), deadline: deadline) { Int($0.status.code) }
    }

    /// Returns true if the text of `address` allows a request: without TLS, it must name this machine.
    package func allows(_ address: String) -> Bool {
        guard let target = try? Target(address), allows(target) else { return false }
        return target.namedAddress.map { policy.allows($0, overTLS: target.usesTLS) } ?? target.usesTLS
    }

    private func allows(_ target: Target) -> Bool { target.usesTLS || policy.allowsLoopback }

    private enum Answer: Sendable {
        case document(HTTPDocument)
        case redirect(String)
    }

    private func answer(
        from target: Target,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> Answer {
        var request = HTTPClientRequest(url: target.url.absoluteString)
        request.headers.add(name: "accept", value: "application/json")
        let bodyBytesMax = limits.bodyBytesMax
        return try await exchange(request, with: target, deadline: deadline) { response in
            switch response.status {
            case .ok: break
            case .movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect:
                guard let location = response.headers.first(name: "location") else {
                    throw ProviderUnavailable.unexpectedStatus
                }
                return .redirect(location)
            default: throw ProviderUnavailable.unexpectedStatus
            }
            let body = try await response.body.collect(upTo: bodyBytesMax)
            return .document(
                HTTPDocument(
                    body: Array(body.readableBytesView),
                    maxAgeSeconds: HTTPDocument.maxAgeSeconds(cacheControl: response.headers["cache-control"])
                )
            )
        }
    }

    /// Sends one request to an address that the policy allows, and reads the answer.
    private func exchange<Output: Sendable>(
        _ request: HTTPClientRequest,
        with target: Target,
        deadline: ContinuousClock.Instant,
        _ read: @escaping @Sendable (HTTPClientResponse) async throws -> Output
    ) async throws(ProviderUnavailable) -> Output {
        guard allows(target) else { throw .addressNotAllowed }
        do {
            let address = try await resolved(target, deadline: deadline)
            guard policy.allows(address, overTLS: target.usesTLS) else {
                throw ProviderUnavailable.networkNotAllowed
            }
            return try await withThrowingTaskGroup(of: Output.self) { group in
                group.addTask { try await exchange(request, with: target, at: address, deadline: deadline, read) }
                group.addTask {
                    try await Task.sleep(until: deadline, clock: .continuous)
                    throw ProviderUnavailable.timedOut
                }
                defer { group.cancelAll() }
                guard let first = try await group.next() else { throw ProviderUnavailable.timedOut }
                return first
            }
        } catch let failure as ProviderUnavailable {
            throw failure
        } catch is NIOTooManyBytesError {
            throw .answerTooLarge
        } catch {
            throw deadline <= .now ? .timedOut : .unreachable
        }
    }

    private func resolved(_ target: Target, deadline: ContinuousClock.Instant) async throws -> SocketAddress {
        if let literal = target.literal { return literal }
        return try await resolver.address(of: target.host, port: target.port, deadline: deadline)
    }

    private func exchange<Output: Sendable>(
        _ request: HTTPClientRequest,
        with target: Target,
        at address: SocketAddress,
        deadline: ContinuousClock.Instant,
        _ read: @escaping @Sendable (HTTPClientResponse) async throws -> Output
    ) async throws -> Output {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        // No retry: the caller has a fallback, or refuses and tries again soon.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = timeLeft(until: deadline)
        if let pinned = address.ipAddress, pinned != target.host { configuration.dnsOverride[target.host] = pinned }
        if !authorities.isEmpty {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(authorities)]
            configuration.tlsConfiguration = tls
        }
        return try await HTTPClient.withHTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: configuration
        ) { client in
            var request = request
            request.headers.add(name: "user-agent", value: "concord")
            return try await read(try await client.execute(request, deadline: .now() + timeLeft(until: deadline)))
        }
    }

    private func timeLeft(until deadline: ContinuousClock.Instant) -> TimeAmount {
        TimeAmount(ContinuousClock.now.duration(to: deadline))
    }

    /// The parsed URL of a request.
    private struct Target: Sendable {
        let url: URL
        let host: String
        let port: Int
        let usesTLS: Bool

        init(_ address: String) throws(ProviderUnavailable) {
            guard address.utf8.count <= 2048, let url = URL(string: address) else { throw .addressNotAllowed }
            try self.init(url)
        }

        private init(_ url: URL) throws(ProviderUnavailable) {
            let scheme = url.scheme?.lowercased()
            guard scheme == "https" || scheme == "http", url.user == nil, url.password == nil,
                var host = url.host, !host.isEmpty
            else { throw .addressNotAllowed }
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            self.url = url
            self.host = host
            self.usesTLS = scheme == "https"
            self.port = url.port ?? (scheme == "https" ? 443 : 80)
            guard (1...65_535).contains(port) else { throw .addressNotAllowed }
        }

        /// The IP address if the host is one.
        var literal: SocketAddress? { try? SocketAddress(ipAddress: host, port: port) }

        /// The IP address that the text of the host names; `nil` for a name that must be looked up.
        var namedAddress: SocketAddress? {
            if host.lowercased() == "localhost" { return try? SocketAddress(ipAddress: "127.0.0.1", port: port) }
            return literal ?? SocketAddress(spelledOut: host, port: port)
        }

        /// Returns the target of a redirect, which must have the same origin.
        func following(_ location: String) throws(ProviderUnavailable) -> Target {
            guard location.utf8.count <= 2048, let url = URL(string: location, relativeTo: url) else {
                throw .redirected
            }
            let next = try Target(url.absoluteURL)
            guard next.usesTLS == usesTLS, next.port == port, next.host.lowercased() == host.lowercased() else {
                throw .redirected
            }
            return next
        }
    }
}
