import AccountLinking
import AccountOperations
import Foundation
import JSON
import Testing

@testable import concord

/// Files of accounts: every form, and everything that can be wrong with one.
struct AccountFileTests {
    private struct Read {
        var ids: [String?] = []
        var accounts: [ImportedAccount] = []
        var defects: [Int: RowDefect] = [:]
        var end: AccountFileError?
    }

    private func read(_ bytes: [UInt8], _ format: AccountFormat, identities: String? = nil) throws -> Read {
        let folder = FileManager.default.temporaryDirectory
        let url = folder.appending(path: "accounts-\(UUID().uuidString)")
        try Data(bytes).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        var other: URL?
        if let identities {
            let path = folder.appending(path: "identities-\(UUID().uuidString)")
            try Data(identities.utf8).write(to: path)
            other = path
        }
        defer { if let other { try? FileManager.default.removeItem(at: other) } }
        var all = Read()
        do throws(AccountFileError) {
            let reader = try AccountFileReader(path: url.path(), format, identities: other?.path())
            while let row = try reader.next() {
                switch row.content {
                case .success(let account):
                    all.ids.append(account.id)
                    all.accounts.append(account)
                case .failure(let defect): all.defects[row.line] = defect
                }
            }
        } catch {
            all.end = error
        }
        return all
    }

    private func read(_ text: String, _ format: AccountFormat, identities: String? = nil) throws -> Read {
        try read(Array(text.utf8), format, identities: identities)
    }

    @Test(arguments: [
        "{\"users\":[{\"localId\":\"a\"},{\"localId\":\"b\"}]}", "[{\"localId\":\"a\"},{\"localId\":\"b\"}]",
        "\u{FEFF}{\"kind\":\"x\",\"n\":[1,{\"users\":[]}],\"users\":[\n{\"localId\":\"a\"}\n,\n{\"localId\":\"b\"} ],\"t\":null}\n",
        "{\"users\": [ {\"localId\":\"a\",\"displayName\":\"}]\\\"\\\\\"} , {\"localId\":\"b\"} ] }",
    ])
    func `the users are read from JSON with any text around it`(text: String) throws {
        let all = try read(text, .json)
        #expect(all.ids == ["a", "b"])
        #expect(all.defects == [:])
        #expect(all.end == nil)
    }

    @Test(arguments: ["{\"users\":[]}", "[]", " [ ] "])
    func `a file without users is read to the end`(text: String) throws {
        let all = try read(text, .json)
        #expect(all.ids == [])
        #expect(all.end == nil)
    }

    @Test(arguments: [
        "", "x", "{}", "{\"users\":{}}", "{\"people\":[]}", "{\"users\":[", "{\"users\":[{\"localId\":\"a\"}",
        "{\"users\":[{\"localId\":\"a\"}]", "{\"users\":[{\"localId\":\"a\"", "{\"users\":[{\"localId\":\"a",
        "{\"users\":[{\"localId\":\"a\"},]}{", "{\"users\":[{\"localId\":\"a\"}]}{\"users\":[]}",
        "{\"users\":[{\"localId\":\"a\"}{\"localId\":\"b\"}]}", "{\"users\":[{\"localId\":\"a\"}],\"x\"}",
    ])
    func `a truncated or concatenated file ends at the first error`(text: String) throws {
        let all = try read(text, .json)
        guard case .broken = all.end else {
            Issue.record("\(all)")
            return
        }
    }

    @Test func `a truncated file is reported with its line, and earlier rows are valid`() throws {
        let all = try read("{\"users\":[\n{\"localId\":\"a\"},\n{\"localId\":\"b\"},\n{\"local", .json)
        #expect(all.ids == ["a", "b"])
        #expect(all.end?.description == "line 4: the file ends in the middle of a user")
    }

