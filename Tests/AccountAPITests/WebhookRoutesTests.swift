import AccountAPI
import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// The routes on which operators choose the receivers of events.
@Suite(.api(callers: DevelopmentCallers()))
struct WebhookRoutesTests {
    private static let path = "/concord/v1/webhooks"

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: JSONValue = [:],
        ifMatch: String? = nil,
        describedAt described: String
    ) async throws -> TestAPI.Answer {
        let api = try TestAPI.shared
        var headers: HTTPFields = [:]
        headers[.ifMatch] = ifMatch
        let answer = try await api.send(
            method,
            path,
            Array(body.text.utf8),
            key: nil,
            bearer: "owner",
            headers: headers
        )
        #expect(try OpenAPIDocument().defects(of: answer, to: method, at: described) == [], "\(answer.text)")
        return answer
    }

    @Test func `an endpoint can be created, read without its secret, rotated, enabled and deleted`() async throws {
        let url = "https://receiver.example.com/a?b=c"
        let made = try await send(.post, Self.path, ["url": .string(url)], describedAt: Self.path)
        #expect(made.status == 200)
        let id = try #require(made.json["id"]?.string)
        let secret = try #require(made.json["secret"]?.string)
        #expect(secret.wholeMatch(of: #/whsec_[A-Za-z0-9+/]{43}=/#) != nil)

        let list = try await send(.get, Self.path, describedAt: Self.path)
        let shown = try #require(list.json["webhooks"]?.array?.first { $0["id"]?.string == id })
        #expect(shown["url"]?.string == url && shown["state"] == "enabled" && shown["waiting"] == 0)
        #expect(!list.text.contains("whsec"))

        let item = Self.path + "/{id}"
        let rotated = try await send(
            .post,
            "\(Self.path)/\(id)/secret",
            describedAt: item + "/secret"
        )
        #expect(rotated.json["id"]?.string == id && rotated.json["secret"]?.string != secret)
        #expect(try await send(.post, "\(Self.path)/\(id)/enable", describedAt: item + "/enable").status == 200)
        let failures = try await send(.get, "\(Self.path)/\(id)/failures", describedAt: item + "/failures")
        #expect(failures.json["failures"]?.array == [])
        #expect(try await send(.delete, "\(Self.path)/\(id)", describedAt: item).status == 200)
        #expect(try await send(.delete, "\(Self.path)/\(id)", describedAt: item).status == 404)
    }

    @Test func `a change that names another version of an endpoint is refused`() async throws {
        let made = try await send(
            .post,
            Self.path,
            ["url": "https://versions.example.com"],
            describedAt: Self.path
        )
        let one = "\(Self.path)/\(try #require(made.json["id"]?.string))"
        let item = Self.path + "/{id}"
        let first = try await send(.get, one, describedAt: item)
        #expect(first.status == 200 && first.json["url"] == "https://versions.example.com")
        let tag = try #require(first.headers[.eTag])
        // Of many that saw the same version, one gives it another secret.
        let answers = try await withThrowingTaskGroup { group in
            for _ in 0..<32 {
                group.addTask {
                    try await send(.post, one + "/secret", ifMatch: tag, describedAt: item + "/secret")
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1.status, default: 0] += 1 }
        }
        #expect(answers == [200: 1, 412: 31])
        for (method, verb) in [(.post, "/secret"), (.post, "/enable"), (.delete, "")]
            as [(HTTPRequest.Method, String)]
        {
            let stale = try await send(method, one + verb, ifMatch: tag, describedAt: item + verb)
            #expect(stale.status == 412 && stale.json["type"] == "urn:concord:problem:precondition-failed")
        }
        let second = try #require(try await send(.get, one, describedAt: item).headers[.eTag])
        #expect(second != tag)
        #expect(try await send(.post, one + "/enable", ifMatch: second, describedAt: item + "/enable").status == 200)
        let third = try #require(try await send(.get, one, describedAt: item).headers[.eTag])
        #expect(try await send(.delete, one, ifMatch: third, describedAt: item).status == 200)
        #expect(try await send(.delete, one, ifMatch: third, describedAt: item).status == 404)
        #expect(try await send(.get, one, describedAt: item).status == 404)
    }

    @Test(arguments: [
        "", "receiver.example.com", "http://receiver.example.com", "ftp://receiver.example.com", "https://",
        "https:///a",
        "https://user:secret@receiver.example.com", "https://a b.example.com", "https://receiver.example.com/#part",
        "https://receiver.example.com/\u{E9}", "https://receiver.example.com:0", "javascript:alert(1)",
        "https://127.0.0.1/h", "https://10.0.0.1/h", "https://169.254.169.254/h", "https://[::ffff:127.0.0.1]/h",
        "https://127.1/", "https://0x7f000001/", "https://2130706433/", "https://0177.0.0.1/", "https://0xa9fea9fe/",
        "https://receiver.example.com/" + String(repeating: "a", count: 2048),
    ])
    func `an endpoint with an invalid URL is refused`(url: String) async throws {
        let answer = try await send(.post, Self.path, ["url": .string(url)], describedAt: Self.path)
        #expect(answer.status == 400, "\(url)")
        #expect(answer.json["type"] == "urn:concord:problem:malformed-request")
    }

    @Test(arguments: ["x", "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-00000000000G", "..", "%00"])
    func `an unknown endpoint is not found`(id: String) async throws {
        let item = Self.path + "/{id}"
        #expect(try await send(.get, "\(Self.path)/\(id)", describedAt: item).status == 404)
        #expect(try await send(.delete, "\(Self.path)/\(id)", describedAt: item).status == 404)
        for verb in ["/secret", "/enable"] {
            #expect(try await send(.post, "\(Self.path)/\(id)\(verb)", describedAt: item + verb).status == 404)
        }
    }

    @Test func `an eleventh endpoint is refused`() async throws {
        try await TestAPI.with(callers: DevelopmentCallers()) { api in
            for number in 1...11 {
                let answer = try await api.post(
                    Self.path,
                    ["url": .string("https://\(number).example.com")],
                    key: nil,
                    bearer: "owner"
                )
                #expect(answer.status == (number < 11 ? 200 : 400))
            }
        }
    }

    @Test func `only administrators may manage webhooks`() async throws {
        let api = try TestAPI.shared
        let account = try await api.signUp("webhooks@example.com")
        for bearer in [nil, "forged", account["idToken"]?.string] {
            for (method, path) in [
                (HTTPRequest.Method.get, Self.path), (.post, Self.path), (.delete, Self.path + "/x"),
                (.post, Self.path + "/x/secret"), (.post, Self.path + "/x/enable"),
                (.get, Self.path + "/x/failures"),
            ] {
                let body = Array(#"{"url":"https://receiver.example.com"}"#.utf8)
                let answer = try await api.send(method, path, body, bearer: bearer)
                #expect([400, 401, 403].contains(answer.status), "\(method) \(path): \(answer.status) \(answer.text)")
                #expect(answer.headers[.contentType] == "application/problem+json")
            }
        }
    }
}
