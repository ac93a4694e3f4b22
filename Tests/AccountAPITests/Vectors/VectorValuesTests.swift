import AccountTestSupport
import JSON
import Testing

/// The comparison of answers with vectors.
struct VectorValuesTests {
    private static let uid = String(repeating: "a", count: 28)

    private func differences(_ actual: JSONValue, _ template: String) throws -> [String] {
        var values = VectorValues()
        values.save("saved before", as: "before")
        let template = try JSONValue(parsing: Array(template.utf8))
        values.save(actual, by: template)
        return values.differences(of: actual, from: template)
    }

    @Test(
        arguments: [
            (#"{"a":1,"b":"x"}"#, #"{"a":1,"b":"x"}"#),
            (#"{"a":"ab"}"#, #"{"a":{"$is":"opaque"}}"#),
            (#"{"id":"\#(uid)","same":"\#(uid)"}"#, #"{"id":{"$save":"u","is":"uid"},"same":{"$use":"u"}}"#),
            (#"{"text":"say: saved before"}"#, #"{"text":{"$text":["say: ",{"$use":"before"}]}}"#),
            (
                #"{"list":[{"n":"2","first":false},{"n":"1","first":true}],"second":"2"}"#,
                #"{"list":{"$unordered":[{"n":{"$save":"one","is":"digits"},"first":true},"#
                    + #"{"n":{"$save":"two","is":"digits"},"first":false}]},"second":{"$use":"two"}}"#
            ),
            (
                #"{"url":"http://localhost/back?code=a%20b&state=x#f","code":"a b"}"#,
                #"{"url":{"$save":"url","is":"url","parameters":{"code":"code"}},"code":{"$use":"code"}}"#
            ),
        ]
    )
    func `an answer of the vector has no differences`(_ actual: String, _ template: String) throws {
        #expect(try differences(try JSONValue(parsing: Array(actual.utf8)), template) == [])
    }

    @Test(
        arguments: [
            (#"{"a":1}"#, #"{"a":2}"#), (#"{"a":"1"}"#, #"{"a":1}"#), ("{}", #"{"a":1}"#),
            (#"{"a":1,"b":2}"#, #"{"a":1}"#), ("[1,2]", "[1]"), ("[1]", "[2]"), (#""x""#, #"{"a":1}"#),
            ("null", #"{"$is":"opaque"}"#), (#""""#, #"{"$is":"opaque"}"#), (#""abc""#, #"{"$is":"uid"}"#),
            ("7", #"{"$is":"digits"}"#), (#""7""#, #"{"$is":"number"}"#), (#""x""#, #"{"$is":"no form"}"#),
            (#""2026-01-05T09:00:00Z""#, #"{"$is":"timestamp"}"#), (#""javascript:x""#, #"{"$is":"url"}"#),
            (#""other""#, #"{"$use":"before"}"#), (#""other""#, #"{"$use":"never saved"}"#),
            ("[1,2]", #"{"$unordered":[1,1]}"#), ("[1]", #"{"$unordered":[1,2]}"#),
        ]
    )
    func `an answer that is not of the vector has a difference`(_ actual: String, _ template: String) throws {
        #expect(try differences(try JSONValue(parsing: Array(actual.utf8)), template).count == 1)
    }

    private func token(_ name: String, _ value: String) -> JSONValue {
        let claims: JSONValue = [
            "iss": .string("https://securetoken.google.com/\(TestService.projectID)"),
            "aud": .string(TestService.projectID), "sub": .string(Self.uid), "user_id": .string(Self.uid),
            "iat": 1, "exp": 3601, "auth_time": 1,
        ]
        return .string("e30.\(Base64URL.encode(Array(claims.with(name, .string(value)).text.utf8))).")
    }

    @Test func `an ID token is one of the project and of one user, with the claims of the vector`() throws {
        let template = #"{"$save":"t","is":"idToken","claims":{"email":"a","user_id":{"$save":"u","is":"uid"}}}"#
        #expect(try differences(token("email", "a"), template) == [])
        for (name, value) in [("email", "b"), ("name", "a")] {
            #expect(try differences(token(name, value), template).count == 1, "\(name)")
        }
        for name in ["iss", "aud", "sub", "iat"] {
            #expect(try differences(token(name, "another"), #"{"$is":"idToken"}"#).count == 1, "\(name)")
        }
    }
}
