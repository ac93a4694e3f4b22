import Crypto
import HTTPServer
import HTTPTypes
import JSON
import NIOCore
import NIOHTTP1

/// A file of the page for people, `/conflict`: part of the program, the same for everybody, and without secrets. What is
/// secret stands behind the `#` of the page's address and is sent to Concord's API only, by the page's script (ADR 0022).
///
/// The page answers while the database is away: its script says so, in the reader's language.
struct PageFile: Sendable {
    let path: String
    private let body: ByteBuffer
    /// Changes with the content (RFC 9110 §8.8.3).
    private let entityTag: String
    private let headers: HTTPHeaders

    private init(_ path: String, _ contentType: String, _ bytes: [UInt8]) {
        self.path = path
        body = ByteBuffer(bytes: bytes)
        entityTag = "\"\(Base64URL.encode(Array(SHA256.hash(data: bytes))))\""
        headers = [
            "Content-Type": contentType,
            "Content-Security-Policy": Self.contentSecurityPolicy,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            // Asked for again each time, so that page and script are of one version.
            "Cache-Control": "no-cache",
            "ETag": entityTag,
        ]
    }

    /// Every file; the address of each is relative to the page's own, which may stand below a path of a proxy's.
    static let all = [
        PageFile("/conflict", "text/html; charset=utf-8", PackageResources.conflict_html),
        PageFile("/conflict/page.css", "text/css; charset=utf-8", PackageResources.page_css),
        PageFile("/conflict/page.js", "text/javascript; charset=utf-8", PackageResources.page_js),
        PageFile("/conflict/strings.json", "application/json; charset=utf-8", PackageResources.strings_json),
        PageFile("/conflict/icon.svg", "image/svg+xml", PackageResources.icon_svg),
    ]

    /// Nothing but these files and the API of the same origin; no inline script or style, no frame around the page, and
    /// no text that becomes markup.
    private static let contentSecurityPolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
    ].joined(separator: "; ")

    /// The file, or that the client has it already (RFC 9110 §13.1.2).
    func response(to request: ServerRequest) -> ServerResponse {
        // A proxy that compresses calls the tag weak.
        let held = request.headers[canonicalForm: "If-None-Match"]
        if held.contains(where: { $0 == entityTag || $0 == "W/" + entityTag }) {
            return ServerResponse(status: .notModified, headers: headers)
        }
        return ServerResponse(status: .ok, headers: headers, body: body)
    }
}
