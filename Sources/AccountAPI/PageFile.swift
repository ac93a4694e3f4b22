import AccountLinking
import AccountOperations
import Crypto
import EmbeddedFiles
import HTTPServer
import HTTPTypes
import IdentityProviders
import JSON
import NIOCore
import NIOHTTP1

/// A file of the pages for people: part of the program, the same for every reader, and without secrets. A page shows the
/// branding of the project (`BrandedPage`). Secrets are
/// after the `#` of a page's address, or in the browser; only the pages' scripts use them (ADR 0022, ADR 0033).
///
/// The pages also load while the database is down: their scripts then show that, in the reader's language.
struct PageFile: Sendable {
    /// The permissions of a page, and the pages that may frame it.
    enum Kind: Sendable {
        /// A page in its own tab.
        case page
        /// A window that an app's page opens and that answers that page.
        case popup
        /// A frame in an app's page, loaded by a library of Google's.
        case frame
        /// Shows mails in a frame.
        case inbox
        /// Opened by an app, with the challenge of another origin; `nil` if there is no challenge.
        case challenge(AppChallenge?)
    }

    let path: String
    private let body: ByteBuffer
    /// The text of a page that shows the project's branding; `nil` for every other file.
    private let brandedText: String?
    /// An entity tag that changes with the content (RFC 9110 §8.8.3).
    private let entityTag: String
    private let headers: HTTPHeaders
    private let lastBranded = LastBrandedPage()

    private init(_ path: String, _ contentType: String, _ bytes: [UInt8], _ kind: Kind) {
        self.path = path
        body = ByteBuffer(bytes: bytes)
        brandedText =
            contentType.hasPrefix("text/html") && bytes.contains("<!--brand:".utf8)
            ? String(decoding: bytes, as: UTF8.self) : nil
        entityTag = Self.entityTag(bytes)
        var headers: HTTPHeaders = [
            "Content-Type": contentType,
            "Content-Security-Policy": Self.contentSecurityPolicy(kind),
            "Referrer-Policy": "no-referrer",
            // Revalidated for each request, so that page and script have the same version.
            "Cache-Control": "no-cache",
            "ETag": entityTag,
        ]
        switch kind {
        case .page, .inbox: headers.add(name: "Cross-Origin-Opener-Policy", value: "same-origin")
        // With this field the window would have no `opener`.
        case .popup, .frame, .challenge: break
        }
        self.headers = headers
    }

    /// Every file. The address of each is relative to the page, which may be below a path of a proxy.
    static let all =
        conflict + signIn + account + action + ["/__/auth", "/emulator/auth"].flatMap(handler)

    /// The pages of development only: the consent page of simulated providers, and the inbox of unsent mails and
    /// messages.
    static let development = [
        PageFile("/inbox", "text/html; charset=utf-8", page("inbox.html"), .inbox),
        PageFile("/inbox/icon.svg", "image/svg+xml", page("icon.svg"), .inbox),
        PageFile("/inbox/page.css", "text/css; charset=utf-8", page("page.css"), .inbox),
        PageFile("/inbox/inbox.css", "text/css; charset=utf-8", page("inbox.css"), .inbox),
        PageFile("/inbox/inbox.js", "text/javascript; charset=utf-8", page("inbox.js"), .inbox),
        PageFile(FakeProvider.pagePath, "text/html; charset=utf-8", page("provider.html"), .popup),
        PageFile("/emulator/auth/provider.js", "text/javascript; charset=utf-8", page("provider.js"), .popup),
        PageFile("/emulator/auth/provider.css", "text/css; charset=utf-8", page("provider.css"), .popup),
    ]

    /// The handler page, with the right to load the challenge of app verification.
    static func challenge(_ challenge: AppChallenge?) -> [PageFile] {
        ["/__/auth", "/emulator/auth"].map { folder in
            PageFile(
                folder + "/challenge",
                "text/html; charset=utf-8",
                page("handler.html"),
                .challenge(challenge)
            )
        }
    }

    /// True for the page `/account` and its files, which a project can turn off.
    var isOfAccountPage: Bool { path == "/account" || path.hasPrefix("/account/") }

    /// The bytes of a file in `Pages`.
    private static func page(_ name: String) -> [UInt8] {
        EmbeddedFile.bytes(of: "Sources/AccountAPI/Pages/\(name)")
    }

