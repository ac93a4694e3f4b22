import ConcordAuth
import Foundation

/// A command-line app: it signs in, settles conflicts, signs in again before sensitive changes, and deletes the account.
@main struct Example {
    let auth: Auth
    let person = Person()

    static let usage = """
        usage: concord-example [--server URL] [--project ID] [--key KEY] [--store FILE] [--timeout SECONDS]
                               COMMAND [EMAIL | TOKEN | LINK]

          sign-up EMAIL     create an account with a password
          sign-in EMAIL     sign in with a password
          github TOKEN      sign in with a token of GitHub
          mail-link EMAIL   mail a sign-in link
          open LINK         sign in with a mailed link
          status            show the account, and the conflicts that wait
          resume            settle the newest conflict that waits
          reauthenticate    sign in again with the password, or with GitHub
          delete            delete the account
          sign-out          end the session on this machine
        """

    static func main() async {
        do {
            var arguments = Array(CommandLine.arguments.dropFirst())
            let auth = try Auth(configuration: configuration(&arguments))
            guard let command = arguments.first else { return quit(usage, 64) }
            try await Example(auth: auth).run(command, arguments.dropFirst().first ?? "")
        } catch let error as AuthError {
            quit("concord-example: \(error)", 1)
        } catch {
            quit("concord-example: \(error)", 70)
        }
    }

    /// Takes the options from the arguments.
    static func configuration(_ arguments: inout [String]) throws(AuthError) -> AuthConfiguration {
        var options = ["--server": "http://127.0.0.1:9099", "--project": "demo-concord", "--key": "any"]
        while let name = arguments.first, name.hasPrefix("--"), arguments.count > 1 {
            options[name] = arguments[1]
            arguments.removeFirst(2)
        }
        guard let server = URL(string: options["--server"] ?? "") else {
            throw AuthError(.invalidArgument, "`--server` is no URL")
        }
        return AuthConfiguration(
            server: server,
            apiKey: options["--key"] ?? "",
            projectID: options["--project"] ?? "",
            sessions: options["--store"].map { FileSessionStore(file: URL(fileURLWithPath: $0)) },
            requestTimeout: options["--timeout"].flatMap { TimeInterval($0) } ?? 30
        )
    }

    /// Runs a command. If the account has a second factor, its code completes the sign-in.
    func run(_ command: String, _ argument: String) async throws {
        do {
            try await perform(command, argument)
        } catch let error as AuthError where error.code == .secondFactorRequired {
            guard let resolver = error.resolver, let factor = resolver.hints.first(where: { $0.factorID == "totp" })
            else { throw error }
            let assertion = TOTPMultiFactorGenerator.assertionForSignIn(
                withEnrollmentID: factor.uid,
                oneTimePassword: person.answer("Code of your authenticator app")
            )
            show(try await resolver.resolveSignIn(with: assertion).user)
            if command == "github" || command == "resume" { try await perform("resume", "") }
        }
    }

    private func perform(_ command: String, _ argument: String) async throws {
        switch command {
        case "sign-up":
            show(try await auth.createUser(withEmail: argument, password: person.secret("Password")).user)
        case "sign-in":
            show(try await auth.signIn(withEmail: argument, password: person.secret("Password")).user)
        case "github":
            show(try await signIn(gitHubToken: argument, in: auth, person))
        case "mail-link":
            var settings = ActionCodeSettings()
            settings.url = URL(string: "http://localhost/")
            settings.handleCodeInApp = true
            try await auth.sendSignInLink(toEmail: argument, actionCodeSettings: settings)
            person.show("The link is in the mail: concord-example open LINK")
        case "open":
            show(try await auth.signIn(link: argument).user)
        case "status":
            let waiting = try auth.pendingConflicts()
            show(try auth.storedUser())
            for conflict in waiting { person.show("\(conflict.providerID) waits for the owner of the account") }
        case "resume":
            guard let conflict = try auth.pendingConflicts().first else { return person.show("No conflict waits.") }
            show(try await settle(conflict, in: auth, person))
        case "reauthenticate":
            show(try await reauthenticated())
        case "delete":
            try await delete()
        case "sign-out":
            try auth.signOut()
        default:
            Self.quit(Self.usage, 64)
        }
    }

    /// Signs in again: Concord wants a recent sign-in before it changes sign-in methods or deletes an account.
    private func reauthenticated() async throws -> User {
        guard let user = try auth.storedUser() else { throw AuthError(.nullUser, "no user is signed in") }
        let hasPassword = user.providerData.contains { $0.providerID == EmailAuthProvider.id }
        let credential =
            if hasPassword, let email = user.email {
                EmailAuthProvider.credential(withEmail: email, password: person.secret("Password of \(email)"))
            } else {
                GitHubAuthProvider.credential(withToken: person.secret("Token of GitHub"))
            }
        return try await user.reauthenticate(with: credential).user
    }

    private func delete() async throws {
        guard let user = try auth.storedUser() else { throw AuthError(.nullUser, "no user is signed in") }
        guard person.agrees("Delete \(user.email ?? user.uid)") else { return }
        do throws(AuthError) {
            try await user.delete()
        } catch {
            guard error.code == .requiresRecentLogin else { throw error }
            try await reauthenticated().delete()
        }
        person.show("The account is deleted.")
    }

    private func show(_ user: User?) {
        guard let user else { return person.show("No user is signed in.") }
        let methods = user.providerData.map(\.providerID).sorted().joined(separator: ", ")
        person.show("\(user.email ?? user.uid) signs in with \(methods)")
    }

    private static func quit(_ text: String, _ status: Int32) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
        exit(status)
    }
}
