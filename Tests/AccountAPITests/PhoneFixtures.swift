import AccountOperations
import AccountTestSupport
import HTTPTypes
import JSON
import Testing

/// A code that a phone has received.
struct PhoneCode {
    let sessionInfo: String
    let code: String

    /// Another code than the right one.
    var wrong: String { code == "000000" ? "000001" : "000000" }
}

extension TestAPI {
    private static let sendPath = "/v1/accounts:sendVerificationCode"

    /// Asks for a code, with what development takes for the proof of an app.
    func askForCode(_ number: String, with more: [String: JSONValue] = ["recaptchaToken": "app"]) async throws -> Answer
    {
        try await post(Self.sendPath, .object(more.merging(["phoneNumber": .string(number)]) { first, _ in first }))
    }

    /// Messages whose codes can still be used, the oldest first.
    func listedMessages() async throws -> [JSONValue] {
        let path = "/emulator/v1/projects/\(TestService.projectID)/verificationCodes"
        return try await send(.get, path, key: nil).json["verificationCodes"]?.array ?? []
    }

    /// Asks for a code and reads it from the listing.
    func phoneCode(_ number: String) async throws -> PhoneCode {
        let answer = try await askForCode(number)
        #expect(answer.status == 200, "\(answer.text)")
        let sessionInfo = try #require(answer.json["sessionInfo"]?.string)
        let listed = try await listedMessages().first { $0["sessionInfo"] == .string(sessionInfo) }
        return PhoneCode(sessionInfo: sessionInfo, code: try #require(listed?["code"]?.string))
    }

    func signInByPhone(
        _ sessionInfo: String,
        _ code: String,
        idToken: JSONValue? = nil,
        operation: JSONValue? = nil
    ) async throws -> Answer {
        var body: [String: JSONValue] = ["sessionInfo": .string(sessionInfo), "code": .string(code)]
        body["idToken"] = idToken
        body["operation"] = operation
        return try await post("/v1/accounts:signInWithPhoneNumber", .object(body))
    }

    /// Shows to hold a number: asks for a code and brings it back.
    func signInByPhone(_ number: String, idToken: JSONValue? = nil, operation: JSONValue? = nil) async throws -> Answer
    {
        let sent = try await phoneCode(number)
        return try await signInByPhone(sent.sessionInfo, sent.code, idToken: idToken, operation: operation)
    }

    func redeem(_ proof: JSONValue, _ number: String, idToken: JSONValue? = nil) async throws -> Answer {
        var body: [String: JSONValue] = [
            "temporaryProof": proof["temporaryProof"] ?? .null, "phoneNumber": .string(number),
        ]
        body["idToken"] = idToken
        return try await post("/v1/accounts:signInWithPhoneNumber", .object(body))
    }
}
