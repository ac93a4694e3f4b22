import AccountTestSupport
import Foundation
import HTTPTypes
import JSON
import Postgres
import Testing

struct BatchRoutesTests {
    private func fill(_ api: TestAPI, _ count: Int) async throws {
        for number in 0..<count {
            try await api.create([
                "localId": .string("user-\(String(1000 + number).dropFirst())"), "disabled": .bool(number == 0),
                "displayName": .string("Name \(9 - number)"),
            ])
        }
    }

    private func page(_ api: TestAPI, _ query: String) async throws -> TestAPI.Answer {
        try await api.send(
            .get,
            "\(TestAPI.projectPath)/accounts:batchGet\(query)",
            key: nil,
            bearer: "owner"
        )
    }

    private func ids(_ users: JSONValue?) -> [String] { users?.array?.compactMap { $0["localId"]?.string } ?? [] }

    @Test func `pages hold every account once, in the order of ids`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 5)
            var seen: [String] = []
            var token: String? = nil
            var pages = 0
            repeat {
                let answer = try await page(api, "?maxResults=2" + (token.map { "&nextPageToken=\($0)" } ?? ""))
                #expect(answer.json["kind"]?.string == "identitytoolkit#DownloadAccountResponse")
                seen += ids(answer.json["users"])
                token = answer.json["nextPageToken"]?.string
                pages += 1
            } while token != nil && pages < 9
            #expect(seen == ["user-000", "user-001", "user-002", "user-003", "user-004"])
            #expect(pages == 3)
        }
    }

    @Test func `a full page names the next one, which may be empty`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 2)
            let full = try await page(api, "?maxResults=2")
            let token = try #require(full.json["nextPageToken"]?.string)
            let empty = try await page(api, "?maxResults=2&nextPageToken=\(token)")
            #expect(empty.json == ["kind": "identitytoolkit#DownloadAccountResponse"])
            #expect(try await page(api, "?maxResults=3").json["nextPageToken"] == nil)
        }
    }

    @Test func `a list can start after a given uid`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 4)
            let answer = try await page(api, "?maxResults=2&nextPageToken=user-000")
            #expect(ids(answer.json["users"]) == ["user-001", "user-002"])
            // A uid with special characters, and the longest possible uid.
            for id in ["ünï/+= é", String(repeating: "z", count: 128)] {
                try await api.create(["localId": .string(id)])
                let encoded = try #require(id.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
                #expect(try await page(api, "?nextPageToken=\(encoded)").status == 200)
            }
        }
    }

    /// Backends let users choose their uids. One that reads like a page token must not send an export back, or past others.
    @Test func `a uid in the path cannot change the route of a list`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 3)
            let token = try #require(try await page(api, "?maxResults=1").json["nextPageToken"]?.string)
            let refused = try await api.admin("accounts", ["localId": .string(token)])
            #expect(refused.status == 400, "no account has such a uid: \(refused.text)")
            // What a shorter token of the same account would be.
            let uids: [String] = [UInt8(1), 2].map { Base64URL.encode([$0] + Array("user-000".utf8)) }
            for uid in uids {
                #expect(try await page(api, "?nextPageToken=\(uid)").errorMessage == "INVALID_PAGE_SELECTION")
                try await api.create(["localId": .string(uid)])
                let answer = try await page(api, "?nextPageToken=\(uid)")
                let after: [String] = ["user-000", "user-001", "user-002"].filter { $0 > uid }
                #expect(ids(answer.json["users"]) == after)
                _ = try await api.admin("accounts:delete", ["localId": .string(uid)])
            }
        }
    }

    @Test func `an empty project has a page without users`() async throws {
        try await TestAPI.withAdministrator { api in
            let answer = try await page(api, "")
            #expect(answer.json == ["kind": "identitytoolkit#DownloadAccountResponse"])
        }
    }

    @Test func `invalid page parameters are refused`() async throws {
        let noID = Base64URL.encode([UInt8(2)] + [UInt8](repeating: 0, count: 96))
        let long = String(repeating: "A", count: 4000)
        try await TestAPI.withAdministrator { api in
            for (query, error) in [
                ("?nextPageToken=nonsense", "INVALID_PAGE_SELECTION"), ("?maxResults=-1", "INVALID_PAGE_SELECTION"),
                ("?nextPageToken=\(noID)", "INVALID_PAGE_SELECTION"),
                ("?nextPageToken=\(long)", "INVALID_PAGE_SELECTION"),
                ("?maxResults=many", "Invalid value at 'maxResults' (TYPE_INT32)"),
                ("?tenantId=t", "TENANT_NOT_FOUND"),
            ] {
                let answer = try await page(api, query)
                #expect(answer.errorMessage == error)
            }
        }
    }

    @Test func `an export has the hash that a lookup hides`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.signUp("ann@example.com")
            let user = try await page(api, "").json["users"]?.array?.first
            let data = try #require(Data(base64Encoded: user?["passwordHash"]?.string ?? ""))
            #expect(String(decoding: data, as: UTF8.self).hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
            #expect(user?["salt"] == nil)
            #expect(user?["version"] == nil)
        }
    }

    @Test func `the older name requires the project in the body`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 3)
            let path = "/identitytoolkit/v3/relyingparty/downloadAccount"
            let without = try await api.post(path, ["maxResults": 2], key: nil, bearer: "owner")
            #expect(without.errorMessage == "INSUFFICIENT_PERMISSION")
            let answer = try await api.post(
                "/www.googleapis.com" + path,
                ["maxResults": 2, "targetProjectId": .string(TestService.projectID)],
                key: nil,
                bearer: "owner"
            )
            #expect(ids(answer.json["users"]) == ["user-000", "user-001"])
        }
    }

    @Test func `without force only disabled accounts are deleted, and the others are listed`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 3)
            let answer = try await api.admin(
                "accounts:batchDelete",
                ["localIds": ["user-001", "user-000", "nobody"]]
            )
            #expect(
                answer.json == [
                    "errors": [
                        [
                            "index": 0, "localId": "user-001",
                            "message": "NOT_DISABLED : Disable the account before batch deletion.",
                        ]
                    ]
                ]
            )
            #expect(ids(try await page(api, "").json["users"]) == ["user-001", "user-002"])
            let forced = try await api.admin(
                "accounts:batchDelete",
                ["localIds": ["user-001", "user-002"], "force": true]
            )
            #expect(forced.json == [:])
            #expect(try await page(api, "").json["users"] == nil)
        }
    }

    @Test func `a batch deletion releases the identifiers of the accounts`() async throws {
        try await TestAPI.withAdministrator { api in
            var all: [JSONValue] = []
            for number in 0..<120 {
                all.append(.string(try await api.create(["email": .string("user\(number)@example.com")])))
            }
            let answer = try await api.admin("accounts:batchDelete", ["localIds": .array(all), "force": true])
            #expect(answer.json == [:])
            #expect(try await api.service.database.count("SELECT count(*) FROM identifiers") == 0)
            #expect(try await api.service.database.count("SELECT count(*) FROM users") == 0)
        }
    }

    @Test(arguments: [0, 1001])
    func `a batch deletion names 1 to 1000 accounts`(count: Int) async throws {
        try await TestAPI.withAdministrator { api in
            let list = JSONValue.array((0..<count).map { .string("id\($0)") })
            let answer = try await api.admin("accounts:batchDelete", ["localIds": list, "force": true])
            #expect(answer.errorMessage == "LOCAL_ID_LIST_EXCEEDS_LIMIT")
        }
    }

    @Test func `a query sorts, pages and counts`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 4)
            let byName = try await api.admin("accounts:query", ["sortBy": "NAME", "order": "ASC", "limit": "2"])
            #expect(ids(byName.json["userInfo"]) == ["user-003", "user-002"])
            #expect(byName.json["recordsCount"]?.string == "2")
            let backwards = try await api.post(
                "\(TestAPI.projectPath):queryAccounts",
                ["order": 2, "offset": 1],
                key: nil,
                bearer: "owner"
            )
            #expect(ids(backwards.json["userInfo"]) == ["user-002", "user-001", "user-000"])
            let count = try await api.admin("accounts:query", ["returnUserInfo": false])
            #expect(count.json == ["recordsCount": "4"])
            for key in ["USER_ID", "CREATED_AT", "LAST_LOGIN_AT", "USER_EMAIL"] {
                for order in ["ASC", "DESC"] {
                    let answer = try await api.admin(
                        "accounts:query",
                        ["sortBy": .string(key), "order": .string(order)]
                    )
                    #expect(ids(answer.json["userInfo"]).count == 4)
                }
            }
        }
    }

    @Test func `a query that skips too many accounts is refused, with the route that reads all`() async throws {
        try await TestAPI.withAdministrator { api in
            try await fill(api, 1)
            let last = try await api.admin("accounts:query", ["offset": "1000000"])
            #expect(last.json == ["recordsCount": "0"])
            let refused = try await api.admin("accounts:query", ["offset": "1000001"])
            #expect(
                refused.json["error"]?["message"]?.string
                    == "INVALID_PAGE_SELECTION : offset is at most 1000000. Read all accounts with accounts:batchGet."
            )
        }
    }

    @Test func `more accounts than can be sorted are listed by id or creation only`() async throws {
        try await TestAPI.withAdministrator { api in
            try await api.service.database.execute(
                """
                INSERT INTO users (user_id, session_epoch, valid_since, created_at)
                SELECT 'many-' || n, 1, now(), now() - n * interval '1 second' FROM generate_series(1, 100001) AS n
                """
            )
            for key in ["NAME", "LAST_LOGIN_AT", "USER_EMAIL"] {
                let refused = try await api.admin("accounts:query", ["sortBy": .string(key)])
                #expect(refused.status == 400)
                #expect(
                    refused.json["error"]?["message"]?.string == """
                        INVALID_ARGUMENT : More than 100000 accounts are sorted by USER_ID or CREATED_AT only. \
                        Read all accounts with accounts:batchGet.
                        """
                )
            }
            let newest = try await api.admin("accounts:query", ["sortBy": "CREATED_AT", "order": "DESC", "limit": "2"])
            #expect(ids(newest.json["userInfo"]) == ["many-1", "many-2"])
            let count = try await api.admin("accounts:query", ["returnUserInfo": false])
            #expect(count.json == ["recordsCount": "100001"])
        }
    }

    @Test func `a condition selects the accounts that match it`() async throws {
        try await TestAPI.withAdministrator { api in
            _ = try await api.create(["localId": "a", "email": "ann@example.com", "phoneNumber": "+15550001111"])
            _ = try await api.create(["localId": "b"])
            for condition in [["email": "ANN@example.com"], ["phoneNumber": "+15550001111"], ["userId": "a"]]
                as [JSONValue]
            {
                let answer = try await api.admin("accounts:query", ["expression": [condition]])
                #expect(ids(answer.json["userInfo"]) == ["a"])
            }
            let nobody = try await api.admin("accounts:query", ["expression": [["email": "nobody@example.com"]]])
            #expect(nobody.json == ["recordsCount": "0"])
        }
    }

    @Test func `an administrator deletes one account`() async throws {
        try await TestAPI.withAdministrator { api in
            let id = try await api.create(["email": "ann@example.com"])
            let missing = try await api.admin("accounts:delete")
            #expect(missing.errorMessage == "MISSING_LOCAL_ID")
            let session = try await api.signUp("bob@example.com")["idToken"] ?? .null
            let onlyToken = try await api.admin("accounts:delete", ["idToken": session])
            #expect(onlyToken.errorMessage == "MISSING_LOCAL_ID")
            let answer = try await api.admin("accounts:delete", ["localId": .string(id)])
            #expect(answer.json == ["kind": "identitytoolkit#DeleteAccountResponse"])
            let again = try await api.admin("accounts:delete", ["localId": .string(id)])
            #expect(again.errorMessage == "USER_NOT_FOUND")
            #expect(try await api.create(["email": "ann@example.com"]).isEmpty == false)
        }
    }
}
