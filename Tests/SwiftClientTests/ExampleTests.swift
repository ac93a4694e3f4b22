import AccountTestSupport
import ConcordAuth
import Foundation
import JSON
import Testing

extension SwiftClientTests {
    /// `examples/swift` as a person uses it.
    @Suite(.serialized, .devServer) struct ExampleTests {
        /// The owner of an account with a password.
        private static let owner: @Sendable (String) async throws -> ExampleApp.Reply? = { question in
            switch question {
            case _ where question.hasSuffix("decline"): .text("password")
            case _ where question.hasPrefix("Password"): .text(DevServer.password)
            case _ where question.hasSuffix("yes or no"): .text("yes")
            default: nil
            }
        }

        @Test func `the conflict of the example is settled in 30 lines`() throws {
            let file = Repository.root + "/examples/swift/Sources/Conflict.swift"
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            let begin = try #require(lines.firstIndex(of: "// begin: conflict"))
            let end = try #require(lines.firstIndex(of: "// end: conflict"))
            let counted = lines[(begin + 1)..<end].filter { !$0.allSatisfy(\.isWhitespace) }
            #expect(counted.count <= 30 && counted.count > 10)
            #expect(lines.allSatisfy { $0.count <= 120 })
        }

        @Test func `sign up, meet a conflict, settle it with the password, reauthenticate, delete`() async throws {
            try await DevServer.run { server in
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let email = server.address()
                let signUp = try await app.run("sign-up", email, answer: Self.owner)
                #expect(signUp.exitCode == 0, "\(signUp.output)")
                #expect(signUp.output.contains("\(email) signs in with password\n"))
                let mode = try FileManager.default.attributesOfItem(atPath: app.store)[.posixPermissions] as? Int
                #expect(mode == 0o600)
                #expect(try await app.run("sign-out").exitCode == 0)

                // Without an answer to its question, the app ends and the conflict stays.
                let github = try await app.run("github", DevServer.gitHubToken(email))
                #expect(github.exitCode == 1, "\(github.output)")
                let status = try await app.run("status")
                #expect(status.output == "No user is signed in.\ngithub.com waits for the owner of the account\n")

                let resumed = try await app.run("resume", answer: Self.owner)
                #expect(resumed.output.hasSuffix("\(email) signs in with github.com, password\n"), "\(resumed.output)")
                #expect(try await app.run("status").output == "\(email) signs in with github.com, password\n")
                #expect(try await app.run("resume").output == "No conflict waits.\n")

                let again = try await app.run("reauthenticate", answer: Self.owner)
                #expect(again.exitCode == 0, "\(again.output)")
                let deleted = try await app.run("delete", answer: Self.owner)
                #expect(deleted.output.hasSuffix("The account is deleted.\n"), "\(deleted.output)")
                #expect(try await app.run("status").output == "No user is signed in.\n")
                await #expect(throws: Missing.self) { try await server.account(email) }
            }
        }

        @Test func `settle a conflict with a mailed code`() async throws {
            try await DevServer.run { server in
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let email = server.address()
                let uid = try await server.signUpProven(email)
                let github = try await app.run("github", DevServer.gitHubToken(email)) { question in
                    switch question {
                    case "Code of the mail": .text(try await server.conflictCode(of: email))
                    case _ where question.hasSuffix("decline"):
                        .text((try? await server.conflictCode(of: email)) == nil ? "mail" : "code")
                    default: .text("yes")
                    }
                }
                #expect(github.output.hasSuffix("\(email) signs in with github.com, password\n"), "\(github.output)")
                #expect(try await server.account(email)["localId"]?.string == uid)
            }
        }

        @Test func `settle a conflict of an account with a second factor`() async throws {
            try await DevServer.run { server in
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let email = server.address()
                try await server.signUpProven(email)
                let owner = try server.auth("owner")
                let user = try await owner.signIn(withEmail: email, password: DevServer.password).user
                let secret = try await TOTPMultiFactorGenerator.generateSecret(with: user.multiFactor.session())
                let authenticator = Authenticator(secret: secret.sharedSecretKey())
                let code = authenticator.code()
                try await user.multiFactor.enroll(
                    with: TOTPMultiFactorGenerator.assertionForEnrollment(with: secret, oneTimePassword: code),
                    displayName: nil
                )
                let github = try await app.run("github", DevServer.gitHubToken(email)) { question in
                    question.hasPrefix("Code") ? .text(authenticator.code(steps: 1)) : try await Self.owner(question)
                }
                #expect(github.output.hasSuffix("\(email) signs in with github.com, password\n"), "\(github.output)")
                #expect(try await app.run("resume").output == "No conflict waits.\n")
            }
        }

        @Test func `decline a conflict`() async throws {
            try await DevServer.run { server in
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let email = server.address()
                try await server.signUpProven(email)
                let github = try await app.run("github", DevServer.gitHubToken(email)) { _ in .text("decline") }
                #expect(github.output.hasSuffix("No user is signed in.\n"), "\(github.output)")
                #expect(try await app.run("status").output == "No user is signed in.\n")
                #expect(try await server.account(email).providers == ["password"])
            }
        }

        @Test func `wrong input ends with a message and a status`() async throws {
            try await DevServer.run { server in
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let unknown = try await app.run("dance")
                #expect(unknown.exitCode == 64 && unknown.output.hasPrefix("usage: concord-example"))
                let wrong = try await app.run("sign-in", server.address()) { _ in .text("wrong") }
                #expect(wrong.exitCode == 1, "\(wrong.output)")
                #expect(wrong.output.contains("concord-example: userNotFound (EMAIL_NOT_FOUND): "))
                let insecure = try await ExampleApp(server: "http://id.example.com", store: app.store).run("status")
                #expect(insecure.output.hasPrefix("concord-example: insecureServer: "), "\(insecure.output)")
            }
        }
    }
}
