package import AccountLinking
import AccountStore

extension AccountOperations {
    /// How many messages an inspection looks at.
    private static let inspectedMessagesMax: Int64 = 1000

    /// The mails that carry codes which can still be used, the oldest first. For development: it opens what is sealed.
    package func mailsWithUsableCodes(tenant: TenantID) async throws -> [Mail] {
        let messages = try await store.waitingMessages(.mail, countMax: Self.inspectedMessagesMax, tenant: tenant)
        let mails = messages.compactMap { message in
            Mail(opening: message.sealedPayload, id: message.id, tenant: tenant, sealer: sealer)
        }
        let hashes = mails.compactMap { $0.code.map(NewEmailCode.hash(of:)) }
        let usable = try await store.usableEmailCodes(among: hashes, tenant: tenant, at: effects.now())
        return mails.filter { mail in mail.code.map { usable.contains(NewEmailCode.hash(of: $0)) } ?? false }
    }
}
