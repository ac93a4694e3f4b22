import AccountLinking
import JSON

/// A proof of a mailbox, for the next step after a lookup: the `proofToken` of the wire.
///
/// Clients cannot forge it or read the account. It names the mailed code, and the step uses that code: a proof works
/// once, and not after the code was made void.
struct LookUpProof: Sendable {
    let tenant: TenantID
    /// SHA-256 of the mailed code.
    let hash: [UInt8]
    let facts: LookUpProofFacts

    private static let context = "lookup-proof/1"
    private static let bytesMax = 4096

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .string(Base64URL.encode(hash)), .string(facts.account.rawValue),
            .integer(facts.binding.sessionEpoch), .integer(facts.binding.policyVersion),
            .string(facts.binding.address?.raw ?? ""), .integer(facts.expiresAt.microsecondsSinceEpoch),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

extension LookUpProof {
    /// `nil` for text that this service did not seal, or sealed for another tenant.
    init?(_ text: String, tenant: TenantID, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 7,
            parts[0].string == tenant.rawValue, let hash = parts[1].string.flatMap({ Base64URL.decode($0) }),
            let account = parts[2].string.flatMap(UserID.init), let epoch = parts[3].integer,
            let policyVersion = parts[4].integer, let address = parts[5].string.flatMap(EmailAddress.init),
            let end = parts[6].integer
        else { return nil }
        self.init(
            tenant: tenant,
            hash: hash,
            facts: LookUpProofFacts(
                account: account,
                binding: ProofBinding(
                    kind: .mailbox,
                    sessionEpoch: epoch,
                    policyVersion: policyVersion,
                    address: address
                ),
                expiresAt: Timestamp(microsecondsSinceEpoch: end)
            )
        )
    }
}
