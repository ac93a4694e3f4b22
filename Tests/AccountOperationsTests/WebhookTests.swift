import AccountLinking
import AccountStore
import AccountTestSupport
import Crypto
import Delivery
import Foundation
import IdentityProviders
import JSON
import Postgres
import Synchronization
import Testing

@testable import AccountOperations

/// Content and order of webhooks, and their delivery at least once.
struct WebhookTests {
    private static let url = "https://receiver.example.com/hooks"

    @Test func `ended sessions are reported once, and the event names no session`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            let ada = try await service.signUp("ada@example.com")
            _ = try await service.signIn("ada@example.com").success()
            for sessions in [SessionsToEndByUser.others, .others, .all] {
                _ = try await service.operations.endSessions(
                    sessions,
                    idToken: ada.tokens.idToken,
                    ChangeRequest(tenant: .project)
                )
            }
            _ = try await service.operations.endAllSessions(of: ada.user.id, tenant: .project)
            try await service.sendAllWebhooks()
            let reported = try receiver.bodies(signedBy: secret)
            #expect(reported.map { $0["type"]?.string } == ["session.ended", "session.revoked", "session.revoked"])
            for body in reported {
                #expect(body["data"]?.object == ["userId": .string(ada.user.id.rawValue), "rule": "T10"])
            }
        }
    }

    @Test func `every step of a conflict and every change of methods is reported, without other data`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            let ada = try await service.signUp("ada@example.com")
            let handle = try await service.openConflict(with: "ada@example.com")
            // A second sign-in joins the conflict and is not reported.
            _ = try await service.openConflict(with: "ada@example.com")
            let proven = try await service.prove(handle, by: ada).success()
            _ = try await service.resolve(handle, proven.proofToken).success()
            let other = try await service.openConflict(with: "ada@example.com", subject: "78")
            _ = try await service.decline(other).success()
            var removal = UpdateAccount()
            removal.removal.providers = [.twitter]
            let session = try await service.signIn("ada@example.com").success()
            _ = try await service.operations.updateAccount(
                removal,
                idToken: session.tokens.idToken,
                tenant: .project
            )
            try await service.sendAllWebhooks()

            let reported = try receiver.bodies(signedBy: secret)
            #expect(
                reported.map { $0["type"]?.string } == [
                    "conflict.opened", "conflict.proven", "method.linked", "conflict.resolved", "conflict.opened",
                    "conflict.declined", "method.unlinked",
                ]
            )
            #expect(
                reported.map { $0["data"]?["rule"]?.string } == ["I11", "Q14", "J12", "J12", "I11", "J13", "K3"]
            )
            for body in reported {
                #expect(Set(try #require(body.object).keys) == ["type", "timestamp", "data"])
                #expect(body["data"]?["userId"]?.string == ada.user.id.rawValue)
                let isConflict = body["type"]?.string?.hasPrefix("conflict.") == true
                #expect(
                    Set(try #require(body["data"]?.object).keys)
                        == (isConflict
                            ? ["userId", "conflictId", "providerId", "rule"] : ["userId", "method", "rule"])
                )
                #expect(
                    !body.text.contains("example.com") && !body.text.contains(handle) && !body.text.contains("\"77\"")
                )
            }
            #expect(Set(receiver.requests.map(\.id)).count == reported.count, "each has a distinct id")
            #expect(
                try await service.database.count("SELECT count(*) FROM webhook_messages WHERE state <> 'delivered'")
                    == 0
            )
        }
    }

    /// Settings with which a password reset of a proven address unlinks every other method.
    private var unlinkingSettings: JSONValue {
        var settings = ProjectSettings.developmentDefaults.object ?? [:]
        settings["concord"] = ["passwordReset": ["unlinksProviders": true]]
        return .object(settings)
    }

    @Test func `methods suspended by a takeover and restored by the owner are reported as such`() async throws {
        let receiver = Receiver()
        try await TestService.with(settings: unlinkingSettings, webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            let first = try await service.signUp("ada@gmail.com", "the old password")
            let gitHub = service.credential(.gitHub, subject: "gh-1")
            _ = try await service.signIn(gitHub, idToken: first.tokens.idToken).signedIn()
            let google = service.credential(.google, subject: "g", email: "ada@gmail.com", isVerified: true)
            let owner = try await service.signIn(google).signedIn()
            #expect(owner.user.id == first.user.id)
            let idToken = owner.tokens.idToken
            _ = try await service.signIn(gitHub, idToken: idToken).signedIn()
            _ = try await service.operations.restorePassword(
                "the old password",
                idToken: idToken,
                ChangeRequest(tenant: .project)
            )
            // Suspended by a reset. Linking another identity of the same provider is reported as new.
            let code = try await service.resetCode(for: "ada@gmail.com")
            _ = try await service.operations.resetPassword(code, newPassword: "a new password", tenant: .project)
            let session = try await service.signIn("ada@gmail.com", "a new password").success().tokens.idToken
            let other = service.credential(.gitHub, subject: "gh-2")
            _ = try await service.signIn(other, idToken: session).signedIn()
            try await service.sendAllWebhooks()

            let reported = try receiver.bodies(signedBy: secret).map { body in
                [body["type"], body["data"]?["method"], body["data"]?["rule"]].map { $0?.string ?? "?" }
                    .joined(separator: " ")
            }
            #expect(
                reported == [
                    "method.linked github.com L4",
                    "method.quarantined github.com I9", "method.quarantined password I9", "method.linked google.com I9",
                    "method.restored github.com L4", "methods.changed ? L4",
                    "method.restored password B7", "methods.changed ? B7",
                    "method.quarantined github.com R2", "method.quarantined google.com R2",
                    "method.linked github.com L4", "methods.changed ? L4",
                ]
            )
        }
    }

    @Test func `a number is reported like any method: linked, replaced, suspended, restored`() async throws {
        let receiver = Receiver()
        try await TestService.with(settings: unlinkingSettings, webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            func link(_ number: String, _ idToken: String) async throws {
                let sent = try await service.phoneCode(number)
                let linked = try await service.signInByPhone(sent.sessionInfo, sent.code, idToken: idToken)
                #expect(linked.entered?.user.phoneNumber?.rawValue == number)
            }
            let first = try await service.signUp("ada@gmail.com", "the old password").tokens.idToken
            try await link("+16505550001", first)
            try await link("+16505550002", first)
            for number in ["+16505550002", "+16505550003"] {
                let code = try await service.resetCode(for: "ada@gmail.com")
                _ = try await service.operations.resetPassword(code, newPassword: "a new password", tenant: .project)
                let session = try await service.signIn("ada@gmail.com", "a new password").success().tokens.idToken
                try await link(number, session)
            }
            try await service.sendAllWebhooks()
            let reported = try receiver.bodies(signedBy: secret).map { body in
                [body["type"], body["data"]?["method"], body["data"]?["rule"]].map { $0?.string ?? "?" }
                    .joined(separator: " ")
            }
            #expect(
                reported == [
                    "method.linked phone N6",
                    "method.unlinked phone N6", "method.linked phone N6",
                    "method.quarantined phone R4", "method.restored phone N6", "methods.changed ? N6",
                    "method.quarantined phone R4", "method.linked phone N6", "methods.changed ? N6",
                ]
            )
        }
    }

    @Test func `a change mailed to the owner is reported as one event, and so is its undo`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            let ada = try await service.signUp("ada@example.com")
            func change(_ password: String?, removing provider: ProviderID? = nil) async throws {
                service.clock.advance(seconds: 1)
                let session = try await service.signIn("ada@example.com").success()
                var update = UpdateAccount()
                update.password = password
                if let provider { update.removal.providers = [provider] }
                _ = try await service.operations
                    .updateAccount(update, idToken: session.tokens.idToken, tenant: .project)
            }
            // The address is unproven, so a replaced password is reported but not mailed.
            try await change(TestService.password)
            try await service.edit(ada.user.id) { $0.prove(.administrator) }
            let gitHub = service.credential(.gitHub, subject: "gh-1")
            let session = try await service.signIn("ada@example.com").success().tokens.idToken
            _ = try await service.signIn(gitHub, idToken: session).signedIn()
            try await change("another password", removing: .gitHub)
            let mails = try await service.operations.mailsWithUsableCodes(tenant: .project)
            let code = try #require(mails.last?.code)
            _ = try await service.operations.applyEmailCode(code, tenant: .project)
            try await service.sendAllWebhooks()
            let reported = try receiver.bodies(signedBy: secret).filter { $0["type"] == "methods.changed" }
                .compactMap { $0["data"]?.object }
            func expected(
                _ rule: String,
                added: JSONValue = [],
                removed: JSONValue = [],
                replaced: JSONValue = [],
                ownerMailed: Bool
            ) -> [String: JSONValue] {
                [
                    "userId": .string(ada.user.id.rawValue), "rule": .string(rule), "added": added,
                    "removed": removed, "replaced": replaced, "ownerMailed": .bool(ownerMailed),
                ]
            }
            #expect(
                reported == [
                    expected("W4", replaced: ["password"], ownerMailed: false),
                    expected("L4", added: ["github.com"], ownerMailed: true),
                    expected("W4", removed: ["github.com"], replaced: ["password"], ownerMailed: true),
                    expected("U23", added: ["github.com"], replaced: ["password"], ownerMailed: false),
                ],
                "\(reported)"
            )
        }
    }

    @Test func `events that were rolled back, or precede the endpoint, are not reported`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com")
            #expect(try await service.database.count("SELECT count(*) FROM webhook_messages") == 0)
            let secret = try await service.addWebhook(Self.url)
            try await service.database.execute(
                "ALTER TABLE account_events ADD CHECK (kind <> 'conflict-opened') NOT VALID"
            )
            await #expect(throws: PostgresError.self) {
                try await service.openConflict(with: "ada@example.com", subject: "78")
            }
            #expect(try await service.database.count("SELECT count(*) FROM webhook_messages") == 0)
            try await service.sendAllWebhooks()
            #expect(try receiver.bodies(signedBy: secret).isEmpty)
        }
    }

    @Test func `an undeliverable message delays only its user's messages and finally fails`()
        async throws
    {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            let ada = try await service.signUp("ada@example.com")
            let bob = try await service.signUp("bob@example.com")
            for (email, subject) in [("ada@example.com", "1"), ("ada@example.com", "2"), ("bob@example.com", "3")] {
                _ = try await service.openConflict(with: email, subject: subject)
            }
            receiver.answer { $0["data"]?["userId"]?.string == ada.user.id.rawValue ? 500 : 204 }
            try await service.sendAllWebhooks()
            // Ada's first message and Bob's, sent at once, so that either may arrive first.
            let reported = try receiver.bodies(signedBy: secret).map { $0["data"]?["userId"]?.string }
            #expect(
                reported.count == 2 && Set(reported) == [ada.user.id.rawValue, bob.user.id.rawValue],
                "Ada's first and Bob's"
            )
            let first = receiver.requests.filter { $0.body["data"]?["userId"]?.string == ada.user.id.rawValue }
            // It is sent again with growing pauses, and then fails.
            for _ in 1..<RetrySchedule.webhooks.attemptsMax {
                service.clock.advance(seconds: 2 * 86_400)
                try await service.database.execute("UPDATE webhook_endpoints SET failing_since = NULL")
                try await service.sendAllWebhooks()
            }
            let ofAda = receiver.requests.filter { $0.body["data"]?["userId"]?.string == ada.user.id.rawValue }
            let ids = ofAda.map(\.id)
            #expect(ids.filter { $0 == first[0].id }.count == RetrySchedule.webhooks.attemptsMax)
            #expect(ids.last != first[0].id, "then the next is sent")
            let failed = try await service.operations.failedWebhooks(of: service.webhookID())
            #expect(failed.map(\.id) == [first[0].id])
            #expect(
                failed.first?.lastStatus == 500 && failed.first?.attempts == Int64(RetrySchedule.webhooks.attemptsMax)
            )
        }
    }

    /// Opens a conflict for each of `count` users.
    private func makeEvents(_ count: Int, in service: TestService) async throws {
        for number in 0..<count {
            _ = try await service.signUp("user-\(number)@example.com")
            _ = try await service.openConflict(with: "user-\(number)@example.com", subject: "\(number)")
        }
    }

    /// Bounded, so that a test with an impossible condition fails.
    private func wait(until condition: () -> Bool) async throws {
        for _ in 0..<6000 where !condition() { try await Task.sleep(for: .milliseconds(20)) }
        try #require(condition())
    }

    @Test func `a hanging receiver occupies four places and delays no other`()
        async throws
    {
        let receiver = Receiver()
        let hanging = "https://hanging.example.com/hooks"
        try await TestService.with(webhooks: receiver) { service in
            _ = try await service.addWebhook(hanging)
            _ = try await service.addWebhook(Self.url)
            try await makeEvents(20, in: service)
            receiver.hang(hanging)
            let deliveries = WebhookDeliveries(service.operations)
            let sent = try await withThrowingTaskGroup(of: Int.self) { turns in
                defer { receiver.release() }
                for _ in 0..<8 { turns.addTask { try await deliveries.sendDue() } }
                try await wait { receiver.requests.count == 20 && receiver.hangingCount == 4 }
                // Another turn reports what happens meanwhile.
                _ = try await service.openConflict(with: "user-0@example.com", subject: "later")
                try await wait {
                    turns.addTask { try await deliveries.sendDue() }
                    return receiver.requests.count == 21
                }
                #expect(receiver.requests.allSatisfy { $0.url == Self.url } && receiver.hangingCount == 4)
                receiver.release()
                return try await turns.reduce(into: 0) { $0 += $1 }
            }
            #expect(sent == 42 && receiver.requests.count == 42)
            #expect(receiver.hangingCountMax == 4)
            let once: Query<Int64?> =
                "SELECT count(*) FROM webhook_messages WHERE state = 'delivered' AND attempts = 1"
            #expect(try await service.database.count(once) == 42)
        }
    }

    @Test func `a failing endpoint has one place, and four again after a success`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            _ = try await service.addWebhook(Self.url)
            try await makeEvents(6, in: service)
            try await service.database.execute("UPDATE webhook_endpoints SET failing_since = now()")
            receiver.hang(Self.url)
            let deliveries = WebhookDeliveries(service.operations)
            async let first = deliveries.sendDue()
            defer { receiver.release() }
            try await wait { receiver.hangingCount == 1 }
            #expect(try await deliveries.sendDue() == 0 && receiver.hangingCount == 1)
            receiver.releaseOne()
            try await wait { receiver.hangingCount == 4 }
            receiver.release()
            #expect(try await first == 6)
        }
    }

    @Test func `an endpoint that answers 410 or fails for five days is disabled`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            _ = try await service.addWebhook(Self.url)
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com")
            receiver.answer { _ in 410 }
            try await service.sendAllWebhooks()
            #expect(try await service.operations.webhookEndpoints().map(\.state) == [.gone])
            try await service.operations.store.refreshWebhooks()
            #expect(!service.operations.store.hasWebhooks && receiver.requests.count == 1)
            _ = try await service.openConflict(with: "ada@example.com", subject: "78")
            #expect(try await service.database.count("SELECT count(*) FROM webhook_messages") == 1)

            _ = try await service.operations.enableWebhookEndpoint(service.webhookID())
            receiver.answer { _ in nil }
            _ = try await service.openConflict(with: "ada@example.com", subject: "79")
            try await service.sendAllWebhooks()
            #expect(try await service.operations.webhookEndpoints().map(\.state) == [.enabled])
            service.clock.advance(seconds: WebhookDeliveries.failingSecondsMax + 1)
            try await service.sendAllWebhooks()
            let endpoint = try #require(try await service.operations.webhookEndpoints().first)
            #expect(endpoint.state == .failing && endpoint.failingSince != nil && endpoint.waitingCount == 1)
            let before = receiver.requests.count
            service.clock.advance(seconds: 86_400)
            try await service.sendAllWebhooks()
            #expect(receiver.requests.count == before)
            // Waiting messages are sent once it is enabled again.
            _ = try await service.operations.enableWebhookEndpoint(endpoint.id)
            receiver.answer { _ in 200 }
            try await service.sendAllWebhooks()
            #expect(receiver.requests.count == before + 1)
            #expect(try await service.operations.webhookEndpoints().first?.failingSince == nil)
        }
    }

    @Test func `during a rotation both secrets sign, and then only the new one`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let old = try await service.addWebhook(Self.url)
            _ = try await service.signUp("ada@example.com")
            let id = try await service.webhookID()
            let new = try await service.operations.rotateWebhookSecret(of: id).secret
            #expect(new != old)
            _ = try await service.openConflict(with: "ada@example.com", subject: "1")
            try await service.sendAllWebhooks()
            #expect(try receiver.bodies(signedBy: old).count == 1 && receiver.bodies(signedBy: new).count == 1)
            service.clock.advance(seconds: 86_401)
            _ = try await service.openConflict(with: "ada@example.com", subject: "2")
            try await service.sendAllWebhooks()
            #expect(try receiver.bodies(signedBy: new).count == 2)
            #expect(throws: Receiver.Forged.self) { try receiver.bodies(signedBy: old) }
            // The tables contain neither in the clear.
            let dump = try await service.database.contents().values.joined()
            #expect(dump.contains(Self.url) && !dump.contains("whsec"))
            for secret in [old, new] {
                let bytes = try #require(Data(base64Encoded: String(secret.dropFirst(6))))
                #expect(!dump.contains(Hexadecimal.encode(Array(bytes))))
            }
        }
    }

    @Test func `two servers send each event once and in order for each user, despite failures`() async throws {
        let receiver = Receiver()
        let failures = Atomic(0)
        try await TestService.withTwo(webhooks: receiver) { service, other in
            let secret = try await service.addWebhook(Self.url)
            try await other.operations.store.refreshWebhooks()
            var users: [SignedIn] = []
            for number in 0..<8 { users.append(try await service.signUp("user-\(number)@example.com")) }
            // Every third attempt fails and is retried.
            receiver.answer { _ in failures.add(1, ordering: .relaxed).newValue.isMultiple(of: 3) ? 503 : 200 }
            _ = try await service.race(with: other, count: 64) { service, caller in
                try await service.openConflict(with: "user-\(caller % 8)@example.com", subject: "\(caller)")
            }
            let total: Query<Int64?> = "SELECT count(*) FROM webhook_messages"
            #expect(try await service.database.count(total) == 64)
            let waiting: Query<Int64?> = "SELECT count(*) FROM webhook_messages WHERE state = 'pending'"
            while try await service.database.count(waiting) > 0 {
                _ = try await service.race(with: other, count: 4) { service, _ in
                    try await WebhookDeliveries(service.operations).sendDue()
                }
                service.clock.advance(seconds: 3600)
            }
            _ = try receiver.bodies(signedBy: secret)
            let order = try await service.database.rows(
                "SELECT user_id || ' ' || message_id FROM webhook_messages ORDER BY position" as Query<String?>
            ).compactMap(\.self)
            for user in users {
                let expected = order.filter { $0.hasPrefix(user.user.id.rawValue) }
                    .compactMap { $0.split(separator: " ").last.map { "msg_" + $0 } }
                let taken = receiver.requests.filter {
                    $0.status == 200 && $0.body["data"]?["userId"]?.string == user.user.id.rawValue
                }
                #expect(expected.count == 8 && taken.map(\.id) == expected)
            }
            #expect(failures.load(ordering: .relaxed) > 64)
        }
    }

    @Test func `a message of a dead server is sent by another`() async throws {
        let receiver = Receiver()
        try await TestService.withTwo(webhooks: receiver) { service, other in
            _ = try await service.addWebhook(Self.url)
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com")
            // The first server claims it and stops.
            let now = service.clock.now
            let claimed = try await service.operations.store.claimWebhookMessages(
                at: now,
                until: now.adding(seconds: WebhookDeliveries.claimSeconds),
                places: WebhookSlots(max: 4, failingMax: 1)
            )
            #expect(claimed.count == 1)
            #expect(try await WebhookDeliveries(other.operations).sendDue() == 0, "the claim has not ended")
            service.clock.advance(seconds: WebhookDeliveries.claimSeconds)
            #expect(try await WebhookDeliveries(other.operations).sendDue() == 1)
            // A late result of the first server is ignored.
            try await service.operations.store.finishWebhookAttempt(
                claimed[0].message,
                .retry(at: now),
                status: 500,
                isGone: false,
                failingSecondsMax: 60,
                at: now
            )
            #expect(
                try await service.database.count("SELECT count(*) FROM webhook_messages WHERE state = 'delivered'") == 1
            )
        }
    }

    @Test func `at most ten endpoints can be added, under concurrency too`() async throws {
        try await TestService.withTwo { service, other in
            let outcomes = try await service.race(with: other, count: 32) { service, caller in
                try await outcome(await service.operations.addWebhookEndpoint(url: "https://\(caller).example.com"))
                    .denial
            }
            #expect(outcomes.count { $0 == nil } == 10)
            #expect(outcomes.count { $0 == .webhook(.tooMany) } == 22)
            #expect(try await service.database.count("SELECT count(*) FROM webhook_endpoints") == 10)
            _ = try await service.operations.deleteWebhookEndpoint(service.webhookID())
            _ = try await service.addWebhook("https://again.example.com")
        }
    }

    /// Checks that one answer was made and that all others are its stored copy, and returns it.
    private func apply<Value>(
        _ outcomes: [Outcome<Value>],
        answer: (Value) -> [UInt8],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [UInt8] {
        let made = outcomes.compactMap { outcome in if case .success(let value) = outcome { answer(value) } else { nil }
        }
        let kept = outcomes.compactMap { outcome -> [UInt8]? in
            if case .denied(.answeredBefore(let stored)) = outcome { stored } else { nil }
        }
        #expect(made.count == 1 && made.count + kept.count == outcomes.count, sourceLocation: sourceLocation)
        #expect(Set(kept) == Set(made), sourceLocation: sourceLocation)
        return try #require(made.first, sourceLocation: sourceLocation)
    }

    private func request<Value>(
        _ key: String,
        _ request: String,
        _ answer: @escaping @Sendable (Value) -> [UInt8]
    ) throws -> IdempotentRequest<Value> {
        IdempotentRequest(
            key: try #require(IdempotencyKey(key)),
            credential: "administrator",
            route: key,
            request: request,
            answer: answer
        )
    }

    @Test func `64 callers with one key change an endpoint once, on two servers, and all get its answer`() async throws
    {
        let reported: @Sendable (NewWebhookSecret) -> [UInt8] = { Array("\($0.endpoint) \($0.secret)".utf8) }
        let done: @Sendable (()) -> [UInt8] = { _ in [1] }
        try await TestService.withTwo { service, other in
            // There is room for one more.
            for number in 1...9 { _ = try await service.addWebhook("https://\(number).example.com") }
            let adding = try request("add", "a", reported)
            let added = try await service.race(with: other) { service, _ in
                try await outcome(await service.operations.addWebhookEndpoint(url: Self.url, idempotent: adding))
            }
            let answer = String(decoding: try apply(added, answer: reported), as: UTF8.self).split(separator: " ")
            let id = String(answer[0])
            #expect(try await service.database.count("SELECT count(*) FROM webhook_endpoints") == 10)
            #expect(
                try await service.database.count(
                    "SELECT count(*) FROM webhook_endpoints WHERE endpoint_id::text = \(id)"
                ) == 1
            )
            let another = try request("add", "b", reported)
            #expect(
                try await outcome(
                    await service.operations.addWebhookEndpoint(url: "https://b.example.com", idempotent: another)
                ).denial
                    == .idempotencyKeyReused
            )

            let rotating = try request("rotate", "", reported)
            let rotated = try await service.race(with: other) { service, _ in
                try await outcome(await service.operations.rotateWebhookSecret(of: id, idempotent: rotating))
            }
            let secret = String(decoding: try apply(rotated, answer: reported), as: UTF8.self).split(separator: " ")[1]
            #expect(secret != answer[1])
            // The replaced secret still signs, so there was one rotation.
            let sealed: [[UInt8]?] = try await service.database.rows(
                "SELECT sealed_older_secret FROM webhook_endpoints WHERE endpoint_id::text = \(id)"
            )
            let endpoint = try #require(PostgresUUID(text: id))
            let older = WebhookSecret(
                sealed: try #require(sealed.first ?? nil),
                of: endpoint,
                sealer: service.operations.sealer
            )
            #expect(older?.text == String(answer[1]))

            let deleting = try request("delete", "", done)
            let deleted = try await service.race(with: other) { service, _ in
                try await outcome(await service.operations.deleteWebhookEndpoint(id, idempotent: deleting))
            }
            _ = try apply(deleted, answer: done)
            let late = try request("late", "", done)
            #expect(
                try await outcome(await service.operations.deleteWebhookEndpoint(id, idempotent: late)).denial
                    == .webhook(.unknown)
            )
            #expect(
                try await outcome(await service.operations.enableWebhookEndpoint(id, idempotent: late)).denial
                    == .webhook(.unknown),
                "a refusal is not stored"
            )
            #expect(try await service.database.count("SELECT count(*) FROM webhook_endpoints") == 9)
            #expect(try await service.database.count("SELECT count(*) FROM kept_answers") == 3)
        }
    }

    @Test func `deleting an endpoint stops no concurrent decision`() async throws {
        try await TestService.withTwo { service, other in
            for round in 0..<4 {
                _ = try await service.addWebhook(Self.url)
                try await other.operations.store.refreshWebhooks()
                _ = try await service.signUp("user\(round)@example.com")
                let id = try await service.webhookID()
                _ = try await service.race(with: other, count: 16) { service, caller in
                    if caller == 7 {
                        _ = try await outcome(await service.operations.deleteWebhookEndpoint(id))
                    } else {
                        _ = try await service.openConflict(
                            with: "user\(round)@example.com",
                            subject: "\(round)-\(caller)"
                        )
                    }
                }
            }
            #expect(try await service.database.count("SELECT count(*) FROM conflicts") == 60)
            #expect(try await service.database.count("SELECT count(*) FROM webhook_messages") == 0)
        }
    }

    @Test func `finished messages, and those of a disabled endpoint, are deleted later`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            _ = try await service.addWebhook(Self.url)
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com", subject: "1")
            try await service.sendAllWebhooks()
            receiver.answer { _ in 410 }
            for subject in ["2", "3"] { _ = try await service.openConflict(with: "ada@example.com", subject: subject) }
            try await service.sendAllWebhooks()
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 86_400,
                rowsMax: 2,
                databaseClock: { service.clock.now }
            )
            #expect(try await purge.run().rows[.webhookMessages] == 0)
            service.clock.advance(seconds: 86_401)
            // One was delivered, one failed, one waits.
            #expect(try await purge.run().rows[.webhookMessages] == 3)
        }
    }

    @Test func `a waiting message is sent even after its event was deleted`() async throws {
        let receiver = Receiver()
        try await TestService.with(webhooks: receiver) { service in
            let secret = try await service.addWebhook(Self.url)
            _ = try await service.signUp("ada@example.com")
            _ = try await service.openConflict(with: "ada@example.com")
            service.clock.advance(seconds: 401 * 86_400)
            var purge = Purge(
                store: service.operations.store,
                project: service.operations.project,
                effects: service.operations.effects,
                keepSeconds: 86_400,
                rowsMax: 100,
                databaseClock: { service.clock.now }
            )
            #expect(try await purge.run().rows[.events] == 2)
            try await service.sendAllWebhooks()
            #expect(try receiver.bodies(signedBy: secret).map { $0["type"]?.string } == ["conflict.opened"])
        }
    }

    @Test func `the pauses grow, vary, and end`() {
        let pauses = (1...RetrySchedule.webhooks.attemptsMax).map {
            RetrySchedule.webhooks.pauseSeconds(after: $0, jitter: 0.5)
        }
        #expect(pauses.last == .some(nil))
        let given = pauses.compactMap(\.self)
        #expect(given.count == RetrySchedule.webhooks.attemptsMax - 1 && given == given.sorted())
        #expect(given.reduce(0, +) > 2 * 86_400 && given.reduce(0, +) < 5 * 86_400)
        #expect(RetrySchedule.webhooks.pauseSeconds(after: 3, jitter: 0) == 225)
        #expect(RetrySchedule.webhooks.pauseSeconds(after: 3, jitter: 1) == 375)
        #expect(RetrySchedule.webhooks.pauseSeconds(after: 0, jitter: 0) == nil)
    }
}

