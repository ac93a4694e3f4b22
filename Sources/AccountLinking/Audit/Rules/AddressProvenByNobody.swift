extension AuditRule {
    static let addressProvenByNobody = AuditRule(
        id: "address-proven-by-nobody",
        severity: .note,
        summary: "The address is marked as verified, on an administrator's or an import's word alone.",
        reason:
            "Nobody showed to have the mailbox. If the word was wrong, the account is joined to a stranger's sign-ins.",
        repair: "Clear emailVerified and let the user verify the address, unless the source is known to have done so.",
        remedy: .account { _, _, _ in .repair(.unproveAddress) },
        check: .account { snapshot, _ in
            guard case .administrator? = snapshot.account?.email?.proof, let email = snapshot.account?.email else {
                return []
            }
            return [Evidence(["address": .address(email.address.canonical)])]
        }
    )
}
