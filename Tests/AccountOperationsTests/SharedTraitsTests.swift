import AccountTestSupport
import Testing

@testable import AccountLinking
@testable import AccountOperations

/// Accounts that share traits, found among more of them than memory holds.
struct SharedTraitsTests {
    private struct Trait: Hashable {
        var rule: Int
        var tenant: String
        var key: String
    }

    @Test func `accounts with the same trait are grouped, in the same order every time`() throws {
        var given: [(trait: Trait, member: AuditRule.Member)] = []
        for number in 0..<2000 {
            let user = try #require(UserID("user-\(number)"))
            let key = ["", "a", "é", "same", "same again"].randomElement() ?? ""
            let trait = Trait(
                rule: Int.random(in: 0..<3),
                tenant: number % 3 == 0 ? "" : "tenant",
                key: key + (["", "1", String(number)].randomElement() ?? "")
            )
            given.append((trait, .init(user: user, version: Int64(number) * 1_000_003, detail: "\(key) detail")))
        }
        func groups() throws -> [(trait: Trait, members: [AuditRule.Member])] {
            var shared = try SharedTraits(in: "/tmp")
            for (trait, member) in given {
                var snapshot = AccountSnapshot(tenant: TenantID(trait.tenant), id: member.user)
                snapshot.account = Account(id: member.user, version: member.version, sessionEpoch: 0)
                try shared.append(.init(key: trait.key, detail: member.detail), rule: trait.rule, of: snapshot)
            }
            var groups: [(Trait, [AuditRule.Member])] = []
            try shared.groups { group in
                groups.append((Trait(rule: group.rule, tenant: group.tenant.rawValue, key: group.key), group.members))
            }
            return groups
        }
        let found = try groups()
        let expected = Dictionary(grouping: given, by: \.trait).filter { $0.value.count > 1 }
        #expect(found.count == expected.count && expected.count > 30)
        for (trait, members) in found {
            #expect(Set(members) == Set((expected[trait] ?? []).map(\.member)))
            #expect(members.map(\.user.rawValue) == members.map(\.user.rawValue).sorted())
        }
        given.shuffle()
        #expect(try groups().map(\.trait) == found.map(\.trait))
    }

    @Test(arguments: [1, 100, 5000, 1_000_000])
    func `records are sorted by key with any memory limit`(runBytes: Int) throws {
        var sort = try ExternalSort(in: "/tmp", runBytes: runBytes)
        var expected: [UInt64: [[UInt8]]] = [:]
        for number in 0..<3000 {
            let key = UInt64.random(in: 0..<2000) &* 0x9E37_79B9_7F4A_7C15
            let length = number % 500 == 0 ? 20_000 : number % 40
            let record = Array("\(number) ".utf8) + [UInt8](repeating: 65, count: length)
            expected[key, default: []].append(record)
            try sort.append(record, key: key)
        }
        var found: [[[UInt8]]] = []
        try sort.forEachRepeatedKey { found.append($0) }
        let repeated = expected.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }.map(\.value)
        #expect(found.map { Set($0) } == repeated.map { Set($0) })
    }

    @Test func `without traits there is no group`() throws {
        let shared = try SharedTraits(in: "/tmp")
        try shared.groups { _ in Issue.record("there is no trait") }
    }

    @Test func `an unwritable folder is an error that names it`() {
        let failure = #expect(throws: TemporaryFileFailure.self) { _ = try SharedTraits(in: "/nonexistent") }
        #expect(failure?.description.contains("made in /nonexistent") == true)
    }

    @Test func `a full disk is an error`() throws {
        // Each write to this file fails as on a full disk (full(4)).
        #expect(throws: TemporaryFileFailure.self) {
            var sort = try ExternalSort(file: TemporaryFile(path: "/dev/full"), runBytes: 10)
            for number in 0..<10 { try sort.append(Array("record \(number)".utf8), key: 1) }
        }
    }
}
