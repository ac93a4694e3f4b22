import ConcordAuth
import JSON
import Testing

extension SwiftClientTests {
    /// Conflicts against `concord dev`. Each new client on the same session store stands for the app after a restart.
    @Suite(.serialized, .devServer) struct ConflictTests {
        /// Signs in with GitHub, as a stranger to the account of `email`.
        private static func open(_ server: DevServer, _ email: String, _ auth: Auth) async throws -> AuthConflict {
            let token = DevServer.gitHubToken(email)
            let error = await #expect(throws: AuthError.self) {
                try await auth.signIn(with: GitHubAuthProvider.credential(withToken: token))
            }
            #expect(error?.code == .accountExistsWithDifferentCredential)
            #expect(error?.email == email)
            #expect(error?.updatedCredential != nil)
            #expect(auth.currentUser == nil)
            return try #require(error?.conflict)
        }

        @Test func `a conflict is proven and settled by later launches`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUpProven(email)
                _ = try await Self.open(server, email, try server.auth())

                let second = try server.auth()
                let conflict = try #require(try second.pendingConflicts().first)
                #expect(
                    conflict.kind == .accountExists && conflict.providerID == "github.com" && conflict.email == email
                )
                #expect(try await conflict.read(in: second).state == .open)
                #expect(try await conflict.startProof(in: second).attemptsLeft != nil)

                let third = try server.auth()
                let waiting = try #require(try third.pendingConflicts().first)
                let wrong = await #expect(throws: AuthError.self) {
                    try await waiting.prove(code: "00000000", in: third)
                }
                #expect(wrong?.code == .wrongProof)
                let proof = try await waiting.prove(code: server.conflictCode(of: email), in: third)
                #expect(proof.suspended == [] && proof.accountExists)

                let fourth = try server.auth()
                let proven = try #require(try fourth.pendingConflicts().first)
                let user = try await proven.resolve(in: fourth).user
                #expect(user.uid == uid)
                #expect(user.providerData.map(\.providerID).sorted() == ["github.com", "password"])
                #expect(try fourth.pendingConflicts() == [])
                // The session and the known device are there after another restart.
                let fifth = try server.auth()
                #expect(fifth.currentUser?.uid == uid)
                guard case .known(let account) = try await fifth.lookup(email: email) else {
                    Issue.record("the device is not known")
                    return
                }
                #expect(Set(account.methods.map(\.name)).isSuperset(of: ["github.com", "password"]))
            }
        }

        @Test func `a conflict is settled with the password of the account`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUp(email)
                let auth = try server.auth()
                let conflict = try await Self.open(server, email, auth)
                let wrong = EmailAuthProvider.credential(withEmail: email, password: "wrong password")
                let refusal = await #expect(throws: AuthError.self) { try await conflict.settle(with: wrong, in: auth) }
                #expect(refusal?.code == .wrongPassword)
                #expect(try auth.pendingConflicts().count == 1)
                let known = EmailAuthProvider.credential(withEmail: email, password: DevServer.password)
                let user = try await conflict.settle(with: known, in: auth).user
                #expect(user.uid == uid && auth.currentUser === user)
                #expect(try await server.account(email).providers == ["github.com", "password"])
                #expect(try auth.pendingConflicts() == [])
            }
        }

        @Test func `a declined conflict is closed for every client`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                try await server.signUp(email)
                let (auth, copy) = (try server.auth(), try server.auth("copy"))
                let conflict = try await Self.open(server, email, auth)
                try await conflict.decline(in: auth)
                #expect(try auth.pendingConflicts() == [])
                let late = await #expect(throws: AuthError.self) { try await conflict.startProof(in: copy) }
                #expect(late?.code == .conflictClosed || late?.code == .conflictUnknown, "\(late as Any)")
                #expect(try await server.account(email).providers == ["password"])
            }
        }

        @Test func `a lookup proves the mailbox and signs in`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUpProven(email)
                let auth = try server.auth()
                #expect(try await auth.lookup(email: email) == .mailSent)
                let wrong = await #expect(throws: AuthError.self) {
                    try await auth.prove(lookupCode: "00000000", email: email)
                }
                #expect(wrong?.code == .wrongProof)
                let proven = try await auth.prove(lookupCode: server.digits(to: email), email: email)
                #expect(proven.email == email && proven.signsIn && proven.lastUsed == "password")
                #expect(try await proven.signIn(in: auth).user.uid == uid)
                // A stranger gets the answer of every address.
                #expect(try await server.auth("stranger").lookup(email: server.address("no-account")) == .mailSent)
            }
        }

        @Test func `a lookup settles a conflict`() async throws {
            try await DevServer.run { server in
                let email = server.address()
                let uid = try await server.signUpProven(email)
                let auth = try server.auth()
                let conflict = try await Self.open(server, email, auth)
                _ = try await auth.lookup(email: email)
                let proven = try await auth.prove(lookupCode: server.digits(to: email), email: email)
                try await proven.prove(conflict, in: auth)
                #expect(try await conflict.resolve(in: auth).user.uid == uid)
                #expect(try await server.account(email).providers == ["github.com", "password"])
            }
        }
    }
}
