extension AuditRule {
    static let methodWithoutCredential = AuditRule(
        id: "method-without-credential",
        severity: .error,
        summary: "A sign-in method is recorded without its credential, or a credential without its method.",
        reason: "The account lists a sign-in method that does not exist, or hides one that exists.",
        repair: "Delete the row without a counterpart, or link the method again.",
        remedy: .account { snapshot, evidence, _ in
            guard let method = evidence.text("method").flatMap(SignInMethod.init(name:)) else {
                return .person("the method is unknown")
            }
            return .repair(snapshot.methodProofs[method] == nil ? .recordMethod(method) : .forgetMethod(method))
        },
        check: .account { snapshot, _ in
            guard let account = snapshot.account else { return [] }
            var there = account.linkedProviders.keys.map(SignInMethod.provider)
            if account.hasPassword { there.append(.password) }
            if account.phoneNumber != nil { there.append(.phone) }
            let unrecorded = there.filter { snapshot.methodProofs[$0] == nil }
            // A link needs only the address, and stays recorded while that changes.
            let missing = snapshot.methodProofs.keys.filter { $0 != .emailLink && !there.contains($0) }
            return (unrecorded + missing).map(\.name).sorted().map { Evidence(["method": .text($0)]) }
        }
    )
}
