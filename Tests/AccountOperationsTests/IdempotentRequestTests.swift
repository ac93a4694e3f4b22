import AccountLinking
import AccountStore
import AccountTestSupport
import IdentityProviders
import Testing

@testable import AccountOperations
@testable import Postgres

/// Recognition of a repeated request, and its cost.
struct IdempotentRequestTests {
    private func request<Value>(
        _ key: String,
        credential: String = "c",
        route: String = "r",
        request: String = "{}",
        of: Value.Type = SignedIn.self
    ) throws -> IdempotentRequest<Value> {
        IdempotentRequest(
            key: try #require(IdempotencyKey(key)),
            credential: credential,
            route: route,
            request: request
        ) { _ in [1]
        }
    }

    @Test func `caller, route and key are distinguished, wherever one ends and the next begins`() throws {
        let all: [IdempotentRequest<SignedIn>] = [
            try request("k"), try request("k2"), try request("k", credential: "d"), try request("k", route: "s"),
            try request("k", credential: "", route: "cr"), try request("k", credential: "cr", route: ""),
            try request("rk", credential: "c", route: "x"), try request("k", credential: "c", route: "xr"),
        ]
        #expect(Set(all.map { $0.key(of: nil, tenant: .project).digest }).count == all.count)
        let same: IdempotentRequest<SignedIn> = try request("k", request: #"{"a":1}"#)
        #expect(same.key(of: nil, tenant: .project) == all[0].key(of: nil, tenant: .project))
    }

    @Test func `an idempotency key adds no round trip`() async throws {
        try await TestService.with { service in
            /// The database traffic of resolving a conflict.
            func cost(
                _ email: String,
                _ subject: String,
                _ idempotent: IdempotentRequest<SignedIn>?
            ) async throws -> [Int] {
                let account = try await service.signUp(email)
                let handle = try await service.openConflict(with: email, subject: subject)
                let proven = try await service.prove(handle, by: account).success()
                let before = service.client.state
                _ = try await service.operations.resolveConflict(
                    handle,
                    proofToken: proven.proofToken,
                    ChangeRequest(tenant: .project, idempotent: idempotent)
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
            #expect(try await cost("bob@example.com", "2", try request("k")) == without)
        }
    }
}
