package import AccountLinking
import AccountStore
import Synchronization

extension AccountOperations {
    private static let inspectedMessagesMax: Int64 = 1000

    /// The mails with usable codes, and the links returned to administrators, oldest first. For development.
    package func mailsWithUsableCodes(tenant: TenantID) async throws -> [Mail] {
        let waiting = try await datedMails(tenant: tenant)
        let answered = answeredLinks?.all(tenant: tenant) ?? []
        let mails = (waiting + answered).sorted { $0.createdAt < $1.createdAt }.map(\.mail)
        let hashes = mails.compactMap { $0.code.map(NewEmailCode.hash(of:)) }
        let usable = try await store.usableEmailCodes(among: hashes, tenant: tenant, at: effects.now())
        return mails.filter { mail in mail.code.map { usable.contains(NewEmailCode.hash(of: $0)) } ?? false }
    }

    /// Oldest first, also with consumed codes. For development.
    package func mailsThatProveConflicts(tenant: TenantID) async throws -> [Mail] {
        try await waitingMails(tenant: tenant).filter { $0.template == .conflictProof }
    }

    /// The mails without code, oldest first. For development.
    package func notices(tenant: TenantID) async throws -> [Mail] {
        try await waitingMails(tenant: tenant).filter { $0.code == nil }
    }

    private func waitingMails(tenant: TenantID) async throws -> [Mail] {
        try await datedMails(tenant: tenant).map(\.mail)
    }

    private func datedMails(tenant: TenantID) async throws -> [(createdAt: Timestamp, mail: Mail)] {
        let waiting = try await store.waitingMessages(.mail, countMax: Self.inspectedMessagesMax, tenant: tenant)
        var mails: [(createdAt: Timestamp, mail: Mail)] = []
        for message in waiting {
            guard let mail = Mail(opening: message, tenant: tenant, sealer: sealer),
                let resolved = try await resolve(mail, tenant: tenant)
            else { continue }
            mails.append((message.createdAt, resolved))
        }
        return mails
    }
}

/// The newest links returned to administrators (`returnOobLink`), where test suites look for codes. For development. In
/// memory only.
final class ReturnedLinks: Sendable {
    private static let countMax = 1000

    private struct ReturnedLink {
        let tenant: TenantID
        let createdAt: Timestamp
        let mail: Mail
    }

    private let answered = Mutex<[ReturnedLink]>([])

    func add(_ mail: Mail, tenant: TenantID, at now: Timestamp) {
        answered.withLock { answered in
            if answered.count == Self.countMax { answered.removeFirst() }
            answered.append(ReturnedLink(tenant: tenant, createdAt: now, mail: mail))
        }
    }

    /// Oldest first.
    func all(tenant: TenantID) -> [(createdAt: Timestamp, mail: Mail)] {
        answered.withLock { answered in
            answered.filter { $0.tenant == tenant }.map { ($0.createdAt, $0.mail) }
        }
    }
}
