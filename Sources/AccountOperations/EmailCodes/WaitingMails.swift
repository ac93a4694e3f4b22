package import AccountLinking
import AccountStore

extension AccountOperations {
    /// How many messages an inspection looks at.
    private static let inspectedMessagesMax: Int64 = 1000

    /// The mails that carry codes which can still be used, the oldest first. For development: it opens what is sealed.
    package func mailsWithUsableCodes(tenant: TenantID) async throws -> [Mail] {
        let mails = try await waitingMails(tenant: tenant)
        let hashes = mails.compactMap { $0.code.map(NewEmailCode.hash(of:)) }
        let usable = try await store.usableEmailCodes(among: hashes, tenant: tenant, at: effects.now())
        return mails.filter { mail in mail.code.map { usable.contains(NewEmailCode.hash(of: $0)) } ?? false }
    }

    /// The mails that prove conflicts, the oldest first; what they carry may have been used. For development.
    package func mailsThatProveConflicts(tenant: TenantID) async throws -> [Mail] {
        try await waitingMails(tenant: tenant).filter { $0.template == .conflictProof }
    }

    /// The mails that only tell something, the oldest first. For development.
    package func notices(tenant: TenantID) async throws -> [Mail] {
        try await waitingMails(tenant: tenant).filter { $0.code == nil }
    }

    private func waitingMails(tenant: TenantID) async throws -> [Mail] {
        try await store.waitingMessages(.mail, countMax: Self.inspectedMessagesMax, tenant: tenant).compactMap {
            message in
            Mail(opening: message.sealedPayload, id: message.id, tenant: tenant, sealer: sealer)
        }
    }
}
