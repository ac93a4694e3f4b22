import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

extension Route {
    /// `GET /concord/v1/signIn`: the parts of the project's configuration that its sign-in page shows, the same for
    /// everyone.
    static let signInPage = Route(.get, "/concord/v1/signIn", access: .anyone) { request in
        let operations = request.operations
        let policy = operations.project.settings.policy
        return .object { writer in
            writer.field("apiKey", operations.project.apiKey)
            writer.field("methods", objects: operations.offeredMethods) { writer, offered in
                writer.field("method", offered.method.name)
                writer.field("displayName", offered.displayName)
            }
            writer.field("signUp") { writer in
                writer.field("allowed", policy.allowsClientSignUp)
                writer.field("requires", policy.signUpRequiresMailbox ? "mailbox" : "none")
            }
            writer.field("textChallenge", operations.apps.textChallenge.rawValue)
        }
    }
}