/// A receiver in place of the network. It checks each signature with its own implementation of RFC 2104.
final class Receiver: WebhookSending {
    struct Request: Sendable {
        let url: String
        let id: String
        let timestamp: Int64
        let signatures: [String]
        let bytes: [UInt8]
        let body: JSONValue
        let status: Int?
    }

    struct Forged: Error {}

    private struct State {
        var requests: [Request] = []
        var answer: @Sendable (JSONValue) -> Int? = { _ in 200 }
        var hangingURL: String?
        var hanging: [CheckedContinuation<Void, Never>] = []
        var hangingCountMax = 0
    }

    private let state = Mutex(State())

    var requests: [Request] { state.withLock(\.requests) }

    func answer(_ answer: @escaping @Sendable (JSONValue) -> Int?) {
        state.withLock { $0.answer = answer }
    }

    /// Number of hanging requests, now and at most.
    var hangingCount: Int { state.withLock(\.hanging.count) }
    var hangingCountMax: Int { state.withLock(\.hangingCountMax) }

    /// Makes later requests to `url` wait for `release`.
    func hang(_ url: String) {
        state.withLock { $0.hangingURL = url }
    }

    func releaseOne() {
        state.withLock { $0.hanging.popLast() }?.resume()
    }

    func release() {
        let hanging = state.withLock { state in
            state.hangingURL = nil
            defer { state.hanging = [] }
            return state.hanging
        }
        for continuation in hanging { continuation.resume() }
    }

