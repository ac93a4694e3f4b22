import Foundation
import Testing

@testable import ConcordAuth

@Suite struct CodeTests {
    @Test func rawValuesAreFirebaseAuths() {
        #expect(AuthErrorCode.invalidCustomToken.rawValue == 17_000)
        #expect(AuthErrorCode.accountExistsWithDifferentCredential.rawValue == 17_012)
        #expect(AuthErrorCode.secondFactorRequired.rawValue == 17_078)
        #expect(AuthErrorCode.internalError.rawValue == 17_999)
        #expect(AuthErrorCode.malformedJWT.rawValue == 18_000)
        #expect(AuthErrorCode.allCases.count { $0.rawValue > 18_000 && $0.rawValue < 18_100 } == 0)
    }

    @Test func messagesSplitAtTheFirstColon() {
        let error = AuthError(message: "BLOCKING_FUNCTION_ERROR_RESPONSE : HTTP: 403")
        #expect(error.code == .blockingCloudFunctionError)
        #expect(error.message == "HTTP: 403")
        #expect(AuthError(message: "").code == .internalError)
        #expect(AuthError(message: ":").code == .internalError)
        #expect(AuthError(message: "Invalid JSON payload received.").serverCode == nil)
    }

    @Test func datesOfHTTPAndJSON() {
        #expect(HTTPDate.parse("Fri, 15 Jan 2027 08:00:00 GMT")?.timeIntervalSince1970 == 1_800_000_000)
        #expect(HTTPDate.parse("yesterday") == nil)
        #expect(HTTPDate.parseTimestamp("2027-01-15T08:00:00.000Z")?.timeIntervalSince1970 == 1_800_000_000)
        #expect(HTTPDate.parseTimestamp("2027-01-15T08:00:00Z")?.timeIntervalSince1970 == 1_800_000_000)
    }
}
