extension AuditRule {
    static let identifierWithoutClaim = AuditRule(
        id: "identifier-without-claim",
        severity: .error,
        summary: "An account has an address, a phone number or a provider's identity that is not reserved for it.",
        reason: "A sign-in with it reaches another account or creates a new one.",
        repair:
            "If no account owns it, reserve it for this one. If another account owns it, find the owner and remove it from the other account.",
        remedy: .account { snapshot, evidence, _ in
            let found = snapshot.unclaimed.first {
                Evidence([$0.identifier.kind: $0.identifier.evidence]).items == evidence.items
            }
            guard let found else { return .person("the account does not have it") }
            guard found.owner == nil else { return .person("another account owns it: find the owner") }
            switch found.identifier {
            case .email: return .repair(.claim(.email))
            case .phone: return .repair(.claim(.phone))
            case .federated(let identity): return .repair(.claim(.federated(identity.provider)))
            }
        },
        check: .account { snapshot, _ in
            snapshot.unclaimed.map { unclaimed in
                Evidence(
                    [unclaimed.identifier.kind: unclaimed.identifier.evidence],
                    others: unclaimed.owner.map { [$0] } ?? []
                )
            }
        }
    )
}

extension Identifier {
    fileprivate var evidence: Evidence.Value {
        switch self {
        case .email(let address): .address(address.canonical)
        case .phone(let number): .number(number.rawValue)
        case .federated(let identity): .subject("\(identity.provider.rawValue)/\(identity.subject)")
        }
    }
}
