import ConcordAuth
import Foundation

struct Conflicts {
    let auth: Auth

    func signIn(gitHubToken token: String) async throws(AuthError) -> User {
        try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user
    }
}
