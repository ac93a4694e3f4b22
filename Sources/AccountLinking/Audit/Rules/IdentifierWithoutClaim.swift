extension AuditRule {
    static let identifierWithoutClaim = AuditRule(
        id: "identifier-without-claim",
        severity: .error,
        summary: "An account shows an address, a number or a provider's identity that it does not own.",
        reason: "Whoever signs in with it gets into another account or makes a new one.",
        repair:
            "Where nobody owns it, give it to the account; where another does, find out whose it is and take it off one.",
        remedy: .account { snapshot, evidence, _ in
            let found = snapshot.unclaimed.first {
                Evidence([$0.identifier.kind: $0.identifier.evidence]).items == evidence.items
            }
            guard let found else { return .person("the account does not show it") }
            guard found.owner == nil else { return .person("another account owns it: find out whose it is") }
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
