extension AuditRule {
    static let unprovenAddressWithProviders = AuditRule(
        id: "unproven-address-with-providers",
        severity: .warning,
        summary: "Providers are linked to an account whose address is not verified.",
        reason: """
            A trojan identifier: an attacker who signed up with another person's address and linked their own provider can \
            still sign in after the owner of the address uses the account.
            """,
        repair:
            "Let the user verify the address. When the owner signs in by a link, Concord suspends what they did not link.",
        remedy: .person("only the owner can prove the address: send them a link to verify it"),
        check: .account { snapshot, _ in
            guard snapshot.account?.isEmailVerified == false, let account = snapshot.account, let email = account.email,
                !account.linkedProviders.isEmpty
            else { return [] }
            let providers = account.linkedProviders.keys.map(\.rawValue).joined(separator: ", ")
            return [Evidence(["address": .address(email.address.canonical), "providers": .text(providers)])]
        }
    )
}
