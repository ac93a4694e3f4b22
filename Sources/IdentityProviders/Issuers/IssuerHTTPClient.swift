import AsyncHTTPClient
import FoundationEssentials
package import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL

/// Fetches issuers' documents over the network, within `NetworkPolicy` and bounds on size, time and redirects.
///
/// Every fetch resolves the name itself, checks the address and connects to exactly that address, so a name that
/// resolves differently a moment later (DNS rebinding) gains nothing; the certificate is still checked against the name.
/// Nothing is pooled between fetches: an issuer is asked about once an hour.
package struct IssuerHTTPClient: HTTPFetching {
    package struct Limits: Sendable, Hashable {
        package var bodyBytesMax = 256 * 1024
        /// Redirects followed within one origin.
        package var redirectsMax = 2

        package init() {}
    }

    /// Turns a host name and port into an address. Blocks, so it is called on a thread that may.
    package typealias Resolver = @Sendable (_ host: String, _ port: Int) throws -> SocketAddress

    private let policy: NetworkPolicy
    private let authorities: [NIOSSLCertificate]
    private let limits: Limits
    private let resolve: Resolver

    /// - Parameters:
    ///   - policy: which networks may be reached.
    ///   - authorities: believed beside those the system believes, for issuers whose certificates are an organisation's
    ///     own.
    ///   - limits: bounds on every answer.
    ///   - resolve: the system's resolver, unless a test says otherwise.
    package init(
        policy: NetworkPolicy,
        authorities: [NIOSSLCertificate] = [],
        limits: Limits = Limits(),
        resolve: @escaping Resolver = { host, port in try SocketAddress.makeAddressResolvingHost(host, port: port) }
    ) {
        self.policy = policy
        self.authorities = authorities
        self.limits = limits
        self.resolve = resolve
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

    private enum Answer: Sendable {
        case document(HTTPDocument)
        case redirect(String)
    }

    private func answer(
        from target: Target,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> Answer {
        guard target.usesTLS || policy.allowsLoopback else { throw .addressNotAllowed }
        do {
            let address = try await resolved(target, deadline: deadline)
            guard policy.allows(address, overTLS: target.usesTLS) else {
                throw ProviderUnavailable.networkNotAllowed
            }
            return try await withThrowingTaskGroup(of: Answer.self) { group in
                group.addTask { try await exchange(with: target, at: address, deadline: deadline) }
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

    /// The address of the target's host. A resolver that hangs keeps its thread but not its caller.
    private func resolved(_ target: Target, deadline: ContinuousClock.Instant) async throws -> SocketAddress {
        if let literal = try? SocketAddress(ipAddress: target.host, port: target.port) { return literal }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let promise = loop.makePromise(of: SocketAddress.self)
        let timeout = loop.scheduleTask(in: timeLeft(until: deadline)) {
            promise.fail(ProviderUnavailable.timedOut)
        }
        NIOThreadPool.singleton.runIfActive(eventLoop: loop) { try resolve(target.host, target.port) }
            .whenComplete { result in
                timeout.cancel()
                promise.completeWith(result)
            }
        return try await promise.futureResult.get()
    }

    private func exchange(
        with target: Target,
        at address: SocketAddress,
        deadline: ContinuousClock.Instant
    ) async throws -> Answer {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.httpVersion = .http1Only
        // One attempt: the cache has keys to go on with, or says no at once, and asks again soon.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = timeLeft(until: deadline)
        if let pinned = address.ipAddress, pinned != target.host { configuration.dnsOverride[target.host] = pinned }
        if !authorities.isEmpty {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.additionalTrustRoots = [.certificates(authorities)]
            configuration.tlsConfiguration = tls
        }
        let bodyBytesMax = limits.bodyBytesMax
        return try await HTTPClient.withHTTPClient(
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            configuration: configuration
        ) { client in
            var request = HTTPClientRequest(url: target.url.absoluteString)
            request.headers.add(name: "accept", value: "application/json")
            request.headers.add(name: "user-agent", value: "concord")
            let response = try await client.execute(request, deadline: .now() + timeLeft(until: deadline))
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

    private func timeLeft(until deadline: ContinuousClock.Instant) -> TimeAmount {
        TimeAmount(ContinuousClock.now.duration(to: deadline))
    }

    /// An address that may be fetched as far as its text tells.
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

        /// The target of a redirect; it must be of the same origin.
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
