import AccountLinking
import AccountTestSupport
import Synchronization
import Testing

@testable import AccountOperations

/// Grouping of accounts by shared values, beyond the memory limit.
struct TraitSpillTests {
    private struct Group: Hashable {
        var rule: Int
        var tenant: String
        var key: String
        var members: [AuditRule.Member]
    }

    private struct Given: Hashable {
        var rule: Int
        var tenant: String
        var key: String
    }

    /// Texts with lengths around the limits of the encoding, and with common prefixes.
    private static let texts =
        ["", "a", "é", "same", "same again", "\u{FF}\u{FE}"]
        + [253, 254, 255, 256, 300, 70_000].map { String(repeating: "x", count: $0) }

    private func user(_ number: Int) throws -> UserID { try #require(UserID("user-\(number)")) }

    @Test func `accounts with the same value for a rule are grouped`() async throws {
        var spill = try TraitSpill(in: "/tmp")
        var given: [Given: [AuditRule.Member]] = [:]
        var batch = TraitBatch()
        for number in 0..<600 {
            // A batch has several accounts of one tenant.
            if number % 6 == 0 {
                try spill.append(batch)
                batch = TraitBatch()
            }
            var snapshot = AccountSnapshot(
                tenant: TenantID(number / 6 % 3 == 0 ? "" : "tenant"),
                id: try user(number)
            )
            snapshot.account = Account(id: snapshot.id, version: Int64(number) * 1_000_003, sessionEpoch: 0)
            var traits: [TraitList.Entry] = []
            for _ in 0..<Int.random(in: 0...5) {
                let text = Self.texts.randomElement() ?? ""
                let (rule, key) = (
                    Int.random(in: 0..<3), text + (["", "1", "2", String(number)].randomElement() ?? "")
                )
                let detail = [key, text, "other"].randomElement() ?? ""
                traits.append(.init(rule: rule, trait: .init(key: key, detail: detail, family: text)))
                given[Given(rule: rule, tenant: snapshot.tenant.rawValue, key: Self.stored(key)), default: []].append(
                    .init(user: snapshot.id, version: Int64(number) * 1_000_003, detail: Self.stored(detail))
                )
            }
            batch.append(TraitList(traits), of: snapshot)
        }
        try spill.append(batch)
        let found = Mutex<[Group]>([])
        try await spill.groups { group in
            found.withLock {
                $0.append(
                    Group(rule: group.rule, tenant: group.tenant.rawValue, key: group.key, members: group.members)
                )
            }
        }
        let groups = found.withLock { $0 }
        let expected = given.filter { $0.value.count > 1 }
        #expect(groups.count == expected.count && expected.count > 30)
        for group in groups {
            let members = expected[Given(rule: group.rule, tenant: group.tenant, key: group.key)] ?? []
            #expect(group.members.count == members.count && Set(group.members) == Set(members))
            #expect(group.members.map(\.user.rawValue) == group.members.map(\.user.rawValue).sorted())
        }
    }

    /// Longer text is truncated.
    private static func stored(_ text: String) -> String { String(text.utf8.prefix(65_535)) ?? "" }

    @Test func `without accounts there is no group`() async throws {
        let spill = try TraitSpill(in: "/tmp")
        try await spill.groups { _ in Issue.record("no account was added") }
    }
}
