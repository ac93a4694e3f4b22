import AccountOperations
import Crypto
import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1

/// A file of the project's branding. Everyone may read it: pages and mails show it to people who have not signed in.
enum BrandFile: Sendable, CaseIterable {
    case style
    case logo
    case darkLogo

    var path: String {
        switch self {
        case .style: "/__/auth/brand.css"
        case .logo: LogoPlace.light.path
        case .darkLogo: LogoPlace.dark.path
        }
    }

    /// - Throws: `APIError.notFound` if the project has no such file.
    func response(to request: ServerRequest, _ service: ServiceHandle) async throws -> ServerResponse {
        guard case .ready(let operations, _) = service.state else { throw APIError.unavailable }
        switch self {
        case .style:
            let style = operations.project.settings.branding.style
            let digest = Base64URL.encode(Array(SHA256.hash(data: Array(style.utf8))))
            return Self.response(
                to: request,
                ByteBuffer(string: style),
                type: "text/css; charset=utf-8",
                tag: "\"\(digest)\"",
                caching: "no-cache"
            )
        case .logo: return try await Self.response(to: request, .light, operations)
        case .darkLogo: return try await Self.response(to: request, .dark, operations)
        }
    }

    private static func response(
        to request: ServerRequest,
        _ place: LogoPlace,
        _ operations: AccountOperations
    ) async throws -> ServerResponse {
        guard let logo = try await operations.logo(place) else { throw APIError.notFound }
        return response(
            to: request,
            ByteBuffer(bytes: logo.bytes),
            type: logo.format.rawValue,
            tag: "\"\(logo.digest)\"",
            // Pages ask for another address after a change, and mails show the new logo within this time. A server
            // that does not know the change yet, or an old mail, asks for one logo and gets another: no cache may keep
            // that answer.
            caching: request.asks(forLogo: logo.digest) ? "public, max-age=3600" : "no-cache"
        )
    }

    private static func response(
        to request: ServerRequest,
        _ body: ByteBuffer,
        type: String,
        tag: String,
        caching: String
    ) -> ServerResponse {
        let headers: HTTPHeaders = [
            "Content-Type": type,
            // An image that is opened by itself is no page.
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
            "Cache-Control": caching,
            "ETag": tag,
        ]
        if request.holds(tag) { return ServerResponse(status: .notModified, headers: headers) }
        return ServerResponse(status: .ok, headers: headers, body: body)
    }
}

extension ServerRequest {
    /// Returns true unless the address names another logo by the first digits of its digest.
    fileprivate func asks(forLogo digest: String) -> Bool {
        guard let wanted = PercentEncoding.pairs(Array(pathAndQuery.query.utf8), plusIsSpace: false)["v"] else {
            return true
        }
        return !wanted.isEmpty && digest.hasPrefix(wanted)
    }

    /// Returns true if the client has the content of this entity tag already (RFC 9110 §13.1.2).
    func holds(_ tag: String) -> Bool {
        // A proxy that compresses makes the tag weak.
        headers[canonicalForm: "If-None-Match"].contains { $0 == tag || $0 == "W/" + tag }
    }
}
