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
            let found: ProvenLookup
            if let secret = arguments["linkSecret"]?.stringValue {
                guard let link = URL(string: "https://id.example.com/signin#lookup=\(secret)") else { return nil }
                found = try await auth.prove(lookupLink: link)
            } else {
                found = try await auth.prove(lookupCode: text("code"), email: text("email"))
            }
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
            default:
                let handle = arguments["pendingToken"]?.stringValue
                guard let conflict = try auth.pendingConflicts().first(where: { $0.handle.text == handle }) else {
                    return nil
                }
                let proof = try await proven.prove(conflict, in: auth)
                return VectorResult(value: ["proofToken": proof.token.text.json])
            }
        default: return nil
        }
    }

    func pending(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        let handle = arguments["pendingToken"]?.stringValue ?? ""
        switch operation {
        case "firstSignIn.create":
            let tokens = OAuthTokens(pendingToken: Secret(handle))
            let waiting = AuthCredential("google.com", .oauth(tokens))
            let first = FirstSignIn(providerID: "google.com", email: nil, displayName: nil, credential: waiting)
            return VectorResult(result: try await first.createAccount(in: auth))
        case "pendingSignUp.prove":
            guard var conflict = try auth.pendingConflicts().first(where: { $0.handle.text == handle }) else {
                return nil
            }
            let proof: ConflictProof
            if let code = arguments["code"]?.stringValue {
                proof = try await conflict.prove(code: code, in: auth)
            } else {
                // With an account, `AuthConflict.prove` also opens its conflict, which is the next step.
                let secret = arguments["linkSecret"]?.stringValue ?? ""
                proof = try await PendingSignUp.prove(conflict, ["linkSecret": secret.json], in: auth)
                conflict.proof = proof
                try auth.replace(conflict)
            }
            return VectorResult(value: [
                "accountExists": proof.accountExists.json, "proofToken": proof.token.text.json,
            ])
        case "pendingSignUp.link":
            guard let conflict = try auth.pendingConflicts().first(where: { $0.handle.text == handle }) else {
                return nil
            }
            let opened = try await conflict.opened(in: auth)
            return VectorResult(value: [
                "pendingToken": opened.handle.text.json, "proofToken": opened.proof?.token.text.json ?? .null,
            ])
        case "pendingSignUp.create":
            guard let conflict = try auth.pendingConflicts().first(where: { $0.handle.text == handle }) else {
                return nil
            }
            return VectorResult(result: try await conflict.resolve(in: auth))
        default: return nil
        }
    }

    /// Operations without an account.
    func server(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        func text(_ name: String) -> String { arguments[name]?.stringValue ?? "" }
        switch operation {
        case "shortCode.exchange":
            guard let purpose = ShortCodePurpose(rawValue: text("requestType")) else { return nil }
            let code = try await auth.actionCode(ofShortCode: text("code"), email: text("email"), purpose: purpose)
            return VectorResult(value: ["oobCode": code.json])
        case "emailCode.disown":
            return VectorResult(value: ["email": try await auth.disownAccount(withCode: text("oobCode")).email.json])
        case "about.read":
            let info = try await auth.serverInfo()
            return VectorResult(value: [
                "version": info.version?.json ?? .null, "api": .integer(Int64(info.api)),
                "features": .array(info.features.map(\.json)),
            ])
        case "signInPage.read": _ = try await auth.signInOptions()
        case "reauthenticationPolicy.read": _ = try await auth.reauthenticationRules()
        case "decision.read":
            return VectorResult(value: ["decisionId": try await auth.decision(text("decision")).decisionId.json])
        default: return nil
        }
        return VectorResult()
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
        case "devices.revoke":
            return VectorResult(value: ["revoked": try await user.forgetDevice(text("device")).json])
        case "events.read": _ = try await user.events()
        case "export.read": _ = try await user.exportData()
        case "merge.preview", "merge.commit":
            let token = arguments["other"]?.stringValue
            let others = try others.compactMap { try $0.storedUser() }
            var other: User?
            for candidate in others where try await candidate.getIDToken() == token { other = candidate }
            guard let other else { return nil }
            let choices = (arguments["choices"]?.objectValue ?? [:])
                .compactMapValues { $0.stringValue.flatMap(MergeSide.init) }
            if operation == "merge.preview" {
                return names("undecided", try await user.previewMerge(with: other, choices: choices).undecided)
            }
            let merge = try await user.merge(with: other, choices: choices)
            return VectorResult(value: ["id": merge.id.json, "state": merge.state.rawValue.json])
        case "merge.undo":
            return VectorResult(value: ["state": try await user.undoMerge(text("merge")).state.rawValue.json])
        case "merge.list": return names("merges", try await user.merges().map(\.id))
        case "merge.read": _ = try await user.merge(text("merge"))
        default: return nil
        }
        return VectorResult()
    }
}
