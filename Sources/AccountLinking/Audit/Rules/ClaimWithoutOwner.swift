extension AuditRule {
    static let claimWithoutOwner = AuditRule(
        id: "claim-without-owner",
        severity: .error,
        summary:
            "An address, a phone number or a provider's identity is reserved for an account that does not have it.",
        reason: "Its owner can neither sign up with it nor link it, although no account uses it.",
        repair: "Release it, or add it to the account.",
        remedy: .account { snapshot, evidence, _ in
            guard
                let claim = snapshot.orphanedIdentifiers.first(where: { Evidence([$0.kind: $0.evidence]) == evidence })
            else {
                return .person("the claim cannot be distinguished from others")
            }
            return .repair(.release(kind: claim.kind, key: claim.value))
        },
        check: .claims { snapshot in
            let shown = Set(snapshot.account?.identifiers.map { [$0.kind, $0.value] } ?? [])
            return snapshot.orphanedIdentifiers.filter { !shown.contains([$0.kind, $0.value]) }.map { claim in
                Evidence([claim.kind: claim.evidence])
            }
        }
    )
}

extension AccountSnapshot.OrphanedIdentifier {
    fileprivate var evidence: Evidence.Value {
        switch kind {
        case "email": .address(value)
        case "phone": .number(value)
        default: .subject(value.split(separator: "\u{1F}").joined(separator: "/"))
        }
    }
}
