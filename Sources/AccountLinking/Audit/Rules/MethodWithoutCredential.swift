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
            var there: Set<SignInMethod> = Set(account.linkedProviders.keys.map(SignInMethod.provider))
            if account.hasPassword { there.insert(.password) }
            if account.phoneNumber != nil { there.insert(.phone) }
            // A link needs only the address, and stays recorded while that changes.
            let recorded = Set(snapshot.methodProofs.keys).subtracting([.emailLink])
            return there.symmetricDifference(recorded).map(\.name).sorted().map { Evidence(["method": .text($0)]) }
        }
    )
}
