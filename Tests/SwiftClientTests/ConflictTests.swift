import ConcordAuth
import Foundation
import Testing

/// What only Concord has, in the Swift client, against `concord dev`.
struct ConflictTests {
    @Test("a conflict is proven by code in one process, and resolved in the next")
    func provenByCode() async throws {
        try await DevServer.run { server in
            let store = InMemorySessionStore()
            let first = try server.auth(store)
            try await first.createUser(withEmail: "ada@example.com", password: "correct horse")
            try first.signOut()
            let twitter = credential(.twitter, subject: "77", email: "ada@example.com")
            await expect(.accountExistsWithDifferentCredential) { () throws(AuthError) in
                try await first.signIn(with: twitter)
            }
            let second = try server.auth(store)
            let conflict = try #require(try second.pendingConflicts().first)
            #expect(try await conflict.read(in: second).state == .open)
            try await conflict.startProof(in: second)
            await expect(.wrongProof) { () throws(AuthError) in try await conflict.prove(code: "0000 0000", in: second)
            }
            let code = try await server.conflictCode()
            let proof = try await conflict.prove(code: code, in: second)
            #expect(proof.suspended.map(\.method) == ["password"])
            #expect(try await conflict.prove(code: code, in: second) == proof)
            let third = try server.auth(store)
            let user = try await conflict.resolve(in: third).user
            #expect(user.providerData.map(\.providerID).contains("twitter.com"))
            #expect(try third.pendingConflicts().isEmpty)
            // The answer was lost: a later process repeats the request.
            let device = try server.auth()
            #expect(try await conflict.resolve(proof, in: device).user == user)
            guard case .known(let account) = try await third.lookup(email: "ada@example.com") else {
                Issue.record("the device is not known")
                return
            }
            #expect(account.methods.contains { $0.name == "twitter.com" && $0.works })
            try await user.restorePassword("correct horse")
            let methods = try await user.methods()
            #expect(
                try await user.removeMethod("twitter.com", version: methods.version).methods.map(\.method) == [
                    "password"
                ]
            )
            await expect(.changedMeanwhile) { () throws(AuthError) in
                try await user.removeMethod("password", version: methods.version)
            }
            #expect(try await user.sessions().sessions.contains(where: \.isCurrent))
            #expect(try await user.events().events.contains { $0.kind == "conflict-opened" })
            #expect(try await !user.exportData().isEmpty)
            try await user.endAllSessions()
            #expect(third.currentUser == nil)
        }
    }

    @Test("a conflict is settled by the password of the account, or declined")
    func settledOrDeclined() async throws {
        try await DevServer.run { server in
            let auth = try server.auth()
            try await auth.createUser(withEmail: "bob@example.com", password: "correct horse")
            try auth.signOut()
            let github = credential(.gitHub, subject: "78", email: "bob@example.com")
            let refused = await expect(.accountExistsWithDifferentCredential) { () throws(AuthError) in
                try await auth.signIn(with: github)
            }
            try await #require(refused?.conflict).decline(in: auth)
            #expect(try auth.pendingConflicts().isEmpty)
            let again = await expect(.accountExistsWithDifferentCredential) { () throws(AuthError) in
                try await auth.signIn(with: github)
            }
            let conflict = try #require(again?.conflict)
            let password = EmailAuthProvider.credential(withEmail: "bob@example.com", password: "correct horse")
            let user = try await conflict.settle(with: password, in: auth).user
            #expect(user.providerData.map(\.providerID) == ["password", "github.com"])
            #expect(try await conflict.link(to: user).user == user)
            let guest = try server.auth()
            let anonymous = try await guest.signInAnonymously().user
            let inUse = await expect(.credentialAlreadyInUse) { () throws(AuthError) in
                try await anonymous.link(with: github)
            }
            #expect(try await guest.signIn(with: #require(inUse?.updatedCredential)).user == user)
        }
    }

    @Test("an unproven address is confirmed by the mailed code, with and without an account")
    func unprovenAddress() async throws {
        try await DevServer.run { server in
            let first = try server.auth()
            try await first.createUser(withEmail: "cy@example.com", password: "correct horse")
            try await server.send(
                "PATCH",
                "/v2/projects/demo-concord/config?updateMask=linkPolicy.unprovenAddress",
                ["linkPolicy": ["unprovenAddress": "confirm"]]
            )
            for email in ["cy@example.com", "new@example.com"] {
                let store = InMemorySessionStore()
                let auth = try server.auth(store)
                let refused = await expect(.accountExistsWithDifferentCredential) { () throws(AuthError) in
                    try await auth.signIn(with: credential(.gitHub, subject: email, email: email))
                }
                let conflict = try #require(refused?.conflict)
                #expect(conflict.kind == .unprovenAddress)
                let proof = try await conflict.prove(code: server.mailedCode(to: email), in: auth)
                #expect(proof.accountExists == (email == "cy@example.com"))
                let result = try await conflict.resolve(in: server.auth(store))
                #expect(result.user.providerData.map(\.providerID).contains("github.com"))
                #expect(result.additionalUserInfo?.isNewUser == (email == "new@example.com"))
                #expect(try auth.pendingConflicts().isEmpty)
            }
        }
    }

    @Test("a first sign-in asks, and two accounts are merged and separated again")
    func firstSignInAndMerge() async throws {
        try await DevServer.run { server in
            let auth = try server.auth()
            let google = credential(.google, subject: "80", email: "dan@gmail.com")
            let asked = await expect(.asksFirst) { () throws(AuthError) in
                try await auth.signIn(with: google, asksFirst: true)
            }
            let user = try await #require(asked?.firstSignIn).createAccount(in: auth).user
            let other = try await server.auth().createUser(withEmail: "dan@example.com", password: "correct horse").user
            let preview = try await user.previewMerge(with: other)
            let choices = Dictionary(uniqueKeysWithValues: preview.undecided.map { ($0, MergeSide.survivor) })
            let merge = try await user.merge(with: other, choices: choices)
            #expect(merge.state == .committed)
            #expect(try await user.merges().first?.canUndo == true)
            #expect(try await user.undoMerge(merge.id).state == .undone)
            #expect(auth.currentUser == nil)
        }
    }
}
