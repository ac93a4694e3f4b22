import AccountLinking
import AccountTestSupport
import JSON
import Postgres
import Testing

@testable import AccountStore

/// A named change, so that a failure names it.
struct NamedChange: Sendable, CustomTestStringConvertible {
    let name: String
    let edit: @Sendable (inout AccountChange, UserRecord) -> Void

    var testDescription: String { name }

    init(_ name: String, _ edit: @escaping @Sendable (inout AccountChange, UserRecord) -> Void) {
        self.name = name
        self.edit = edit
    }

    func change(of user: UserRecord) -> AccountChange {
        var change = AccountChange()
        edit(&change, user)
        return change
    }

    static let all: [NamedChange] = [
        NamedChange("another address, unproven") { change, user in
            change.email = .set(address("new-\(user.id.rawValue)@example.com"), proof: nil)
            change.rememberedInitialEmail = user.email?.address
        },
        NamedChange("another address, proven") { change, user in
            change.email = .set(address("new-\(user.id.rawValue)@example.com"), proof: .provider(.google))
        },
        NamedChange("the same address in other letters") { change, user in
            change.email = .set(address("\(user.id.rawValue.uppercased())@example.com"), proof: .emailLink)
        },
        NamedChange("address proven") { change, _ in change.email = .prove(.passwordReset) },
        NamedChange("address no longer proven") { change, _ in change.email = .unprove },
        NamedChange("address removed") { change, _ in change.email = .remove },
        NamedChange("password set") { change, _ in change.password = .set },
        NamedChange("password removed") { change, _ in change.password = .remove },
        NamedChange("e-mail link proven") { change, _ in change.emailLink = true },
        NamedChange("e-mail link forgotten") { change, _ in change.emailLink = false },
        NamedChange("another number") { change, _ in
            change.phone = .set(number("+4179555\(1000 + nextNumber())"))
        },
        NamedChange("number released") { change, _ in change.phone = .release },
        NamedChange("number removed") { change, _ in change.phone = .remove },
        NamedChange("identity linked") { change, user in
            change.linkedIdentity = identity(.apple, "apple-\(user.id.rawValue)")
        },
        NamedChange("identity unlinked") { change, _ in change.unlinkedProviders = [.google] },
        NamedChange("identity replaced") { change, user in
            change.unlinkedProviders = [.google]
            change.linkedIdentity = identity(.google, "another-\(user.id.rawValue)")
        },
        NamedChange("identity linked again") { change, user in
            change.unlinkedProviders = [.google]
            change.linkedIdentity = user.linkedProviders[.google]?.identity
        },
        NamedChange("profile filled") { change, _ in
            change.profile = .fillBlanks(Profile(displayName: "Other", photoURL: "https://example.com/o.png"))
        },
        NamedChange("profile replaced") { change, _ in
            change.profile = .replace(Profile(displayName: "Other"))
        },
        NamedChange("disabled") { change, _ in change.isDisabled = true },
        NamedChange("used with custom tokens") { change, _ in change.usesCustomTokens = true },
        NamedChange("sessions ended") { change, _ in change.endsSessions = true },
        NamedChange("taken over") { change, user in
            change.email = .prove(.provider(.google))
            change.password = .remove
            change.emailLink = false
            change.phone = .release
            change.unlinkedProviders = [.google, .facebook]
            change.linkedIdentity = identity(.google, "owner-\(user.id.rawValue)")
            change.profile = .replace(Profile(displayName: "Owner"))
            change.endsSessions = true
            change.voidsOutstandingProofs = true
        },
        NamedChange("everything given up") { change, _ in
            change.email = .remove
            change.password = .remove
            change.emailLink = false
            change.phone = .remove
            change.unlinkedProviders = [.google, .facebook]
        },
    ]
}

@Suite(.store)
struct SaveTests {
    @Test func `a new account reads back as it was written`() async throws {
        let scene = try StoreScene.shared
        for user in [UserRecord.blank(), .full()] {
            #expect(try await scene.create(user) == user)
            #expect(try await scene.eventCount(of: user.id) == 1)
        }
        let inconsistencies = try await scene.database.inconsistencies()
        #expect(inconsistencies == [])
    }