    @Test func `an invalid row is reported, and the next is read`() throws {
        let text = "{\"users\":[\n{\"localId\":\"a\"},\n3,\n{\"localId\":},\n\"x\",\n{\"localId\":\"b\"}\n]}"
        let all = try read(text, .json)
        #expect(all.ids == ["a", "b"])
        #expect(all.defects == [3: .notAnObject, 4: .notJSON, 5: .notAnObject])
        #expect(all.end == nil)
        let lines = try read("{\"localId\":\"a\"}\n\n[]\n{\"localId\"\r\n{\"localId\":\"b\"}", .ndjson)
        #expect(lines.ids == ["a", "b"])
        #expect(lines.defects == [3: .notAnObject, 4: .notJSON])
    }

    @Test(arguments: [AccountFormat.json, .ndjson, .csv])
    func `a row that is too long or not in UTF-8 is reported, and the next is read`(format: AccountFormat) throws {
        func row(_ name: [UInt8]) -> [UInt8] {
            switch format {
            case .csv: Array("a,,,,,".utf8) + name + Array(String(repeating: ",", count: 47).utf8)
            default: Array("{\"localId\":\"a\",\"displayName\":\"".utf8) + name + Array("\"}".utf8)
            }
        }
        let rows = [row([0xFF]), row([UInt8](repeating: 0x78, count: RowDefect.rowBytesMax)), row([0x78])]
        let separator: [UInt8] = format == .json ? [0x2C, 0x0A] : [0x0A]
        var bytes = Array(rows.joined(separator: separator))
        if format == .json { bytes = [0x5B] + bytes + [0x5D] }
        let all = try read(bytes, format)
        #expect(all.ids == ["a"])
        #expect(all.defects == [1: .notUTF8, 2: .tooLong])
        #expect(all.end == nil)
    }

    @Test func `a file in UTF-16 is refused at once`() throws {
        for format in AccountFormat.allCases {
            let all = try read([0xFF, 0xFE, 0x5B, 0x00, 0x5D, 0x00], format)
            #expect(all.end?.description == "line 1: the file is not in UTF-8")
        }
    }

    @Test func `the CSV of the Firebase CLI is read by its column order`() throws {
        let text =
            "a,Ann@example.com,true,YWJj,TmFDbA==,\"Ann \"\"A\"\", B\nC\",https://example.com/a,g-1,ann@gmail.com,G,gp,,,,,,,,,"
            + "h-1,,,,1600000000000,1600000001000,+15550001111,true,\"{\"\"l\"\":3}\",ap-1,,,,\r\n"
            + "b,,,,,,,,,,,,,,,,,,,,,,,,,,,,\nc,d\n"
        let all = try read(text, .csv)
        #expect(all.ids == ["a", "b"])
        #expect(all.defects == [4: .columns(found: 2)])
        let ann = all.accounts[0]
        #expect(ann.email == "Ann@example.com")
        #expect(ann.isEmailVerified)
        #expect(ann.profile.displayName == "Ann \"A\", B\nC")
        #expect(ann.profile.photoURL == "https://example.com/a")
        #expect(ann.identities.map(\.provider) == ["google.com", "github.com", "apple.com"])
        #expect(ann.identities.map(\.subject) == ["g-1", "h-1", "ap-1"])
        #expect(ann.identities[0].email == "ann@gmail.com")
        #expect(ann.createdAt == Timestamp(secondsSinceEpoch: 1_600_000_000))
        #expect(ann.lastLoginAt == Timestamp(secondsSinceEpoch: 1_600_000_001))
        #expect(ann.phoneNumber == "+15550001111")
        #expect(ann.isDisabled)
        #expect(ann.customAttributes == "{\"l\":3}")
        guard case .hash(let hash, let salt) = ann.password else {
            Issue.record("no hash")
            return
        }
        #expect(hash == Array("abc".utf8) && salt == Array("NaCl".utf8))
        #expect(all.accounts[1].password == nil)
    }

    @Test func `an unclosed quote ends the file at its place`() throws {
        let all = try read("b,,,,,,,,,,,,,,,,,,,,,,,,,,,,\na,\"x,,\nc,,", .csv)
        #expect(all.ids == ["b"])
        #expect(all.end?.description == "line 2: the file ends in the middle of a user")
    }

