extension AuditRule {
    static let methodOlderThanProof = AuditRule(
        id: "method-older-than-proof",
        severity: .warning,
        summary: "A sign-in method is older than the proof of the address by a link, a password reset or a provider.",
        reason: "Pre-hijacking: the person who added it may not be the owner of the address, and can still sign in.",
        repair: "Suspend the method and end the sessions. The owner links their own methods again.",
        remedy: .account { _, evidence, _ in
            guard let method = evidence.text("method").flatMap(SignInMethod.init(name:)) else {
                return .person("the method is unknown")
            }
            return .repair(.suspend(method, endsSessions: true))
        },
        check: .account { snapshot, _ in
            guard let provenAt = snapshot.emailProvenAt else { return [] }
            let prover: SignInMethod?
            switch snapshot.account?.email?.proof {
            case .emailLink?: prover = .emailLink
            case .passwordReset?: prover = .password
            case .provider(let provider)?: prover = .provider(provider)
            // The account requested the code, or there is no proof.
            case .emailCode?, .administrator?, nil: return []
            }
            return snapshot.methodProofs.filter { $0.key != prover && $0.value.provenAt < provenAt }
                .sorted { $0.key.name < $1.key.name }
                .map { method, proof in
                    Evidence([
                        "method": .text(method.name), "added": .instant(proof.provenAt),
                        "addressProven": .instant(provenAt),
                    ])
                }
        }
    )
}
