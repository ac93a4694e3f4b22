import Foundation
import Testing

@testable import ConcordAuth

/// The routes of the user's own account.
struct AccountRoutesTests {
    private func signedIn(_ server: FakeConcord) async throws -> User {
        let auth = try server.auth(InMemorySessionStore())
        return try await auth.signIn(withEmail: "ada@example.com", password: "correct horse").user
    }

    @Test("a method is removed under the version that the person saw")
    func methods() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        let list: JSONValue = [
            "methods": [
                ["method": "password", "works": true, "proof": "sign-up", "proveTime": "2026-01-05T09:00:00.000Z"]
            ]
        ]
        server.script("/concord/v1/account/methods", list)
        server.script("/concord/v1/account/methods/oidc.a/b", list)
        let methods = try await user.methods()
        #expect(methods.methods.map(\.method) == ["password"])
        let version = try #require(methods.version)
        try await user.removeMethod("oidc.a/b", version: version)
        let request = try #require(server.requests.last)
        #expect(request.url.absoluteString.hasSuffix("/concord/v1/account/methods/oidc.a%2Fb"))
        #expect(request.method == "DELETE")
        #expect(request.headers["If-Match"] == "\"1\"")
        #expect(request.headers["Authorization"]?.hasPrefix("Bearer ") == true)
        server.script("/concord/v1/account/methods/password", problem: "last-sign-in-method", status: 409)
        await expect(.lastSignInMethod) { try await user.removeMethod("password") }
        server.script("/concord/v1/account/methods/phone", problem: "precondition-failed", status: 412)
        await expect(.changedMeanwhile) { try await user.removeMethod("phone", version: version) }
    }

    @Test("suspended methods are listed, restored and deleted")
    func suspendedMethods() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        server.script(
            "/concord/v1/account/quarantine",
            [
                "methods": [
                    [
                        "method": "password", "reason": "address-proven", "decision": "d",
                        "quarantineTime": "2026-01-05T09:00:00.000Z", "expireTime": "2026-02-05T09:00:00.000Z",
                    ]
                ]
            ]
        )
        #expect(try await user.suspendedMethods().methods.map(\.method) == ["password"])
        server.script("/concord/v1/account/quarantine/password:restore", ["methods": []])
        try await user.restorePassword("correct horse")
        #expect(server.bodies("/concord/v1/account/quarantine/password:restore") == [["password": "correct horse"]])
        server.script("/concord/v1/account/quarantine/password", ["methods": []])
        #expect(try await user.deleteSuspendedMethod("password").methods.isEmpty)
    }

    @Test("sessions and devices are listed and ended")
    func sessions() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        let time: JSONValue = "2026-01-05T09:00:00.000Z"
        server.script(
            "/concord/v1/account/sessions",
            [
                "sessions": [
                    [
                        "sessionId": "s", "startTime": time, "lastUseTime": time, "signInProvider": "password",
                        "current": true,
                    ]
                ],
                "refusedSignIns": [["reason": "S4", "count": 2, "firstTime": time, "lastTime": time]],
                "devices": [["deviceId": "d", "startTime": time, "lastUseTime": time, "expireTime": time]],
                "nextPageToken": "next",
            ]
        )
        let page = try await user.sessions(pageSize: 500, pageToken: "a+b")
        #expect(page.sessions.first?.isCurrent == true && page.devices.first?.id == "d")
        #expect(page.refusedSignIns.first?.count == 2 && page.nextPageToken == "next")
        #expect(server.requests.last?.url.query == "pageSize=100&pageToken=a%2Bb")
        server.script("/concord/v1/account/sessions/s", ["ended": true])
        #expect(try await user.endSession("s"))
        server.script("/concord/v1/account/devices/d", ["revoked": false])
        #expect(try await !user.forgetDevice("d"))
        server.script("/concord/v1/account/sessions", ["ended": true])
        #expect(try await user.endOtherSessions())
        #expect(server.requests.last?.url.query == "keepCurrent=true")
        #expect(user.auth.currentUser == user)
        try await user.endAllSessions()
        #expect(server.requests.last?.url.query == nil)
        #expect(user.auth.currentUser == nil)
    }

    @Test("the history and the export are read")
    func history() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        server.script(
            "/concord/v1/account/events",
            ["events": [["id": "e", "time": "2026-01-05T09:00:00.000Z", "kind": "of-tomorrow", "method": "phone"]]]
        )
        let history = try await user.events()
        #expect(history.events.first?.kind == "of-tomorrow" && history.nextPageToken == nil)
        server.script("/concord/v1/account/export", ["exportTime": "x", "account": ["localId": "ada"]])
        let data = try await user.exportData()
        #expect(JSONValue.parse(data)?["account"]?["localId"] == "ada")
    }

    @Test("two accounts are previewed, merged and separated again")
    func merges() async throws {
        let server = FakeConcord()
        let (user, other) = (try await signedIn(server), try await signedIn(server))
        server.script(
            "/concord/v1/merges",
            [
                "survivor": "ada", "absorbed": "bob", "undecided": ["email"], "movedSecondFactors": 1,
                "endsSessions": false, "fields": [["field": "email", "survivor": "a", "absorbed": "b"]],
            ]
        )
        let preview = try await user.previewMerge(with: other, choices: ["password": .absorbed])
        #expect(preview.undecided == ["email"] && preview.fields.first?.taken == nil)
        let asked = try #require(server.bodies("/concord/v1/merges").last)
        #expect(asked["validateOnly"] == true && asked["choices"] == ["password": "absorbed"])
        #expect(asked["absorbedIdToken"]?.stringValue?.isEmpty == false)
        let merge: JSONValue = [
            "id": "m", "state": "of-tomorrow", "survivor": "ada", "absorbed": "bob", "choices": ["email": "survivor"],
            "askedBy": "owners", "prepareTime": "2026-01-05T09:00:00.000Z", "answerUntil": "2026-01-05T09:00:00.000Z",
        ]
        server.script("/concord/v1/merges", merge)
        #expect(try await user.merge(with: other, choices: ["email": .survivor]).state == .unknown)
        #expect(server.bodies("/concord/v1/merges").last?["validateOnly"] == nil)
        server.script("/concord/v1/account/merges", ["merges": [merge]])
        #expect(try await user.merges().map(\.id) == ["m"])
        server.script("/concord/v1/merges", problem: "invalid-session", status: 401)
        await expect(.userTokenExpired) { try await user.merge(with: other) }
        #expect(user.auth.currentUser == user)
        server.script("/concord/v1/account/merges/m:undo", merge)
        try await user.undoMerge("m")
        #expect(user.auth.currentUser == nil)
    }

    @Test("a session that one route refuses is refreshed once; the user is signed out if the refresh is refused too")
    func invalidSession() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        server.script("/concord/v1/account/events", problem: "invalid-session", status: 401)
        let before = server.requests.count
        await expect(.userTokenExpired) { try await user.events() }
        #expect(
            server.requests.dropFirst(before).map(\.url.path) == [
                "/concord/v1/account/events", "/v1/token", "/concord/v1/account/events",
            ]
        )
        #expect(user.auth.currentUser == user)
        server.script("/v1/token", status: 400, ["error": ["code": 400, "message": "TOKEN_EXPIRED"]])
        await expect(.userTokenExpired) { try await user.events() }
        #expect(user.auth.currentUser == nil)
    }

    @Test("a sign-in that is too old names the methods for another one")
    func recentSignIn() async throws {
        let server = FakeConcord()
        let user = try await signedIn(server)
        server.script(
            "/concord/v1/account/methods/password",
            status: 401,
            [
                "type": "urn:concord:problem:insufficient-user-authentication", "title": "no", "maxAge": 300,
                "methods": ["password"],
            ]
        )
        let error = await expect(.requiresRecentLogin) { try await user.removeMethod("password") }
        #expect(error?.details["methods"] == ["password"])
        #expect(user.auth.currentUser == user)
    }
}