    @Test func `the emulator's plain-text hash is read as the password`() throws {
        let text = """
            {"kind":"identitytoolkit#DownloadAccountResponse","users":[{"localId":"a",
            "passwordHash":"fakeHash:salt=fakeSalt:password=correct:password=horse","salt":"fakeSalt"}]}
            """
        let all = try read(text, .json)
        guard case .plain(let password) = all.accounts.first?.password else {
            Issue.record("\(all)")
            return
        }
        #expect(password == "correct:password=horse")
    }

    private static let supabaseUsers = """
        instance_id,id,aud,role,email,encrypted_password,email_confirmed_at,last_sign_in_at,raw_app_meta_data,raw_user_meta_data,created_at,phone,phone_confirmed_at,banned_until,deleted_at
        0,u-1,authenticated,x,ann@example.com,$2a$10$abcdefghijklmnopqrstuu5Lo0g67CiD3M4RpN1BmBb4Crp5w7dbK,2024-01-02 03:04:05.123456+00,2024-02-03 04:05:06+00,"{""provider"": ""email""}","{""full_name"": ""Ann A"", ""avatar_url"": ""https://example.com/a""}",2023-01-02 03:04:05+00,15550001111,2024-01-02 03:04:05+00,,
        0,u-2,authenticated,x,bob@example.com,,,,,,2023-01-02 03:04:05+00,15550002222,,2030-01-01 00:00:00+00,
        0,u-3,authenticated,x,,,,,,,2023-01-02 03:04:05+00,,,,2024-01-01 00:00:00+00
        0,u-4,authenticated,x,eve@example.com,,yesterday,,,,2023-01-02 03:04:05+00,,,,
        """

    @Test func `rows of auth.users become accounts, with identities from a separate file`() throws {
        let identities = """
            provider_id,user_id,identity_data,provider,id
            g-1,u-1,"{""sub"": ""g-1"", ""email"": ""ann@gmail.com"", ""name"": ""A""}",google,x
            u-1,u-1,"{""sub"": ""u-1""}",email,y
            k-1,u-2,"{""sub"": ""k-1""}",keycloak,z
            z-1,u-2,"{""sub"": ""z-1"", ""custom_claims"": {""oid"": ""object""}}",azure,z
            """
        let all = try read(Self.supabaseUsers, .supabase, identities: identities)
        #expect(all.ids == ["u-1", "u-2"])
        #expect(all.defects == [4: .unusable("an account with deleted_at"), 5: .unusable("email_confirmed_at")])
        let (ann, bob) = (all.accounts[0], all.accounts[1])
        #expect(ann.isEmailVerified && !bob.isEmailVerified)
        #expect(ann.phoneNumber == "+15550001111")
        #expect(bob.phoneNumber == nil, "the number was not confirmed")
        #expect(ann.profile.displayName == "Ann A")
        #expect(ann.profile.photoURL == "https://example.com/a")
        #expect(ann.lastLoginAt == Timestamp(secondsSinceEpoch: 1_706_933_106))
        #expect(bob.isDisabled && !ann.isDisabled)
        #expect(ann.identities.map(\.provider) == ["google.com"])
        #expect(ann.identities.map(\.email) == ["ann@gmail.com"])
        #expect(bob.identities.map(\.provider) == ["oidc.keycloak", "microsoft.com"])
        #expect(bob.identities.map(\.subject) == ["k-1", "object"])
        guard case .hash(let hash, _) = ann.password else {
            Issue.record("no hash")
            return
        }
        #expect(hash.count == 60)
        #expect(bob.password == nil)
    }

    @Test func `JSON lines of auth.users include their identities`() throws {
        let text = """
            {"id":"u-1","email":"ann@example.com","email_confirmed_at":"2024-01-02T03:04:05.123456+00:00","raw_user_meta_data":{"name":"Ann"},"identities":[{"provider":"github","provider_id":"h-1","identity_data":{"user_name":"ann"}}]}
            """
        let all = try read(text, .supabase)
        #expect(all.accounts.first?.isEmailVerified == true)
        #expect(all.accounts.first?.profile.displayName == "Ann")
        #expect(all.accounts.first?.identities.first?.provider == "github.com")
        #expect(all.accounts.first?.identities.first?.screenName == "ann")
    }
}