    @Test func `an account is found only by the identifiers that it owns`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        for identifier in user.identifiers {
            #expect(try await scene.store.user(owning: identifier, tenant: .project) == user)
            #expect(try await scene.store.user(owning: identifier, tenant: TenantID("other")) == nil)
        }
        let email = try #require(user.email?.address)
        let source = AttemptSource(network: "network")
        let facts = try await scene.store.passwordFacts(of: email, by: source, tenant: .project, at: origin)
        #expect(facts.user == user && facts.passwordHash == "$hash$" && facts.counts[.strangers].failures == 0)
        let nobody = try await scene.store.passwordFacts(
            of: address("nobody@example.com"),
            by: source,
            tenant: .project,
            at: origin
        )
        #expect(nobody.user == nil && nobody.passwordHash == nil)
        let googleAddress = try #require(user.linkedProviders[.google]?.email)
        #expect(try await scene.store.user(owning: .email(googleAddress), tenant: .project) == nil)
    }

    @Test func `several accounts are read at once and unknown ids are skipped`() async throws {
        let scene = try StoreScene.shared
        let first = try await scene.create(.full())
        let second = try await scene.create(.blank())
        let found = try await scene.store.users([first.id, second.id, userID("nobody")], tenant: .project)
        #expect(Set(found) == [first, second])
        #expect(try await scene.store.users([], tenant: .project) == [])
    }

    @Test func `a page has the full number of accounts, even if each has many rows`() async throws {
        let scene = try StoreScene.shared
        let ids = ["zz-page-1", "zz-page-2", "zz-page-3"]
        for id in ids { _ = try await scene.create(.full(id)) }
        let page = try await scene.store.users(after: userID("zz-page"), limit: 3, tenant: .project)
        #expect(page.map(\.id.rawValue) == ids)
        for user in page { #expect(try await scene.stored(user.id) == user) }
    }

    @Test(arguments: NamedChange.all)
    func `the stored account equals the changed record`(_ named: NamedChange) async throws {
        let scene = try StoreScene.shared
        for start in [UserRecord.full(), .blank()] {
            let before = try await scene.create(start)
            let change = named.change(of: before)
            // Without an address there is no proof and no sign-in link.
            if start.email == nil, change.emailLink == true { continue }
            let after = before.applying(change, ChangeContext(now: later, methodProof: .session))
            let write = AccountWrite(
                previous: before,
                user: after,
                passwordHash: change.password == .set ? "$another$" : nil,
                event: event(.userUpdated, at: later)
            )
            #expect(try await scene.store.apply(write) == .applied)

            var expected = after
            if after != before { expected.version += 1 }
            #expect(try await scene.stored(before.id) == expected)
            #expect(
                try await scene.claims(of: before.id) == after.identifiers.map { "\($0.kind) \($0.value)" }.sorted()
            )
            #expect(try await scene.eventCount(of: before.id) == 2)
            #expect(
                try await scene.database.rows(
                    "SELECT hash FROM password_credentials WHERE user_id = \(before.id.rawValue)" as Query<String?>
                ) == (after.passwordUpdatedAt == nil ? [] : [change.password == .set ? "$another$" : "$hash$"])
            )
        }
        let inconsistencies = try await scene.database.inconsistencies()
        #expect(inconsistencies == [])
    }

    @Test func `a released claim can be taken by another account`() async throws {
        let scene = try StoreScene.shared
        let first = try await scene.create(.full())
        let address = try #require(first.email?.address)
        var taker = UserRecord.blank()
        taker.email = AccountEmail(address: address, proof: nil)

        let taking = AccountWrite(previous: nil, user: taker, event: event(.userCreated))
        #expect(try await scene.store.apply(taking) == .factsMoved)
        #expect(try await scene.stored(taker.id) == nil)
        #expect(try await scene.eventCount(of: taker.id) == 0)

        var without = first
        without.email = nil
        without.emailProvenAt = nil
        let giving = AccountWrite(previous: first, user: without, event: event(.userUpdated))
        #expect(try await scene.store.apply(giving) == .applied)
        #expect(try await scene.store.apply(taking) == .applied)
        #expect(try await scene.store.user(owning: .email(address), tenant: .project)?.id == taker.id)
    }

    @Test func `an unknown e-mail proof or provider in the database is an error, not a guess`() async throws {
        // A separate database, because other tests look for columns that cannot be decoded.
        try await StoreScene.with { scene in
            let user = try await scene.create(.full())
            try await PostgresConnection.withConnection(scene.database.configuration) { connection in
                try connection.execute("UPDATE users SET email_proof = 'a-feeling' WHERE user_id = \(user.id.rawValue)")
            }
            await #expect { try await scene.stored(user.id) } throws: { error in
                (error as? PostgresError)?.code == .decoding
            }
        }
    }

    @Test func `raising the epoch deletes the ended sessions, but not the new one`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.full())
        let opening = AccountWrite(previous: user, user: user, session: user.session(1), event: event(.signedIn))
        #expect(try await scene.store.apply(opening) == .applied)
        #expect(try await scene.stored(user.id) == user, "a sign-in changes no fact, so it raises no version")

        var ended = user
        ended.endSessions(at: later)
        let write = AccountWrite(
            previous: user,
            user: ended,
            session: ended.session(2),
            event: event(.sessionsRevoked, at: later)
        )
        #expect(try await scene.store.apply(write) == .applied)
        let first = try await scene.store.session(user.session(1).id, of: user.id, tenant: .project)
        #expect(first.session == nil)
        let second = try await scene.store.session(user.session(2).id, of: user.id, tenant: .project)
        #expect(second.session == ended.session(2))
        #expect(second.user?.sessionEpoch == user.sessionEpoch + 1)
    }

    @Test func `a session reads back with its factor and claims`() async throws {
        let scene = try StoreScene.shared
        let user = try await scene.create(.blank())
        var session = user.session(3)
        session.secondFactor = SessionRecord.SecondFactor(kind: "totp", enrollmentID: "enrolment")
        session.claims = ["level": 3, "groups": ["a", "b"]]
        session.signInAttributes = ["department": "x"]
        let write = AccountWrite(previous: user, user: user, session: session, event: event(.signedIn))
        #expect(try await scene.store.apply(write) == .applied)
        #expect(try await scene.store.session(session.id, of: user.id, tenant: .project).session == session)
        #expect(try await scene.store.session(session.id, of: user.id, tenant: TenantID("other")).session == nil)
    }

    @Test func `if sessions are looked up together, each caller gets its own`() async throws {
        let scene = try StoreScene.shared
        var owners: [UserRecord] = []
        for number in 0..<16 {
            // Ids of any length and alphabet, because they are part of the key.
            let user = try await scene.create(.blank("session-\(String(repeating: "é", count: number))"))
            // Sessions of two users may have the same id, because it is unique only within the user.
            for session in [user.session(7), user.session(UInt8(100 + number))] {
                let write = AccountWrite(previous: user, user: user, session: session, event: event(.signedIn))
                #expect(try await scene.store.apply(write) == .applied)
            }
            owners.append(user)
        }
        try await withThrowingTaskGroup { [owners] group in
            for _ in 0..<8 {
                for (number, owner) in owners.enumerated() {
                    group.addTask {
                        for session in [owner.session(7), owner.session(UInt8(100 + number))] {
                            let found = try await scene.store.session(session.id, of: owner.id, tenant: .project)
                            #expect(found.session == session && found.user == owner)
                        }
                        let foreign = owner.session(UInt8(100 + (number + 1) % 16))
                        let none = try await scene.store.session(foreign.id, of: owner.id, tenant: .project)
                        #expect(none.session == nil && none.user == owner)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
