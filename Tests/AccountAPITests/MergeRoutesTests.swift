import AccountAPI
import AccountLinking
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Postgres
import Testing

/// Merges over HTTP: permissions, answers and refusals.
@Suite(.api(callers: DevelopmentCallers()))
struct MergeRoutesTests {
    private static let path = "/concord/v1/merges"
    private static let item = path + "/{id}"

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: JSONValue = [:],
        bearer: String? = "owner",
        key: String? = nil,
        match: String? = nil,
        describedAt described: String
    ) async throws -> TestAPI.Answer {
        let api = try TestAPI.shared
        var headers: HTTPFields = [:]
        if let key { headers[try #require(HTTPField.Name("Idempotency-Key"))] = key }
        if let match { headers[try #require(HTTPField.Name("If-Match"))] = match }
        let answer = try await api.send(
            method,
            path,
            Array(body.text.utf8),
            key: nil,
            bearer: bearer,
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: method, at: described) == [], "\(answer.text)")
        return answer
    }

    private func problem(_ answer: TestAPI.Answer) -> String? {
        answer.json["type"]?.string.map { String($0.dropFirst("urn:concord:problem:".count)) }
    }

    /// An account with a proven address and a password, as an administrator makes it.
    private func person(_ fields: JSONValue = [:]) async throws -> String {
        let api = try TestAPI.shared
        var members = fields.object ?? [:]
        members["email"] = .string(api.service.newAddress().raw)
        members["emailVerified"] = true
        members["password"] = .string(TestService.password)
        return try await api.create(.object(members))
    }

    private func merge(_ body: JSONValue, bearer: String? = "owner", key: String? = nil) async throws -> TestAPI.Answer
    {
        try await send(.post, Self.path, body, bearer: bearer, key: key, describedAt: Self.path)
    }

    @Test func `an administrator can preview, merge, find the old uid and undo`() async throws {
        let api = try TestAPI.shared
        let survivor = try await person(["displayName": "Ann"])
        let absorbed = try await person(["displayName": "Anna", "photoUrl": "https://example.com/a.png"])
        var body: JSONValue = ["survivor": .string(survivor), "absorbed": .string(absorbed), "validateOnly": true]
        let preview = try await merge(body)
        #expect(preview.status == 200)
        #expect(preview.json["undecided"]?.array?.compactMap(\.string) == ["email", "password", "displayName"])
        let fields = preview.json["fields"]?.array ?? []
        #expect(fields.first { $0["field"] == "password" }?["survivor"] == "set", "no hash is shown")
        let photo = fields.first { $0["field"] == "photoUrl" }
        #expect(photo?["taken"] == "absorbed" && photo?["value"] == "https://example.com/a.png")
        #expect(photo?["dropped"] == nil && preview.json["waiting"] == nil)
        let before = try await api.user(absorbed)
        #expect(before != nil, "a preview changes nothing")

        body = ["survivor": .string(survivor), "absorbed": .string(absorbed), "reason": "ticket 1"]
        let undecided = try await merge(body)
        #expect(undecided.status == 409 && problem(undecided) == "choices-needed")
        #expect(undecided.json["undecided"]?.array?.count == 3)
        let choices: JSONValue = ["email": "survivor", "password": "survivor", "displayName": "absorbed"]
        body = [
            "survivor": .string(survivor), "absorbed": .string(absorbed), "reason": "ticket 1", "choices": choices,
        ]
        let done = try await merge(body)
        #expect(done.status == 200 && done.json["state"] == "committed" && done.json["reason"] == "ticket 1")
        let id = try #require(done.json["id"]?.string)
        #expect(done.headers[.eTag] == #""2""#)
        #expect(try await api.user(survivor)?["displayName"] == "Anna")
        for again in [body, .object((body.object ?? [:]).merging(["validateOnly": true]) { $1 })] {
            let repeated = try await merge(again)
            #expect(repeated.status == 409 && problem(repeated) == "merge-refused")
            #expect(repeated.json["reason"] == "already-merged" && repeated.json["merge"]?["id"]?.string == id)
            #expect(repeated.json["merge"]?["endTime"] == done.json["endTime"])
            #expect(repeated.json["detail"]?.string?.contains("/concord/v1/merges/\(id)/undo") == true)
        }
        let elsewhere = try await merge([
            "survivor": .string(try await person()), "absorbed": .string(absorbed), "reason": "r",
        ])
        #expect(elsewhere.json["reason"] == "account-not-found" && elsewhere.json["merge"]?["id"]?.string == id)
        #expect(try await api.user(absorbed) == nil)
        let answer = try await send(.get, "\(Self.path)?uid=\(absorbed)", describedAt: Self.path)
        #expect(answer.json["userId"]?.string == survivor && answer.json["merges"]?.array?.count == 1)
        let read = try await send(.get, "\(Self.path)/\(id)", describedAt: Self.item)
        #expect(read.json["state"] == "committed" && read.headers[.eTag] == #""2""#)
        // No new account gets the old uid.
        let taken = try await api.admin("accounts", ["localId": .string(absorbed)])
        #expect(taken.text.contains("DUPLICATE_LOCAL_ID"))
        let custom = try await api.post(
            "/v1/accounts:signInWithCustomToken",
            ["token": .string(JSONValue.object(["uid": .string(absorbed)]).text)]
        )
        #expect(custom.status == 400 && custom.text.contains("USER_MERGED"))
        let imported = try await api.admin("accounts:batchCreate", ["users": [["localId": .string(absorbed)]]])
        #expect(imported.json["error"]?.array?.count == 1, "\(imported.text)")

        let abort = try await send(.post, "\(Self.path)/\(id)/abort", describedAt: Self.item + "/abort")
        #expect(abort.status == 409 && problem(abort) == "merge-closed")
        _ = try await api.admin("accounts:update", ["localId": .string(survivor), "displayName": "Countess"])
        let undo = "\(Self.path)/\(id)/undo"
        for stale in [#""1""#, #""3""#, "2", "W/\"2\"", "x"] {
            for body in [[:], ["keepLaterChanges": true], ["validateOnly": true]] as [JSONValue] {
                let refused = try await send(.post, undo, body, match: stale, describedAt: Self.item + "/undo")
                #expect(refused.status == 412 && problem(refused) == "precondition-failed", "\(refused.text)")
            }
            let refused = try await send(
                .post,
                "\(Self.path)/\(id)/abort",
                match: stale,
                describedAt: Self.item + "/abort"
            )
            #expect(refused.status == 412, "\(refused.text)")
        }
        let changes = try await send(.post, undo, ["validateOnly": true], describedAt: Self.item + "/undo")
        #expect(changes.json["changes"]?.array?.compactMap { $0["field"]?.string } == ["displayName"])
        #expect(changes.json["isPossible"] == false)
        let keeping = try await send(
            .post,
            undo,
            ["validateOnly": true, "keepLaterChanges": true],
            describedAt: Self.item + "/undo"
        )
        #expect(keeping.json["isPossible"] == true)
        let refused = try await send(.post, undo, describedAt: Self.item + "/undo")
        #expect(refused.status == 409 && problem(refused) == "later-changes")
        #expect(refused.json["changes"]?.array?.first?["canStay"] == true)
        #expect(refused.json["detail"]?.string?.hasPrefix("Send `keepLaterChanges`") == true)
        let undone = try await send(
            .post,
            undo,
            ["keepLaterChanges": true],
            match: #""2""#,
            describedAt: Self.item + "/undo"
        )
        #expect(undone.status == 200 && undone.json["state"] == "undone" && undone.json["kept"]?.array?.count == 1)
        #expect(undone.headers[.eTag] == #""3""#)
        let restored = try await api.user(absorbed)
        #expect(restored?["displayName"] == "Anna")
        #expect(try await api.user(survivor)?["displayName"] == "Countess")
        #expect(problem(try await send(.post, undo, describedAt: Self.item + "/undo")) == "merge-closed")
        #expect(try await api.service.database.inconsistencies() == [])
    }

    @Test func `a request about an account in a pending merge is refused, also in the preview`() async throws {
        let api = try TestAPI.shared
        let (survivor, absorbed, third) = (try await person(), try await person(), try await person())
        let id = "019a0000-0000-7000-8000-00000000000a"
        try await api.service.database.execute(
            """
            INSERT INTO merges (merge_id, survivor_id, absorbed_id, choices, asked_by, reason, survivor_version,
                    absorbed_version, prepared_at, deadline_at)
                VALUES ('\(id)', '\(survivor)', '\(absorbed)', '{}', 'administrator', 'one', 1, 1, '2020-01-01',
                    '2099-01-01')
            """
        )
        let choices: JSONValue = ["email": "survivor", "password": "survivor"]
        for (stays, goes) in [(survivor, absorbed), (third, absorbed), (survivor, third)] {
            let body: [String: JSONValue] = [
                "survivor": .string(stays), "absorbed": .string(goes), "reason": "r", "choices": choices,
            ]
            let preview = try await merge(.object(body.merging(["validateOnly": true]) { $1 }))
            #expect(preview.status == 200 && preview.json["waiting"]?["id"]?.string == id, "\(preview.text)")
            #expect(preview.json["fields"]?.array?.first { $0["field"] == "email" }?["dropped"] == "absorbed")
            let refused = try await merge(.object(body))
            #expect(refused.status == 409 && refused.json["reason"] == "already-merging", "\(refused.text)")
            #expect(refused.json["merge"]?["id"]?.string == id)
        }
        let abort = "\(Self.path)/\(id)/abort"
        let stale = try await send(.post, abort, match: #""2""#, describedAt: Self.item + "/abort")
        #expect(stale.status == 412 && problem(stale) == "precondition-failed")
        let aborted = try await send(.post, abort, match: #""1""#, describedAt: Self.item + "/abort")
        #expect(aborted.json["abortReason"] == "withdrawn" && aborted.headers[.eTag] == #""2""#, "\(aborted.text)")
    }

    @Test func `an owner proves both accounts to merge them`() async throws {
        let api = try TestAPI.shared
        let address = api.service.newAddress().raw
        let ada = try await api.signUp(address)
        let guest = try await api.signUpAnonymously()
        let (adas, guests) = (try #require(ada["idToken"]), try #require(guest["idToken"]))
        let body: JSONValue = ["absorbedIdToken": guests, "choices": ["password": "survivor"]]
        // A session is no administrator.
        #expect(try await merge(["survivor": "a", "absorbed": "b", "reason": "me"], bearer: adas.string).status == 400)
        #expect(try await merge(body, bearer: nil).status == 401)
        #expect(try await merge(body, bearer: "forged").status == 401)
        #expect(try await merge(["absorbedIdToken": "forged"], bearer: adas.string).status == 401)
        let preview = try await merge(["absorbedIdToken": guests, "validateOnly": true], bearer: adas.string)
        #expect(preview.json["undecided"]?.array?.compactMap(\.string) == ["password"])
        let done = try await merge(body, bearer: adas.string, key: "once")
        #expect(done.status == 200 && done.json["askedBy"] == "owners", "\(done.text)")
        let id = try #require(done.json["id"]?.string)
        let repeated = try await merge(body, bearer: adas.string, key: "once")
        #expect(repeated.status == 200 && repeated.json["id"]?.string == id, "\(repeated.text)")
        // Without a key, a caller with both sessions learns that the merge is done; a caller with another account's
        // session does not.
        for again in [body, ["absorbedIdToken": guests, "validateOnly": true]] {
            let known = try await merge(again, bearer: adas.string)
            #expect(known.status == 409 && known.json["reason"] == "already-merged", "\(known.text)")
            #expect(known.json["merge"]?["id"]?.string == id)
        }
        let other = try await api.signUpAnonymously()["idToken"]?.string
        #expect(problem(try await merge(body, bearer: other)) == "invalid-session")
        let read = try await send(.get, "\(Self.path)/\(id)", bearer: adas.string, describedAt: Self.item)
        #expect(read.json["state"] == "committed")
        let stranger = try await api.signUpAnonymously()["idToken"]?.string
        #expect(
            try await send(.get, "\(Self.path)/\(id)", bearer: stranger, describedAt: Self.item).status == 404
        )
        let undo = try await send(
            .post,
            "\(Self.path)/\(id)/undo",
            bearer: adas.string,
            describedAt: Self.item + "/undo"
        )
        #expect(undo.status == 401, "an administrator's alone")
        let lookup = try await api.post("/v1/accounts:lookup", ["idToken": guests])
        #expect(lookup.text.contains("USER_NOT_FOUND"))
    }

    @Test func `repeated merge requests with one key merge once`() async throws {
        let api = try TestAPI.shared
        let (survivor, absorbed) = (try await person(), try await person())
        let body: JSONValue = [
            "survivor": .string(survivor), "absorbed": .string(absorbed), "reason": "twice",
            "choices": ["email": "survivor", "password": "survivor"],
        ]
        let answers = try await withThrowingTaskGroup { group in
            for _ in 0..<32 { group.addTask { try await merge(body, key: "merge-\(survivor)") } }
            var answers: [TestAPI.Answer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.map(\.text))")
        #expect(Set(answers.compactMap { $0.json["id"]?.string }).count == 1)
        let count = try await api.service.database.count(
            "SELECT count(*) FROM merges WHERE survivor_id = \(survivor)"
        )
        #expect(count == 1)
        let other = try await merge(["survivor": "x", "absorbed": "y", "reason": "r"], key: "merge-\(survivor)")
        #expect(other.status == 409 || other.status == 422)
    }

    @Test func `a malformed request gets a problem that quotes no input`() async throws {
        let (survivor, absorbed) = (try await person(), try await person())
        let both: [String: JSONValue] = ["survivor": .string(survivor), "absorbed": .string(absorbed)]
        func with(_ members: [String: JSONValue]) -> JSONValue { .object(both.merging(members) { $1 }) }
        for body in [
            [:], ["survivor": "a"], with([:]), with(["reason": ""]), with(["reason": "  "]), with(["reason": 7]),
            with(["reason": .string(String(repeating: "x", count: 501))]), with(["reason": "a\u{1B}[2Jb"]),
            with(["reason": "r", "choices": []]), with(["reason": "r", "choices": ["email": "both"]]),
            with(["reason": "r", "choices": ["email": 1]]),
            with(["reason": "r", "choices": ["secret-field": "absorbed"]]),
            with(["survivor": "", "reason": "r"]), with(["reason": "r", "validateOnly": "perhaps"]),
        ] as [JSONValue] {
            let answer = try await merge(body)
            #expect(answer.status == 400 && problem(answer) == "malformed-request", "\(body.text): \(answer.text)")
            #expect(!answer.text.contains("secret-field"))
        }
        for (members, reason) in [
            (["absorbed": .string(survivor)], "same-account"), (["absorbed": "nobody"], "account-not-found"),
            (["choices": ["timeZone": "absorbed"]], "unknown-choice"),
        ] as [([String: JSONValue], String)] {
            let answer = try await merge(with(["reason": "r"].merging(members) { $1 }))
            #expect(answer.status == 409 && answer.json["reason"]?.string == reason, "\(answer.text)")
        }
        for id in ["x", "00000000-0000-7000-8000-000000000000", "%00", "a:b"] {
            #expect(try await send(.get, "\(Self.path)/\(id)", describedAt: Self.item).status == 404)
        }
        #expect(try await send(.get, Self.path, describedAt: Self.path).status == 400)
        let none = try await send(.get, Self.path + "?uid=nobody", describedAt: Self.path)
        #expect(none.json["merges"]?.array == [] && none.json["userId"] == nil)
    }
}
