import AccountTestSupport
import JSON
import Testing

extension SwiftClientTests {
    /// An app that is killed by SIGKILL while it waits continues with its next launch: nothing is lost, nothing is done
    /// twice.
    @Suite(.serialized, .devServer) struct KilledAppTests {
        /// The two ways by which the owner of an account settles a conflict.
        enum Way: String, CaseIterable, Sendable {
            case password
            case mail
        }

        /// The owner, who answers until `kill` is asked.
        private static func owner(
            _ server: DevServer,
            _ email: String,
            _ way: Way,
            kill: String? = nil
        ) -> @Sendable (String) async throws -> ExampleApp.Reply? {
            { question in
                if let kill, question.hasSuffix(kill) { return .kill }
                switch question {
                case "Password": return .text(DevServer.password)
                case "Code of the mail": return .text(try await server.conflictCode(of: email))
                case _ where question.hasSuffix("decline"):
                    if way == .password { return .text("password") }
                    return .text((try? await server.conflictCode(of: email)) == nil ? "mail" : "code")
                default: return .text("yes")
                }
            }
        }

        @Test(
            arguments: [
                (Way.password, "decline"), (.password, "Password"), (.mail, "decline"), (.mail, "Code of the mail"),
                (.mail, "yes or no"),
            ]
        )
        func `killed at a question, the app continues there`(_ way: Way, _ question: String) async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUpProven(email)
                let app = ExampleApp(server: server.url, store: server.store("example"))
                let killed = try await app.run(
                    "github",
                    DevServer.gitHubToken(email),
                    answer: Self.owner(server, email, way, kill: question)
                )
                #expect(killed.wasKilled, "\(killed.output)")
                let resumed = try await app.run("resume", answer: Self.owner(server, email, way))
                #expect(resumed.output.hasSuffix("\(email) signs in with github.com, password\n"), "\(resumed.output)")
                // A proof that was stored is not asked for again.
                if question == "yes or no" { #expect(resumed.questions == ["Link GitHub to \(email)? Type yes or no"]) }
                #expect(try await server.account(email)["localId"]?.string == uid)
                #expect(try await app.run("resume").output == "No conflict waits.\n")
            }
        }

        /// Kills the app at each of its requests: before the server gets it, and after the server acted.
        @Test(arguments: Way.allCases, HoldingProxy.Part.allCases)
        func `killed at any request, the app continues`(_ way: Way, _ part: HoldingProxy.Part) async throws {
            try await DevServer.run { server in
                try await HoldingProxy.run(before: server.url) { proxy in
                    var number = 1
                    while true {
                        let email = server.address("\(way)-\(part)-\(number)")
                        let uid = try await server.signUpProven(email)
                        let app = ExampleApp(server: proxy.url, store: server.store("\(way)-\(part)-\(number)"))
                        proxy.hold(part, ofExchange: number)
                        let first = try await app.run(
                            "github",
                            DevServer.gitHubToken(email),
                            answer: Self.owner(server, email, way),
                            kill: proxy.kill
                        )
                        let requests = proxy.count
                        proxy.pass()
                        guard first.wasKilled else {
                            // The app sends fewer requests than `number`: each was killed once.
                            #expect(requests == number - 1 && number > 3, "\(first.output)")
                            return
                        }
                        try await Self.expectSettled(app, server, email, uid, way, "\(part) \(number)")
                        number += 1
                    }
                }
            }
        }

        /// Launches the app until no conflict waits, as its user does.
        private static func expectSettled(
            _ app: ExampleApp,
            _ server: DevServer,
            _ email: String,
            _ uid: String,
            _ way: Way,
            _ step: String
        ) async throws {
            let resumed = try await app.run("resume", answer: owner(server, email, way))
            if resumed.output == "No conflict waits.\n" {
                // The app did not learn of the conflict, or all was done: the credential is as good as before.
                let again = try await app.run("github", DevServer.gitHubToken(email), answer: owner(server, email, way))
                #expect(again.exitCode == 0, "\(step): \(again.output)")
            } else {
                #expect(resumed.exitCode == 0, "\(step): \(resumed.output)")
            }
            let status = try await app.run("status")
            #expect(status.output == "\(email) signs in with github.com, password\n", "\(step): \(resumed.output)")
            let account = try await server.account(email)
            #expect(account["localId"]?.string == uid, "\(step)")
            #expect(account.providers == ["github.com", "password"], "\(step)")
        }

        @Test func `a mailed link signs in after the app was killed`() async throws {
            try await DevServer.run { server in
                try await HoldingProxy.run(before: server.url) { proxy in
                    for part in HoldingProxy.Part.allCases {
                        let email = server.address("\(part)")
                        let app = ExampleApp(server: proxy.url, store: server.store("\(part)"))
                        proxy.hold(part, ofExchange: 1)
                        let killed = try await app.run(
                            "mail-link",
                            email,
                            kill: proxy.kill
                        )
                        #expect(killed.wasKilled)
                        proxy.pass()
                        if part == .request { #expect(try await app.run("mail-link", email).exitCode == 0) }
                        let link = try await server.link(to: email)
                        // Killed while the link is used: only an answer that was lost takes another mail.
                        proxy.hold(.request, ofExchange: 1)
                        let opened = try await app.run(
                            "open",
                            link,
                            kill: proxy.kill
                        )
                        #expect(opened.wasKilled)
                        proxy.pass()
                        let signedIn = try await app.run("open", link)
                        #expect(signedIn.output == "\(email) signs in with password\n", "\(signedIn.output)")
                    }
                }
            }
        }
    }
}
