import AccountLinking
import AccountTestSupport
import Testing

/// The consequences that an operator agrees to.
struct RepairConsequenceTests {
    private static func tally(
        _ operations: [(user: String, repair: Repair, isMailed: Bool)]
    ) -> [ConsequenceTally.Entry] {
        var tally = ConsequenceTally()
        for (id, repair, isMailed) in operations {
            tally.count(repair, of: user(id), in: .project, isMailed: isMailed)
        }
        return tally.entries
    }

    @Test func `a repair that removes a sign-in method or the address's proof reports it`() {
        for repair in RepairRows.repairs {
            let change = repair.change
            let consequences = repair.consequences
            #expect(!consequences.isEmpty, "\(repair)")
            #expect(change.quarantinesRemovals == consequences.contains { $0.method != nil }, "\(repair)")
            #expect(change.endsSessions == consequences.contains(.signedOut), "\(repair)")
            #expect((change.email == .unprove) == consequences.contains(.verifiedAddressLost), "\(repair)")
        }
    }

    @Test func `a user counts once for each consequence, and the gravest comes first`() {
        let google = SignInMethod.provider(.google)
        let entries = Self.tally([
            ("ann", .release(kind: "email", key: "a@b.cd"), false),
            ("ann", .release(kind: "email", key: "b@b.cd"), false),
            ("ann", .suspend(.password, endsSessions: true), true), ("ann", .suspend(google, endsSessions: true), true),
            ("bob", .suspend(.password, endsSessions: false), false), ("bob", .unproveAddress, false),
        ])
        #expect(
            entries == [
                .init(.verifiedAddressLost, count: 1), .init(.methodSuspended(.password), count: 2, mailed: 1),
                .init(.methodSuspended(google), count: 1, mailed: 1), .init(.signedOut, count: 1, mailed: 1),
                .init(.identifierFreed, count: 2),
            ]
        )
    }

    @Test func `the same uid in two tenants is two users`() {
        var tally = ConsequenceTally()
        for tenant in [TenantID.project, TenantID("one")] {
            tally.count(.unproveAddress, of: user("ann"), in: tenant, isMailed: false)
        }
        #expect(tally.entries == [.init(.verifiedAddressLost, count: 2)])
    }
}
