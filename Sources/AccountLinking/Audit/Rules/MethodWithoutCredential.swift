extension AuditRule {
    static let methodWithoutCredential = AuditRule(
        id: "method-without-credential",
        severity: .error,
        summary: "A sign-in method is recorded without what it signs in with, or the other way round.",
        reason: "The account shows a way in that there is not, or hides one that there is.",
        repair: "Delete the row that stands alone, or link the method anew.",
        remedy: .account { snapshot, evidence, _ in
            guard let method = evidence.text("method").flatMap(SignInMethod.init(name:)) else {
                return .person("the method is unknown")
            }
            return .repair(snapshot.methodProofs[method] == nil ? .recordMethod(method) : .forgetMethod(method))
        },
        check: .account { snapshot, _ in
            guard let account = snapshot.account else { return [] }
            let recordedCount = snapshot.methodProofs.count - (snapshot.methodProofs[.emailLink] == nil ? 0 : 1)
            let thereCount =
                account.linkedProviders.count + (account.hasPassword ? 1 : 0) + (account.phoneNumber == nil ? 0 : 1)
            // Nearly every account is well: no set is made for those.
            let allRecorded =
                account.linkedProviders.keys.allSatisfy { snapshot.methodProofs[.provider($0)] != nil }
                && (!account.hasPassword || snapshot.methodProofs[.password] != nil)
                && (account.phoneNumber == nil || snapshot.methodProofs[.phone] != nil)
            if allRecorded, recordedCount == thereCount { return [] }
            var there: Set<SignInMethod> = Set(account.linkedProviders.keys.map(SignInMethod.provider))
            if account.hasPassword { there.insert(.password) }
            if account.phoneNumber != nil { there.insert(.phone) }
            // A link needs nothing but the address, and stays recorded while that changes.
            let recorded = Set(snapshot.methodProofs.methods).subtracting([.emailLink])
            return there.symmetricDifference(recorded).map(\.name).sorted().map { Evidence(["method": .text($0)]) }
        }
    )
}
