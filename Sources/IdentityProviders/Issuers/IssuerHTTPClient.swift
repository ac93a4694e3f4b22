import FoundationEssentials
package import HTTPClient
import NIOCore
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

    private static let acceptsJSON = (name: "accept", value: "application/json")

    private let policy: NetworkPolicy
    private let connection: HTTPTransport.Connection
    private let limits: Limits
    private let resolver: HostResolver

    /// - Parameters:
    ///   - policy: the allowed networks.
    ///   - authorities: additional certificate authorities in PEM, for issuers with certificates of an organisation.
    ///   - limits: the limits of an answer.
    ///   - resolver: the resolver, which several clients may share.
    package init(
        policy: NetworkPolicy,
        authorities: [UInt8] = [],
        limits: Limits = Limits(),
        resolver: HostResolver = .providers
    ) {
        self.policy = policy
        var connection = HTTPTransport.Connection()
        connection.trust = .system(additional: authorities)
        self.connection = connection
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
        let fields = request.fields.map { (name: $0.name, value: $0.value) }
        let namesType = fields.contains { $0.name.lowercased() == Self.acceptsJSON.name }
        let response = try await exchange(
            with: try Target(request.address),
            request.method,
            fields: namesType ? fields : [Self.acceptsJSON] + fields,
            body: request.method == .post ? request.body : [],
            read: .collected(bytesMax: limits.bodyBytesMax),
            deadline: deadline
        )
        return ProviderAnswer(status: response.status, body: response.body)
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
        try await response(toPosting: body, fields: fields, to: address, reading: .ignored, deadline: deadline).status
    }

    /// Posts `body` like `post`, and reads the part `responseBody` of the answer.
    /// - Throws: `ProviderUnavailable` if there is no answer.
    package func response(
        toPosting body: [UInt8],
        fields: [(name: String, value: String)],
        to address: String,
        reading responseBody: HTTPTransport.ResponseBody,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPTransport.Response {
        try await exchange(
            with: try Target(address),
            .post,
            fields: fields,
            body: body,
            read: responseBody,
            deadline: deadline
        )
    }

    /// Returns true if the text of `address` allows a request: without TLS, it must name this machine.
    package func allows(_ address: String) -> Bool {
        guard let target = try? Target(address), allows(target) else { return false }
        return target.namedAddress.map { policy.allows($0, overTLS: target.usesTLS) } ?? target.usesTLS
    }

    private func allows(_ target: Target) -> Bool { target.usesTLS || policy.allowsLoopback || policy.allowsPlainHTTP }

    private enum Answer: Sendable {
        case document(HTTPDocument)
        case redirect(String)
    }

    private func answer(
        from target: Target,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> Answer {
        let response = try await exchange(
            with: target,
            .get,
            fields: [Self.acceptsJSON],
            read: .collected(bytesMax: limits.bodyBytesMax, statuses: 200...200),
            deadline: deadline
        )
        switch response.status {
        case 200:
            let maxAge = HTTPDocument.maxAgeSeconds(cacheControl: response.values(of: "cache-control"))
            return .document(HTTPDocument(body: response.body, maxAgeSeconds: maxAge))
        case 301, 302, 303, 307, 308:
            guard let location = response.values(of: "location").first else { throw .unexpectedStatus }
            return .redirect(location)
        default: throw .unexpectedStatus
        }
    }

    /// Sends one request to an address that the policy allows, and reads the response.
    ///
    /// No retry: the caller has a fallback, or refuses and tries again soon.
    private func exchange(
        with target: Target,
        _ method: ProviderRequest.Method,
        fields: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        read: HTTPTransport.ResponseBody,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPTransport.Response {
        guard allows(target) else { throw .addressNotAllowed }
        let address = try await resolved(target, deadline: deadline)
        guard policy.allows(address, overTLS: target.usesTLS), let pinned = address.ipAddress else {
            throw .networkNotAllowed
        }
        var request = HTTPTransport.Request(
            method.rawValue,
            target.url.absoluteString,
            fields: fields + [("user-agent", "concord")],
            body: body,
            connection: connection,
            responseBody: read,
            deadline: deadline
        )
        request.destination = .address(pinned, port: target.port)
        do {
            return try await HTTPTransport.shared.response(to: request)
        } catch {
            switch error {
            case .timedOut: throw .timedOut
            case .responseTooLarge: throw .answerTooLarge
            // The host was not asked, so it has not failed.
            case .tooManyRequests: throw .tooManyCalls
            case .cancelled, .closed, .invalidRequest, .unresolved, .unreachable, .insecure:
                throw deadline <= .now ? .timedOut : .unreachable
            }
        }
    }

    private func resolved(
        _ target: Target,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> SocketAddress {
        if let literal = target.literal { return literal }
        do {
            return try await resolver.address(of: target.host, port: target.port, deadline: deadline)
        } catch let failure as ProviderUnavailable {
            throw failure
        } catch {
            throw deadline <= .now ? .timedOut : .unreachable
        }
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
