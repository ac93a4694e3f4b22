import Foundation

@testable import ConcordAuth

extension VectorApp {
    mutating func lookUp(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        switch operation {
        case "lookup.request":
            guard case .known(let account) = try await auth.lookup(email: text("email")) else { return VectorResult() }
            return VectorResult(value: ["methods": .array(account.methods.map(\.name.json))])
        case "lookup.prove":
            guard let code = arguments["code"]?.stringValue else { return nil }
            let found = try await auth.prove(lookupCode: code, email: text("email"))
            proven = found
            return VectorResult(value: [
                "email": found.email.json, "methods": .array(found.methods.map(\.name.json)),
                "signsIn": found.signsIn.json, "offersPassword": found.offersPassword.json,
                "proofToken": found.proofToken.text.json,
            ])
        case "lookup.continue":
            guard let proven, arguments["proofToken"]?.stringValue == proven.proofToken.text else { return nil }
            switch text("way") {
            case "signIn": return VectorResult(result: try await proven.signIn(in: auth))
            case "setPassword":
                return VectorResult(value: ["oobCode": try await proven.passwordResetCode(in: auth).json])
            default: return nil
            }
        default: return nil
        }
    }

    func ownAccount(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        guard let user = try auth.storedUser() else { return nil }
        func names(_ name: String, _ values: [String]) -> VectorResult {
            VectorResult(value: [name: .array(values.map(\.json))])
        }
        switch operation {
        case "methods.read": return names("methods", try await user.methods().methods.map(\.method))
        case "methods.remove":
            return names("methods", try await user.removeMethod(text("method")).methods.map(\.method))
        case "suspendedMethods.read":
            return names("methods", try await user.suspendedMethods().methods.map(\.method))
        case "suspendedMethods.restorePassword":
            return names("methods", try await user.restorePassword(text("password")).methods.map(\.method))
        case "suspendedMethods.discard":
            return names("methods", try await user.deleteSuspendedMethod(text("method")).methods.map(\.method))
        case "sessions.read":
            let answer = try await user.sessions()
            return names("sessions", answer.sessions.map(\.id))
        case "sessions.end": return VectorResult(value: ["ended": try await user.endSession(text("session")).json])
        case "sessions.endAll":
            if arguments["keepsCurrent"] == true {
                return VectorResult(value: ["ended": try await user.endOtherSessions().json])
            }
            try await user.endAllSessions()
        case "events.read": _ = try await user.events()
        case "export.read": _ = try await user.exportData()
        case "merge.list": return names("merges", try await user.merges().map(\.id))
        case "merge.read": _ = try await user.merge(text("merge"))
        default: return nil
        }
        return VectorResult()
    }
}