    private func hangs(_ continuation: CheckedContinuation<Void, Never>, at url: String) -> Bool {
        state.withLock { state in
            guard url == state.hangingURL else { return false }
            state.hanging.append(continuation)
            state.hangingCountMax = max(state.hangingCountMax, state.hanging.count)
            return true
        }
    }

    func accepts(_ url: String) -> Bool { url.hasPrefix("https://") }

    func attempt(
        _ webhook: Webhook,
        to url: String,
        at seconds: Int64,
        secrets: [WebhookSecret]
    ) async throws(ProviderUnavailable) -> Int {
        let fields = Dictionary(uniqueKeysWithValues: webhook.fields(at: seconds, secrets: secrets))
        let body = (try? JSONValue(parsing: webhook.body)) ?? .null
        await withCheckedContinuation { if !hangs($0, at: url) { $0.resume() } }
        let answer: Int? = state.withLock { state in
            let status = state.answer(body)
            state.requests.append(
                Request(
                    url: url,
                    id: fields["webhook-id"] ?? "",
                    timestamp: fields["webhook-timestamp"].flatMap { Int64($0) } ?? 0,
                    signatures: fields["webhook-signature"]?.split(separator: " ").map(String.init) ?? [],
                    bytes: webhook.body,
                    body: body,
                    status: status
                )
            )
            return status
        }
        guard let answer else { throw .unreachable }
        return answer
    }