    private static let conflict = [
        PageFile("/conflict", "text/html; charset=utf-8", page("conflict.html"), .page),
        PageFile("/conflict/page.css", "text/css; charset=utf-8", page("page.css"), .page),
        PageFile("/conflict/common.js", "text/javascript; charset=utf-8", page("common.js"), .page),
        PageFile("/conflict/page.js", "text/javascript; charset=utf-8", page("page.js"), .page),
        PageFile("/conflict/strings.json", "application/json; charset=utf-8", strings("strings.json"), .page),
        PageFile("/conflict/icon.svg", "image/svg+xml", page("icon.svg"), .page),
    ]

    /// The page on which people sign in.
    private static let signIn = [
        PageFile("/signin", "text/html; charset=utf-8", page("signin.html"), .page),
        PageFile("/signin/page.css", "text/css; charset=utf-8", page("page.css"), .page),
        PageFile("/signin/signin.css", "text/css; charset=utf-8", page("signin.css"), .page),
        PageFile("/signin/common.js", "text/javascript; charset=utf-8", page("common.js"), .page),
        PageFile("/signin/service.js", "text/javascript; charset=utf-8", page("service.js"), .page),
        PageFile("/signin/signin.js", "text/javascript; charset=utf-8", page("signin.js"), .page),
        PageFile("/signin/signin.json", "application/json; charset=utf-8", strings("signin.json"), .page),
        PageFile("/signin/icon.svg", "image/svg+xml", page("icon.svg"), .page),
    ]

    /// The page on which people manage their account.
    private static let account = [
        PageFile("/account", "text/html; charset=utf-8", page("account.html"), .page),
        PageFile("/account/page.css", "text/css; charset=utf-8", page("page.css"), .page),
        PageFile("/account/account.css", "text/css; charset=utf-8", page("account.css"), .page),
        PageFile("/account/common.js", "text/javascript; charset=utf-8", page("common.js"), .page),
        PageFile("/account/service.js", "text/javascript; charset=utf-8", page("service.js"), .page),
        PageFile("/account/account.js", "text/javascript; charset=utf-8", page("account.js"), .page),
        PageFile("/account/account-merge.js", "text/javascript; charset=utf-8", page("account-merge.js"), .page),
        PageFile("/account/account-sections.js", "text/javascript; charset=utf-8", page("account-sections.js"), .page),
        PageFile("/account/account-tabs.js", "text/javascript; charset=utf-8", page("account-tabs.js"), .page),
        PageFile("/account/account-texts.js", "text/javascript; charset=utf-8", page("account-texts.js"), .page),
        PageFile("/account/account.json", "application/json; charset=utf-8", strings("account.json"), .page),
        PageFile("/account/icon.svg", "image/svg+xml", page("icon.svg"), .page),
    ]

