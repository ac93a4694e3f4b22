import AccountLinking
import AccountStore
import AccountTestSupport
import Delivery
import JSON
import Postgres
import Synchronization
import Testing

@testable import AccountOperations

/// Silent pushes: the request, the push, and the proof.
struct AppPushTests {
    private static let bundleID = "com.example.app"
    private static let device = String(repeating: "0a", count: 32)

    /// Records pushes.
    private final class Recorder: PushSending {
        let pushes = Mutex<[SilentPush]>([])

        func send(_ push: SilentPush, at seconds: Int64, timeout: Duration) async -> DeliveryOutcome {
            pushes.withLock { $0.append(push) }
            return .delivered
        }

        func shutDown() async {}
    }

    private func request(
        device: String = Self.device,
        bundleID: String? = Self.bundleID,
        apiKey: String? = "key",
        clientAddress: String? = "192.0.2.1"
    ) -> AppPushRequest {
        AppPushRequest(
            deviceToken: device,
            usesSandbox: true,
            iOSBundleID: bundleID,
            apiKey: apiKey,
            clientAddress: clientAddress
        )
    }

    /// A service with push enabled for one app.
    private func with(_ body: @Sendable (AccountOperations, TestService) async throws -> Void) async throws {
        try await TestService.with { service in
            var operations = service.operations
            operations.apps = AppVerifiers(
                pushes: AppReceiptVerifier(sealer: operations.sealer, effects: operations.effects),
                pushTopics: [Self.bundleID]
            )
            try await body(operations, service)
        }
    }

    private func sent(_ operations: AccountOperations) async throws -> [SilentPush] {
        let recorder = Recorder()
        let channel = PushChannel(recorder, timeout: .seconds(4), concurrencyMax: 1, effects: operations.effects)
        while try await OutboxDeliveries(operations, over: channel).sendDue() > 0 {}
        return recorder.pushes.withLock { $0 }
    }

    private func isBelieved(
        _ operations: AccountOperations,
        _ receipt: String,
        _ secret: String,
        bundleID: String? = Self.bundleID,
        apiKey: String? = "key"
    ) async throws -> Bool {
        let number = try #require(PhoneNumber("+16505553434"))
        let denial = try await operations.apps.denial(
            of: AppRequest(
                credential: .push(receipt: receipt, secret: secret),
                number: number,
                iOSBundleID: bundleID,
                apiKey: apiKey,
                clientAddress: nil
            )
        )
        #expect(denial == nil || denial == .invalidAppCredential)
        return denial == nil
    }

