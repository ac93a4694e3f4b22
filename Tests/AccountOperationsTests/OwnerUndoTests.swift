import AccountLinking
import AccountStore
import AccountTestSupport
import Delivery
import JSON
import Postgres
import Testing

@testable import AccountOperations

/// The undo of a merge by the owner of the account that stayed.
struct OwnerUndoTests {
    /// Two accounts of one person with proven addresses, merged by their owner.
    private struct Merged {
        let survivor: SignedIn
        let absorbed: SignedIn
        let merge: Merge
    }

    private func person(_ service: TestService, _ email: String) async throws -> SignedIn {
        let signedIn = try await service.signUp(email)
        try await service.edit(signedIn.user.id) { $0.prove(.emailCode) }
        return signedIn
    }

    /// - `displayName`: of the absorbed account; the survivor has none, and gets it.
    private func merged(
        _ service: TestService,
        _ name: String = "ada",
        displayName: String? = nil
    ) async throws -> Merged {
        let survivor = try await person(service, "\(name)@example.com")
        let absorbed = try await person(service, "\(name).second@example.com")
        if let displayName { try await service.edit(absorbed.user.id) { $0.profile.displayName = displayName } }
        let merge = try await service.operations.mergeAccounts(
            by: .owners(survivor: survivor.tokens.idToken, absorbed: absorbed.tokens.idToken),
            choices: [.email: .survivor, .password: .survivor],
            tenant: .project
        )
        return Merged(survivor: survivor, absorbed: absorbed, merge: merge)
    }