    /// The strings of a page, with the names of the providers in their empty `names`.
    private static func strings(_ name: String) -> [UInt8] {
        let names = JSONWriter.object { writer in
            for known in KnownProvider.all { writer.field(known.id.rawValue, known.displayName) }
        }
        return page(name).replacing(#""names": {}"#.utf8, with: Array(#""names": "#.utf8) + names)
    }

    /// The page that links in mails open, also instead of an app that is not installed.
    private static let action = [
        PageFile("/__/auth/action", "text/html; charset=utf-8", page("action.html"), .page),
        PageFile("/__/auth/links", "text/html; charset=utf-8", page("action.html"), .page),
        PageFile("/__/auth/action.js", "text/javascript; charset=utf-8", page("action.js"), .page),
        PageFile("/__/auth/action.json", "application/json; charset=utf-8", page("action.json"), .page),
    ]

    /// The pages that SDKs open and embed to sign in on a provider's page, at both of their addresses.
    private static func handler(_ folder: String) -> [PageFile] {
        [
            PageFile(folder + "/handler", "text/html; charset=utf-8", page("handler.html"), .popup),
            PageFile(folder + "/common.js", "text/javascript; charset=utf-8", page("common.js"), .popup),
            PageFile(folder + "/native.js", "text/javascript; charset=utf-8", page("native.js"), .popup),
            PageFile(folder + "/handler.js", "text/javascript; charset=utf-8", page("handler.js"), .popup),
            PageFile(
                folder + "/handler.json",
                "application/json; charset=utf-8",
                page("handler.json"),
                .popup
            ),
            PageFile(folder + "/page.css", "text/css; charset=utf-8", page("page.css"), .popup),
            PageFile(folder + "/icon.svg", "image/svg+xml", page("icon.svg"), .popup),
            PageFile(folder + "/iframe", "text/html; charset=utf-8", page("iframe.html"), .frame),
            PageFile(folder + "/iframe.js", "text/javascript; charset=utf-8", page("iframe.js"), .frame),
        ]
    }

    /// Pages load only these files and call the API of the same origin. Inline scripts, inline styles and text as
    /// markup are forbidden. A frame also loads Google's library, which builds scripts, and any page may show the
    /// frame: its script passes nothing to a page that is not on an authorized domain. The challenge also builds
    /// scripts; its page holds no secret and calls only the API of the same origin.
    private static func contentSecurityPolicy(_ kind: Kind) -> String {
        if case .challenge(let challenge?) = kind {
            let origins = (challenge.origins + [challenge.scriptOrigin]).joined(separator: " ")
            return [
                "default-src 'none'", "script-src 'self' \(origins)", "frame-src \(origins)",
                "style-src 'self' 'unsafe-inline' \(origins)", "img-src 'self' data: \(origins)",
                "connect-src 'self' \(origins)", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            ].joined(separator: "; ")
        }
        let scripts =
            switch kind {
            case .page, .popup, .inbox, .challenge: "script-src 'self'"
            case .frame: "script-src 'self' https://apis.google.com"
            }
        let common = [
            "default-src 'none'", scripts, "style-src 'self'", "img-src 'self'", "connect-src 'self'",
            "base-uri 'none'", "form-action 'none'",
        ]
        let alone: [String] =
            switch kind {
            case .page, .popup, .challenge: ["frame-ancestors 'none'", "require-trusted-types-for 'script'"]
            case .inbox: ["frame-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]
            case .frame: []
            }
        return (common + alone).joined(separator: "; ")
    }

    /// Redirects a body that was posted to a static page: the page reads it after the `#`. A provider that answers by a
    /// form (OAuth 2.0 Form Post Response Mode) posts a code, which must not be in a query, because queries are logged.
    func response(toPost request: ServerRequest) throws(APIError) -> ServerResponse {
        guard case .complete(let body) = request.body else { throw .bodyTooLarge }
        let posted = PercentEncoding.encode(String(decoding: body.readableBytesView, as: UTF8.self))
        guard posted.utf8.count <= Self.postedBytesMax else { throw .bodyTooLarge }
        var response = ServerResponse(status: .seeOther)
        let page = path.split(separator: "/").last.map(String.init) ?? path
        response.headers.add(name: "Location", value: "\(page)#post=\(posted)")
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    private static let postedBytesMax = 16 * 1024

    /// The file, or 304 if the client has it already (RFC 9110 §13.1.2).
    ///
    /// - `branding`: `.none` before the database is read for the first time.
    func response(to request: ServerRequest, _ branding: Branding) -> ServerResponse {
        guard let brandedText, branding != .none else {
            if request.holds(entityTag) { return ServerResponse(status: .notModified, headers: headers) }
            return ServerResponse(status: .ok, headers: headers, body: body)
        }
        let page = lastBranded.page(in: branding) {
            let bytes = Array(BrandedPage(branding, path: path).html(brandedText).utf8)
            return (ByteBuffer(bytes: bytes), Self.entityTag(bytes))
        }
        var headers = headers
        headers.replaceOrAdd(name: "ETag", value: page.entityTag)
        if request.holds(page.entityTag) { return ServerResponse(status: .notModified, headers: headers) }
        return ServerResponse(status: .ok, headers: headers, body: page.body)
    }

    private static func entityTag(_ bytes: [UInt8]) -> String {
        "\"\(Base64URL.encode(Array(SHA256.hash(data: bytes))))\""
    }
}

extension AppChallenge {
    /// Scheme, host and port of its script.
    fileprivate var scriptOrigin: String {
        scriptURL.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).prefix(3).joined(separator: "/")
    }
}