    /// The bodies, in order of arrival.
    /// - Throws: `Forged` if a request is not signed with `secret`.
    func bodies(signedBy secret: String) throws -> [JSONValue] {
        let key = try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count))))
        return try requests.map { request in
            let signed = Array("\(request.id).\(request.timestamp).".utf8) + request.bytes
            guard request.signatures.contains("v1," + Data(Self.hmac(signed, Array(key))).base64EncodedString()) else {
                throw Forged()
            }
            return request.body
        }
    }

    /// HMAC-SHA-256 (RFC 2104 §2).
    private static func hmac(_ message: [UInt8], _ key: [UInt8]) -> [UInt8] {
        let padded = key + Array(repeating: 0, count: 64 - key.count)
        let inner = SHA256.hash(data: padded.map { $0 ^ 0x36 } + message)
        return Array(SHA256.hash(data: padded.map { $0 ^ 0x5C } + Array(inner)))
    }
}

extension TestService {
    /// Adds an endpoint.
    /// - Returns: its secret.
    func addWebhook(_ url: String) async throws -> String {
        try await operations.addWebhookEndpoint(url: url).secret
    }

    /// The id of the oldest endpoint.
    func webhookID() async throws -> String {
        try #require(try await operations.webhookEndpoints().first?.id)
    }

    /// Sends until no message is due.
    func sendAllWebhooks() async throws {
        while try await WebhookDeliveries(operations).sendDue() > 0 {}
    }
}
