extension AuditRule {
    static let addressProvenByNobody = AuditRule(
        id: "address-proven-by-nobody",
        severity: .note,
        summary: "The address is marked as verified only because an administrator or an import said so.",
        reason:
            "No user proved that they own the mailbox. If the mark is wrong, Concord joins a stranger's sign-ins to the account.",
        repair:
            "Clear emailVerified and let the user verify the address, unless the source is known to have verified it.",
        remedy: .account { _, _, _ in .repair(.unproveAddress) },
        check: .account { snapshot, _ in
            guard case .administrator? = snapshot.account?.email?.proof, let email = snapshot.account?.email else {
                return []
            }
            return [Evidence(["address": .address(email.address.canonical)])]
        }
    )
}