    @Test func `an app that presents its pushed secret is accepted for a week, on any server`() async throws {
        try await with { operations, service in
            let asked = try await operations.requestAppPush(request(), tenant: .project)
            let push = try #require(try await sent(operations).first)
            #expect(push.deviceToken == Self.device && push.topic == Self.bundleID && push.usesSandbox)
            #expect(push.expiresAt == service.clock.now.secondsSinceEpoch + asked.waitSeconds)
            let payload = try JSONValue(parsing: push.payload)
            let pair = try #require(payload["com.google.firebase.auth"])
            #expect(payload == ["aps": ["content-available": 1], "com.google.firebase.auth": pair])
            #expect(pair["receipt"]?.string == asked.receipt && pair.object?.count == 2)
            let secret = try #require(pair["secret"]?.string)
            #expect(!asked.receipt.contains(secret))
            #expect(!(try await service.database.contents().values.joined()).contains(secret))

            for _ in 1...3 { #expect(try await isBelieved(operations, asked.receipt, secret)) }
            #expect(!(try await isBelieved(operations, asked.receipt, secret, bundleID: "com.example.other")))
            #expect(!(try await isBelieved(operations, asked.receipt, secret, bundleID: nil)))
            #expect(!(try await isBelieved(operations, asked.receipt, secret, apiKey: "another")))
            #expect(!(try await isBelieved(operations, asked.receipt, secret + "x")))
            #expect(!(try await isBelieved(operations, asked.receipt, "")))
            let other = try await operations.requestAppPush(request(), tenant: .project)
            #expect(!(try await isBelieved(operations, other.receipt, secret)))
            let forged = [
                "", "A", asked.receipt + "A", String(asked.receipt.reversed()), String(repeating: "A", count: 100_000),
            ]
            for receipt in forged { #expect(!(try await isBelieved(operations, receipt, secret))) }

            service.clock.advance(seconds: Lifetimes.appReceiptSeconds - 1)
            #expect(try await isBelieved(operations, asked.receipt, secret))
            service.clock.advance(seconds: 1)
            #expect(!(try await isBelieved(operations, asked.receipt, secret)))
        }
    }

    @Test(arguments: [
        AppPushRequest(deviceToken: "", usesSandbox: false, iOSBundleID: bundleID, apiKey: nil, clientAddress: nil),
        AppPushRequest(deviceToken: "0", usesSandbox: false, iOSBundleID: bundleID, apiKey: nil, clientAddress: nil),
        AppPushRequest(deviceToken: "0g", usesSandbox: false, iOSBundleID: bundleID, apiKey: nil, clientAddress: nil),
        AppPushRequest(
            deviceToken: "0a/../0b",
            usesSandbox: false,
            iOSBundleID: bundleID,
            apiKey: nil,
            clientAddress: nil
        ),
        AppPushRequest(
            deviceToken: String(repeating: "0a", count: 201),
            usesSandbox: false,
            iOSBundleID: bundleID,
            apiKey: nil,
            clientAddress: nil
        ),
        AppPushRequest(deviceToken: device, usesSandbox: false, iOSBundleID: nil, apiKey: nil, clientAddress: nil),
        AppPushRequest(
            deviceToken: device,
            usesSandbox: false,
            iOSBundleID: "com.example.unknown",
            apiKey: nil,
            clientAddress: nil
        ),
    ])
    func `a request that cannot be pushed gets the error that continues with a challenge`(
        request: AppPushRequest
    ) async throws {
        try await with { operations, service in
            let outcome = try await outcome(await operations.requestAppPush(request, tenant: .project))
            #expect(outcome.denial == .phone(.invalidAppCredential))
            #expect(try await service.database.count("SELECT count(*) FROM outbox") == 0)
            #expect(try await service.database.count("SELECT count(*) FROM message_counts") == 0)
        }
    }

    @Test func `an expired push is not sent`() async throws {
        try await with { operations, service in
            _ = try await operations.requestAppPush(request(), tenant: .project)
            service.clock.advance(seconds: Lifetimes.appPushSeconds)
            #expect(try await sent(operations).isEmpty)
            #expect(try await service.database.count("SELECT count(*) FROM outbox WHERE state = 'pending'") == 0)
        }
    }

    @Test func `concurrent push requests for one device stay within its hourly limit`()
        async throws
    {
        try await with { operations, service in
            let request = request()
            let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<64 {
                    var request = request
                    // Upper and lower case name the same device.
                    if number.isMultiple(of: 2) { request.deviceToken = request.deviceToken.uppercased() }
                    let asked = request
                    group.addTask {
                        let outcome = try await outcome(await operations.requestAppPush(asked, tenant: .project))
                        #expect(outcome.denial == nil || outcome.denial == .phone(.invalidAppCredential))
                        return outcome.denial == nil
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 } == 20)
            #expect(try await service.database.count("SELECT count(*) FROM outbox WHERE kind = 'push'") == 20)
            #expect(try await service.database.count("SELECT count(*) FROM message_counts WHERE messages = 20") == 4)
            var other = request
            other.deviceToken = String(repeating: "0b", count: 32)
            #expect(try await outcome(await operations.requestAppPush(other, tenant: .project)).denial == nil)
            service.clock.advance(seconds: 3600)
            #expect(try await outcome(await operations.requestAppPush(request, tenant: .project)).denial == nil)
        }
    }
}
