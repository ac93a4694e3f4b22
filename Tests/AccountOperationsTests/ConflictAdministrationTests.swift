import AccountLinking
import AccountOperations
import AccountStore
import AccountTestSupport
import JSON
import Postgres
import Testing

/// Listing and declining of conflicts by operators, without a handle.
@Suite struct ConflictAdministrationTests {
    private func page(
        _ service: TestService,
        after cursor: String? = nil,
        count: Int = 50,
        _ filter: ConflictFilter = ConflictFilter()
    ) async throws -> ConflictPage {
        try #require(
            try await service.operations.conflicts.conflicts(filter, after: cursor, count: count, tenant: .project)
        )
    }

    @Test func `64 concurrent resolves and declines of one conflict have one outcome and one event`() async throws {
        for round in 0..<3 {
            try await TestService.withTwo { service, other in
                let ada = try await service.signUp("ada@example.com")
                let handle = try await service.openConflict(with: "ada@example.com")
                let proven = try await service.prove(handle, by: ada).success()
                let id = try #require(try await page(service).conflicts.first?.id)
                let winners = try await service.race(with: other) { service, caller -> String? in
                    switch (caller + round) % 4 {
                    case 0: try await service.resolve(handle, proven.proofToken).denial == nil ? "J12" : nil
                    case 1: try await service.decline(handle).denial == nil ? "J13" : nil
                    default:
                        switch try await outcome(
                            await service.operations.conflicts
                                .decline(id, expectedVersion: nil, tenant: .project)
                        )
                        {
                        case .success: "J17"
                        case .denied(.conflict(.closed)): nil
                        case .denied(let denial): "\(denial)"
                        }
                    }
                }
                .compactMap(\.self)
                #expect(winners.count == 1, "\(winners)")
                let ends: Query<String> = """
                    SELECT rule FROM account_events WHERE kind IN ('conflict-declined', 'method-linked')
                        AND rule IN ('J12', 'J13', 'J17')
                    """
                #expect(try await service.database.rows(ends) == winners, "one event, by the winner")
                let states: Query<String> = "SELECT state || ' ' || version FROM conflicts"
                #expect(try await service.database.rows(states) == [winners == ["J12"] ? "resolved 3" : "declined 3"])
                let secrets: Query<Int64?> = """
                    SELECT count(*) FROM conflicts WHERE proof_token_hash IS NOT NULL OR proof_link_hash IS NOT NULL
                        OR proof_sealed_code IS NOT NULL
                    """
                #expect(try await service.database.count(secrets) == 0)
                let linked = try await service.database.count("SELECT count(*) FROM linked_providers")
                #expect(linked == (winners == ["J12"] ? 1 : 0))
                try await service.database.expectConsistency()
            }
        }
    }

    @Test func `a conflict that an administrator declined cannot be resolved, and the event names the rule`()
        async throws
    {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: ada).success()
            let conflicts = service.operations.conflicts
            let open = try #require(try await page(service).conflicts.first)
            #expect(open.state == .proven && open.proof?.binding.kind == .session && open.version == 2)
            guard
                case .denied(.versionMismatch) = try await outcome(
                    await conflicts.decline(
                        open.id,
                        expectedVersion: 1,
                        tenant: .project
                    )
                )
            else {
                Issue.record("an older version was accepted")
                return
            }
            guard
                case .success(let declined) = try await outcome(
                    await conflicts.decline(open.id, expectedVersion: 2, tenant: .project)
                )
            else {
                Issue.record("refused")
                return
            }
            #expect(declined.conflict.state == .declined && declined.conflict.proof == nil)
            #expect(declined.conflict.closedAt == service.clock.now && declined.conflict.version == 3)
            #expect(try await conflicts.conflict(open.id, tenant: .project) == declined.conflict)
            #expect(try await service.resolve(handle, proven.proofToken).denial == .conflict(.closed(.declined)))
            let kept = try #require(try await service.operations.decision(declined.decision))
            #expect(kept.rule == "J17" && kept.kind == "conflict-declined" && kept.user == ada.user.id)
            for again in [open.id, "nonsense", ""] {
                guard
                    case .denied(.conflict(let refusal)) = try await outcome(
                        await conflicts.decline(
                            again,
                            expectedVersion: nil,
                            tenant: .project
                        )
                    )
                else {
                    Issue.record("\(again) was declined")
                    continue
                }
                #expect(refusal == (again == open.id ? .closed(.declined) : .unknown))
            }
        }
    }

    @Test func `every conflict is listed once, for any page size, also those opened at the same instant`() async throws
    {
        try await TestService.with { service in
            for number in 0..<12 {
                _ = try await service.signUp("user\(number)@example.com")
                _ = try await service.openConflict(with: "user\(number)@example.com", subject: "\(number)")
                if number % 5 == 4 { service.clock.advance(seconds: 60) }
            }
            let all = try await page(service).conflicts
            #expect(all.count == 12 && Set(all.map(\.id)).count == 12)
            #expect(all.map(\.openedAt) == all.map(\.openedAt).sorted(by: >))
            for size in [1, 5, 11, 12] {
                var (listed, cursor): ([ReportedConflict], String?) = ([], nil)
                repeat {
                    let part = try await page(service, after: cursor, count: size)
                    #expect(part.conflicts.count <= size)
                    listed += part.conflicts
                    cursor = part.next
                } while cursor != nil
                #expect(listed == all, "pages of \(size)")
            }
            // A conflict opened meanwhile comes first and moves no other.
            let first = try await page(service, count: 4)
            service.clock.advance(seconds: 1)
            _ = try await service.openConflict(with: "user3@example.com", subject: "new")
            let second = try await page(service, after: first.next, count: 50)
            #expect(first.conflicts + second.conflicts == all)
            // The cursor has the conflict's time and id in 24 bytes, then the user's id.
            let far = [UInt8(0x10), 0x80, 0xF0].map { Base64URL.encode([$0] + Array(repeating: 0, count: 23) + [0x61]) }
            for wrong in ["", "x", "AAAA", first.next.map { String($0.prefix(32)) } ?? ""] + far {
                let found = try await service.operations.conflicts
                    .conflicts(ConflictFilter(), after: wrong, count: 10, tenant: .project)
                #expect(found == nil, "\(wrong)")
            }
        }
    }

    @Test func `a list can be filtered by state, account, provider, kind and time`() async throws {
        try await TestService.with { service in
            let ada = try await service.signUp("ada@example.com")
            let bob = try await service.signUp("bob@example.com")
            let start = service.clock.now
            let declined = try await service.openConflict(with: "ada@example.com", subject: "1")
            _ = try await service.decline(declined).success()
            service.clock.advance(seconds: 60)
            let resolved = try await service.openConflict(with: "ada@example.com", subject: "2")
            let proof = try await service.prove(resolved, by: ada).success()
            _ = try await service.resolve(resolved, proof.proofToken).success()
            _ = try await service.openConflict(with: "bob@example.com", subject: "3")
            service.clock.advance(seconds: 7200)
            let again = try await service.signIn("bob@example.com").success()
            let proven = try await service.openConflict(with: "bob@example.com", subject: "4")
            _ = try await service.prove(proven, by: again).success()
            _ = try await service.openConflict(with: "bob@example.com", subject: "5")

            func states(_ filter: ConflictFilter) async throws -> [String] {
                try await page(service, filter).conflicts.map(\.state.rawValue)
            }
            func with<Value>(_ path: WritableKeyPath<ConflictFilter, Value>, _ value: Value) -> ConflictFilter {
                var filter = ConflictFilter()
                filter[keyPath: path] = value
                return filter
            }
            #expect(
                try await states(ConflictFilter()).sorted() == ["declined", "expired", "open", "proven", "resolved"]
            )
            for state in ConflictFacts.ShownState.allCases {
                let found = try await states(with(\.state, state))
                #expect(found == (state == .superseded ? [] : [state.rawValue]))
            }
            #expect(try await states(with(\.user, bob.user.id)).sorted() == ["expired", "open", "proven"])
            #expect(try await states(with(\.user, UserID("nobody"))) == [])
            #expect(try await states(with(\.provider, .twitter)).count == 5)
            #expect(try await states(with(\.provider, .gitHub)) == [])
            #expect(try await states(with(\.kind, .accountExistsWithDifferentCredential)).count == 5)
            #expect(try await states(with(\.kind, .emailAlreadyInUse)) == [])
            #expect(try await states(with(\.openedBefore, start.adding(seconds: 60))) == ["declined"])
            #expect(try await states(with(\.openedSince, start.adding(seconds: 61))).sorted() == ["open", "proven"])
            var window = ConflictFilter()
            window.openedSince = start.adding(seconds: 60)
            window.openedBefore = start.adding(seconds: 61)
            #expect(try await states(window).sorted() == ["expired", "resolved"])
        }
    }

    @Test func `an operator without keys sees the conflict without its address`() async throws {
        try await TestService.with { service in
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com")
            let seen = try #require(try await page(service).conflicts.first)
            #expect(seen.maskedEmail == "a***@e***.com")
            let blind = ConflictAdministration(store: service.operations.store, sealer: nil, effects: .system)
            let found = try await blind.conflict(seen.id, tenant: .project)
            #expect(found?.id == seen.id && found?.maskedEmail == nil)
        }
    }
}
