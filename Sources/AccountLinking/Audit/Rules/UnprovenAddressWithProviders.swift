extension AuditRule {
    static let unprovenAddressWithProviders = AuditRule(
        id: "unproven-address-with-providers",
        severity: .warning,
        summary: "Providers are linked to an account whose address nobody has shown to have.",
        reason: """
            A trojan identifier: whoever signed up with somebody else's address and linked a provider of their own gets \
            back in after the address's owner has come.
            """,
        repair: "Let the user verify the address; what the owner has not linked is suspended when they come by a link.",
        remedy: .person("only the owner can show to have the address: send them a link to verify it"),
        check: .account { snapshot, _ in
            guard snapshot.account?.isEmailVerified == false, let account = snapshot.account, let email = account.email,
                !account.linkedProviders.isEmpty
            else { return [] }
            let providers = account.linkedProviders.keys.map(\.rawValue).joined(separator: ", ")
            return [Evidence(["address": .address(email.address.canonical), "providers": .text(providers)])]
        }
    )
}