    @Test func `the owner sees the merge and undoes it, and both accounts sign in again`() async throws {
        try await TestService.with { service in
            let merged = try await merged(service)
            let listed = try await service.operations.merges(idToken: merged.survivor.tokens.idToken, tenant: .project)
            #expect(listed.map(\.merge.id) == [merged.merge.id] && listed.map(\.canUndo) == [true])
            let undone = try await service.undo(merged.merge.id, by: merged.survivor).success()
            #expect(undone.merge.state == .undone && undone.kept == [])

            // The undo ends every session, and restores none.
            for session in [merged.survivor, merged.absorbed] {
                #expect(try await service.refresh(session.tokens.refreshToken).denial == .refusal(.tokenExpired))
            }
            #expect(try await service.undo(merged.merge.id, by: merged.survivor).denial == .refusal(.tokenExpired))
            #expect(try await service.signIn("ada@example.com").success().user.id == merged.survivor.user.id)
            let again = try await service.signIn("ada.second@example.com").success()
            #expect(again.user.id == merged.absorbed.user.id)
            let mails = try await service.operations.notices(tenant: .project).filter { $0.template == .mergeUndone }
            #expect(mails.map(\.to).sorted() == ["ada.second@example.com", "ada@example.com"])
            #expect(mails.allSatisfy { $0.isUndoneByOwner }, "support undid nothing")
            #expect(try await service.events(of: merged.survivor.user.id).contains("merge-undone H10"))
            let after = try await service.operations.merges(idToken: again.tokens.idToken, tenant: .project)
            #expect(after.map(\.canUndo) == [false], "the account that was absorbed sees it too")
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `an old session is asked to sign in again, by a method of the account`() async throws {
        try await TestService.with { service in
            let merged = try await merged(service)
            service.clock.advance(seconds: 301)
            let old = try await service.undo(merged.merge.id, by: merged.survivor).denial
            guard case .reauthenticationRequired(let challenge) = old else {
                Issue.record("an old session was accepted: \(String(describing: old))")
                return
            }
            #expect(challenge.methods.contains(.signIn(.password)))
            #expect(try await service.user(merged.absorbed.user.id) == nil)
            let recent = try await service.signIn("ada@example.com").success()
            _ = try await service.undo(merged.merge.id, by: recent).success()
        }
    }

    @Test func `a session without the second factor of its account undoes nothing`() async throws {
        try await TestService.with { service in
            let survivor = try await person(service, "ada@example.com")
            let absorbed = try await person(service, "ada.second@example.com")
            try await service.edit(survivor.user.id) { $0.secondFactors = [.sms("+16505550009")] }
            func shown(_ id: UserID) async throws -> MergeRequester.OwnerSession {
                let user = try #require(try await service.user(id))
                return .init(isRecent: true, hasSecondFactor: true, sessionEpoch: user.sessionEpoch)
            }
            let request = MergeRequest(
                survivor: survivor.user.id,
                absorbed: absorbed.user.id,
                choices: [.email: .survivor, .password: .survivor],
                requester: .owners(try await shown(survivor.user.id), try await shown(absorbed.user.id))
            )
            let merge = try await service.operations.merges.begin(request, reason: nil, tenant: .project)
            #expect(merge.state == .committed)
            let denial = try await service.undo(merge.id, by: survivor).denial
            #expect(denial == .merge(.ownerUndo(.secondFactorRequired)))
            #expect(try await service.user(absorbed.user.id) == nil)
        }
    }

    @Test func `other accounts, an administrator's merge and a late request are refused`() async throws {
        try await TestService.with { service in
            let merged = try await merged(service)
            let eve = try await service.signUp("eve@example.com")
            for id in [merged.merge.id, "", "x", "00000000-0000-0000-0000-000000000000"] {
                #expect(try await service.undo(id, by: eve).denial == .merge(.unknown), "\(id)")
                #expect(try await service.undo(id, by: eve, version: 7).denial == .merge(.unknown), "\(id)")
            }
            #expect(try await service.undo(merged.merge.id, by: merged.survivor, version: 1).denial == .versionMismatch)
            let survivor = try await person(service, "cy@example.com")
            let absorbed = try await person(service, "cy.second@example.com")
            let byAdministrator = try await service.merge(
                survivor.user.id,
                absorbed.user.id,
                [.email: .survivor, .password: .survivor]
            )
            #expect(
                try await service.undo(byAdministrator.id, by: survivor).denial
                    == .merge(.ownerUndo(.needsAdministrator))
            )
            let listed = try await service.operations.merges(idToken: survivor.tokens.idToken, tenant: .project)
            #expect(listed.map(\.canUndo) == [false])
            service.clock.advance(seconds: 30 * 86_400)
            let late = try await service.signIn("ada@example.com").success()
            #expect(try await service.undo(merged.merge.id, by: late).denial == .merge(.tooLate))
            #expect(try await service.user(merged.absorbed.user.id) == nil)
        }
    }

    @Test func `a later change is neither overwritten nor left`() async throws {
        try await TestService.with { service in
            let merged = try await merged(service, displayName: "Ada")
            try await service.edit(merged.survivor.user.id) { $0.profile.displayName = "Ada L." }
            let before = try await service.database.count("SELECT count(*) FROM account_journal")
            let denial = try await service.undo(merged.merge.id, by: merged.survivor).denial
            guard case .merge(.ownerUndo(.laterChanges(let changes))) = denial else {
                Issue.record("\(String(describing: denial))")
                return
            }
            #expect(changes.map(\.part) == [.field(.profile(.displayName))])
            #expect(try await service.database.count("SELECT count(*) FROM account_journal") == before)
            #expect(try await service.user(merged.absorbed.user.id) == nil)
        }
    }

    @Test func `of 16 undos by the owner and administrators on two servers, one undoes the merge`() async throws {
        try await TestService.withTwo { service, other in
            for number in 0..<6 {
                let merged = try await merged(service, "ada\(number)")
                let denials = try await service.race(with: other, count: 16) { service, caller in
                    if caller.isMultiple(of: 2) {
                        return try await service.undo(merged.merge.id, by: merged.survivor).denial
                    }
                    return try await outcome(
                        await service.operations.merges
                            .undo(merged.merge.id, keepsLaterChanges: false, tenant: .project)
                    ).denial
                }
                #expect(denials.count { $0 == nil } == 1, "\(denials)")
                let others = Set(denials.compactMap(\.self))
                #expect(others.isSubset(of: [.merge(.closed(.undone)), .refusal(.tokenExpired)]), "\(others)")
                #expect(
                    try await service.database.count(
                        "SELECT count(*) FROM account_events WHERE kind = 'merge-undone' AND user_id = \(merged.survivor.user.id.rawValue)"
                    ) == 1
                )
                #expect(try await service.user(merged.absorbed.user.id) != nil)
            }
            #expect(try await service.database.count("SELECT count(*) FROM account_journal") == 0)
            #expect(try await service.database.inconsistencies() == [])
        }
    }

    @Test func `an undo that races with the end of its session happens before it, or not at all`() async throws {
        try await TestService.withTwo { service, other in
            for number in 0..<6 {
                let merged = try await merged(service, "bo\(number)")
                let denials = try await service.race(with: other, count: 2) { service, caller in
                    if caller == 0 { return try await service.undo(merged.merge.id, by: merged.survivor).denial }
                    _ = try await service.operations.endAllSessions(of: merged.survivor.user.id, tenant: .project)
                    return nil
                }
                let denial = denials.compactMap(\.self).first
                #expect(denial == nil || denial == .refusal(.tokenExpired), "\(denials)")
                let isUndone = try await service.user(merged.absorbed.user.id) != nil
                #expect(isUndone == (denial == nil), "\(denials)")
            }
            #expect(try await service.database.inconsistencies() == [])
        }
    }
}

extension TestService {
    fileprivate func undo(
        _ merge: String,
        by session: SignedIn,
        version: Int64? = nil
    ) async throws -> Outcome<UndoneMerge> {
        try await outcome(
            await operations.undoMerge(
                merge,
                idToken: session.tokens.idToken,
                expectedVersion: version,
                tenant: .project
            )
        )
    }
}
