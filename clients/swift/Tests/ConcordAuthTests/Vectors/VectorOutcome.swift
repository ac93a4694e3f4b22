import Foundation

@testable import ConcordAuth

/// Compares what the app got with the outcome of a step.
enum VectorOutcome {
    static func differences(
        _ outcome: Result<VectorResult, any Error>,
        _ expected: JSONValue,
        _ app: inout VectorApp
    ) throws -> [String] {
        var differences: [String] = []
        switch outcome {
        case .failure(let error):
            guard let error = error as? AuthError else { return ["the error is \(error)"] }
            app.resolver = error.resolver ?? app.resolver
            differences += errorDifferences(error, expected)
        case .success(let result):
            if let wanted = expected["error"] { return ["no error instead of \(wanted)"] }
            if let isNew = expected["isNewUser"]?.boolValue, result.result?.additionalUserInfo?.isNewUser != isNew {
                differences.append("isNewUser is not \(isNew)")
            }
            for (name, value) in result.value {
                if let wanted = expected["value"]?[name], !isSame(wanted, value) {
                    differences.append("\(name) is \(value), not \(wanted)")
                }
            }
        }
        if let wanted = expected["user"] { differences += userDifferences(try app.auth.storedUser(), wanted) }
        if let signedOut = expected["signedOut"]?.boolValue, (app.auth.currentUser == nil) != signedOut {
            differences.append("signedOut is not \(signedOut)")
        }
        if let handles = expected["pendingConflicts"]?.arrayValue {
            let found = try app.auth.pendingConflicts().map { JSONValue.string($0.handle.text) }
            if Set(found.map { "\($0)" }) != Set(handles.map { "\($0)" }) {
                differences.append("\(found.count) conflicts are stored, not \(handles.count)")
            }
        }
        return differences
    }

    /// Returns true if both values are the same; the order of names does not count.
    private static func isSame(_ one: JSONValue, _ other: JSONValue) -> Bool {
        guard let one = one.arrayValue, let other = other.arrayValue else { return one == other }
        return one.map { "\($0)" }.sorted() == other.map { "\($0)" }.sorted()
    }

    private static func errorDifferences(_ error: AuthError, _ expected: JSONValue) -> [String] {
        guard let wanted = expected["error"] else { return ["the error \(error)"] }
        var differences: [String] = []
        let codes = wanted["code"]?.arrayValue ?? wanted["code"].map { [$0] } ?? []
        if !codes.compactMap(\.stringValue).contains(where: { name(of: error).contains($0) }) {
            differences.append("the code is \(name(of: error)), not \(codes); \(error)")
        }
        let serverCodes = wanted["serverCode"]?.arrayValue ?? wanted["serverCode"].map { [$0] } ?? []
        if !serverCodes.isEmpty, !serverCodes.contains(error.serverCode?.json ?? .null) {
            differences.append("the server's code is \(error.serverCode ?? "none"), not \(serverCodes)")
        }
        if let email = wanted["email"]?.stringValue, error.email != email {
            differences.append("the address is not \(email)")
        }
        if wanted["keepsCredential"] == true, error.updatedCredential == nil {
            differences.append("the credential is lost")
        }
        if let conflict = wanted["conflict"] {
            if error.conflict?.handle.text != conflict["handle"]?.stringValue { differences.append("another conflict") }
            if error.conflict?.providerID != conflict["providerID"]?.stringValue {
                differences.append("the conflict has another provider")
            }
        }
        if let factors = expected["secondFactor"]?.arrayValue {
            let found = (error.resolver?.hints ?? []).map { hint in
                JSONValue.members([
                    "enrollmentID": hint.uid.json, "kind": hint.factorID.json, "displayName": hint.displayName?.json,
                ])
            }
            if found != factors { differences.append("the factors are \(found), not \(factors)") }
        }
        return differences
    }

    private static func userDifferences(_ user: User?, _ wanted: JSONValue) -> [String] {
        guard wanted != .null else { return user == nil ? [] : ["a user is signed in"] }
        guard let user else { return ["no user is signed in"] }
        let found: [String: JSONValue] = [
            "uid": user.uid.json, "email": user.email?.json ?? .null, "isEmailVerified": user.isEmailVerified.json,
            "displayName": user.displayName?.json ?? .null, "phoneNumber": user.phoneNumber?.json ?? .null,
            "isAnonymous": user.isAnonymous.json, "providers": .array(user.providerData.map(\.providerID.json)),
        ]
        return (wanted.objectValue ?? [:]).compactMap { name, value in
            found[name] == value ? nil : "\(name) is \(found[name] ?? .null), not \(value)"
        }
    }

    /// The names of a code in Firebase's web SDK and in Concord's problems.
    private static func name(of error: AuthError) -> [String] {
        let kebab = "\(error.code)".reduce(into: "") { text, character in
            if character.isUppercase, text.last?.isLowercase == true { text += "-" }
            text += character.lowercased()
        }
        var names = ["auth/\(different[error.code] ?? kebab)", "concord/\(different[error.code] ?? kebab)"]
        if let code = error.serverCode { names.append("concord/\(code)") }
        return names
    }

    private static let different: [AuthErrorCode: String] = [
        .secondFactorRequired: "multi-factor-auth-required", .sessionExpired: "code-expired",
        .invalidVerificationID: "invalid-verification-id", .invalidAPIKey: "invalid-api-key",
        .networkError: "network-request-failed", .unauthorizedDomain: "unauthorized-continue-uri",
        .serverUnavailable: "unavailable",
    ]
}
