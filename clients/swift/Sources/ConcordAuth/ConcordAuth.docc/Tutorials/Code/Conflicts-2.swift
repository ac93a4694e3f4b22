import ConcordAuth
import Foundation

struct Conflicts {
    let auth: Auth

    enum Outcome {
        case signedIn(User)
        case conflict(AuthConflict)
    }

    func signIn(gitHubToken token: String) async throws(AuthError) -> Outcome {
        do throws(AuthError) {
            return .signedIn(try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token)).user)
        } catch {
            guard let conflict = error.conflict else { throw error }
            return .conflict(conflict)
        }
    }
}
