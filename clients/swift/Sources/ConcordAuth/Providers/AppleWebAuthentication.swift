#if canImport(AuthenticationServices) && !os(tvOS) && !os(watchOS)
import AuthenticationServices
public import Foundation

/// Opens pages in the system's sign-in sheet (`ASWebAuthenticationSession`).
///
/// The sheet calls back by the app's URL scheme, which needs no entry in `Info.plist`.
///
/// This type is compiled on Apple's systems only, and has not run there: `TESTPLAN.md` says what to try.
public struct AppleWebAuthentication: WebAuthenticating {
    private let sharesCookies: Bool

    /// - Parameter sharesCookies: True if the sheet shares the browser's sign-ins. The system then asks the person
    ///   before the sheet opens.
    public init(sharesCookies: Bool = true) {
        self.sharesCookies = sharesCookies
    }

    public func open(
        _ page: WebPage,
        willOpen: @Sendable (WebCallback) throws(AuthError) -> Void
    ) async throws(AuthError) -> URL {
        guard let scheme = page.callbackScheme else { throw .noCallbackScheme }
        try willOpen(.scheme)
        let answer = Promise<URL>()
        let sheet = await Sheet(page.url(callingBack: .scheme), scheme: scheme, sharesCookies: sharesCookies, answer)
        do {
            let url = try await answer.value()
            guard page.isCallback(url) else {
                throw AuthError(.webInternalError, "the sheet answered for another page")
            }
            return url
        } catch {
            await sheet.close()
            throw error
        }
    }
}

/// One sheet.
@MainActor
private final class Sheet: NSObject, ASWebAuthenticationPresentationContextProviding {
    private var session: ASWebAuthenticationSession?

    init(_ url: URL, scheme: String, sharesCookies: Bool, _ answer: Promise<URL>) {
        super.init()
        let session = ASWebAuthenticationSession(url: url, callbackURLScheme: scheme) { @Sendable url, error in
            if let url {
                answer.settle(.success(url))
            } else if (error as? ASWebAuthenticationSessionError)?.code == .canceledLogin {
                answer.settle(
                    .failure(AuthError(.webContextCancelled, "the person closed the sheet", underlying: error))
                )
            } else {
                answer.settle(.failure(AuthError(.webInternalError, "the sheet failed", underlying: error)))
            }
        }
        session.presentationContextProvider = self
        session.prefersEphemeralWebBrowserSession = !sharesCookies
        self.session = session
        if !session.start() {
            answer.settle(.failure(AuthError(.webInternalError, "the sheet cannot be shown")))
        }
    }

    func close() {
        session?.cancel()
    }

    func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor {
        ASPresentationAnchor()
    }
}
#endif
