import Foundation

@testable import ConcordAuth

extension VectorApp {
    func conflict(_ operation: String, _ arguments: JSONValue) async throws -> VectorResult? {
        let handle = arguments["conflict"]?.stringValue ?? ""
        let conflict =
            try rig.store.read()?.conflicts.first { $0.handle.text == handle }
            ?? AuthConflict(
                kind: .accountExists,
                providerID: "github.com",
                email: nil,
                handle: handle,
                server: auth.configuration.server,
                projectID: Rig.project,
                receiveTime: auth.configuration.now()
            )
        func state(_ status: ConflictStatus) -> VectorResult {
            VectorResult(value: status.state == .unknown ? [:] : ["state": .string(status.state.rawValue)])
        }
        switch operation {
        case "conflict.read": return state(try await conflict.read(in: auth))
        case "conflict.startProof":
            if arguments["kind"] == "session" {
                let proof = try await conflict.prove(with: user(), in: auth)
                return VectorResult(value: ["proofToken": proof.token.text.json])
            }
            return state(try await conflict.startProof(in: auth))
        case "conflict.prove":
            let proof: ConflictProof
            if let code = arguments["code"]?.stringValue {
                proof = try await conflict.prove(code: code, in: auth)
            } else {
                let secret = arguments["linkSecret"]?.stringValue ?? ""
                guard let link = URL(string: "https://id.example.com/conflict#proof=\(secret)") else { return nil }
                proof = try await conflict.prove(link: link, in: auth)
            }
            return VectorResult(value: ["proofToken": .string(proof.token.text)])
        case "conflict.resolve":
            let proof = arguments["proofToken"]?.stringValue.map { token in
                ConflictProof(
                    suspended: [],
                    replaced: [],
                    signInMethods: [],
                    accountExists: true,
                    expireTime: nil,
                    token: Secret(token)
                )
            }
            return VectorResult(result: try await conflict.resolve(proof, in: auth))
        case "conflict.settle":
            let email = arguments["email"]?.stringValue ?? ""
            let password = arguments["password"]?.stringValue ?? ""
            let method = EmailAuthProvider.credential(withEmail: email, password: password)
            return VectorResult(result: try await conflict.settle(with: method, in: auth))
        case "conflict.decline":
            try await conflict.decline(in: auth)
            return VectorResult()
        default: return nil
        }
    }
}
