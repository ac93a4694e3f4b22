import Foundation
import Testing

@testable import ConcordAuth

/// A mailed link in an app that loses power.
struct EmailLinkTests {
    private func link(_ code: String) -> String {
        "https://id.example.com/__/auth/action?mode=signIn&oobCode=\(code)&apiKey=key&lang=en"
    }

    private func settings() -> ActionCodeSettings {
        var settings = ActionCodeSettings()
        settings.url = URL(string: "https://app.example.com/welcome")
        settings.handleCodeInApp = true
        return settings
    }

    @Test("an app that loses power at any request signs in by the mailed link on its next launch")
    func killedApp() async throws {
        let settings = settings()
        let whole = FakeConcord()
        let auth = try whole.auth(InMemorySessionStore())
        try await auth.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings)
        try await auth.signIn(link: link("code-1"))
        for number in 1...whole.requests.count {
            for end in [FakeConcord.Process.End.before(number), .after(number)] {
                let server = FakeConcord()
                let store = InMemorySessionStore()
                let first = try server.auth(store, end)
                try? await first.sendSignInLink(toEmail: "ada@example.com", actionCodeSettings: settings)
                _ = try? await first.signIn(link: link("code-1"))
                let next = try server.auth(store)
                if next.currentUser == nil {
                    do {
                        try await next.signIn(link: link("code-1"))
                    } catch {
                        guard error.code == .invalidActionCode else { throw error }
                        // The server took the code, and the answer was lost: the person asks for another link.
                        let email = try #require(store.read()?.emailLinks.last?.email)
                        try await next.sendSignInLink(toEmail: email, actionCodeSettings: settings)
                        try await next.signIn(link: link("code-2"))
                    }
                }
                #expect(next.currentUser?.uid == "ada", "\(end)")
                #expect(try store.read()?.emailLinks.isEmpty == true || number == whole.requests.count, "\(end)")
            }
        }
    }
}
