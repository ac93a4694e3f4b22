import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import Testing

@testable import AccountOperations
@testable import Postgres

/// What a repeated request is recognised by, and what recognising it costs.
struct OnceTests {
    private func once<Value>(
        _ key: String,
        credential: String = "c",
        route: String = "r",
        request: String = "{}",
        of: Value.Type = SignedIn.self
    ) throws -> Once<Value> {
        Once(key: try #require(IdempotencyKey(key)), credential: credential, route: route, request: request) { _ in [1]
        }
    }

    @Test func `caller, route and key are told apart, wherever one ends and the next begins`() throws {
        let all: [Once<SignedIn>] = [
            try once("k"), try once("k2"), try once("k", credential: "d"), try once("k", route: "s"),
            try once("k", credential: "", route: "cr"), try once("k", credential: "cr", route: ""),
            try once("rk", credential: "c", route: "x"), try once("k", credential: "c", route: "xr"),
        ]
        #expect(Set(all.map { $0.key(of: nil, tenant: .project).digest }).count == all.count)
        let same: Once<SignedIn> = try once("k", request: #"{"a":1}"#)
        #expect(same.key(of: nil, tenant: .project) == all[0].key(of: nil, tenant: .project))
    }

    @Test func `a key travels with the reads and the write that there are`() async throws {
        try await TestService.with { service in
            /// What settling a conflict sends to the database.
            func cost(_ email: String, _ subject: String, _ once: Once<SignedIn>?) async throws -> [Int] {
                let account = try await service.signUp(email)
                let handle = try await service.openConflict(with: email, subject: subject)
                let proven = try await service.prove(handle, by: account).success()
                let before = service.client.state
                _ = try await service.operations.resolveConflict(
                    handle,
                    proofToken: proven.proofToken,
                    tenant: .project,
                    expectedVersion: nil,
                    once: once
                )
                let after = service.client.state
                return [
                    after.read.statistics.accepted - before.read.statistics.accepted,
                    after.write.statistics.accepted - before.write.statistics.accepted,
                    after.write.statistics.batches - before.write.statistics.batches,
                    after.leasesInUse - before.leasesInUse,
                ]
            }
            let without = try await cost("ada@example.com", "1", nil)
            #expect(without[1...] == [1, 1, 0])
            #expect(try await cost("bob@example.com", "2", try once("k")) == without)
        }
    }
}
