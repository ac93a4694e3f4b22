import AccountLinking
import AccountStore
import AccountTestSupport
import Crypto
import Foundation
import IdentityProviders
import JSON
import NIOHTTP1
import Testing

@testable import AccountOperations
@testable import Delivery

/// Gateways over real HTTP, with receivers that check requests like the real ones.
struct SMSSendingTests {
    private let message = OutgoingSMS(
        id: "msg_1",
        to: "+16505553434",
        text: "123456 คือรหัส & more = ok?",
        code: "123456",
        locale: "th"
    )
    private let http = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
    /// Never reached by a test, even on a slow machine.
    private var deadline: ContinuousClock.Instant { .now + .seconds(300) }

    private func secret() throws -> WebhookSecret {
        try #require(WebhookSecret(text: "whsec_" + Data(repeating: 7, count: 32).base64EncodedString()))
    }

    @Test func `an operator's gateway gets the message signed, with the same content each time`() async throws {
        let secret = try secret()
        try await LocalServer.run { _, _ in
            .text("", status: .accepted)
        } _: { server in
            let sender = WebhookSMSSender(http: http, url: server.address("/sms"), secret: secret)
            for seconds: Int64 in [1_750_000_000, 1_750_000_005] {
                #expect(await sender.send(message, at: seconds, deadline: deadline) == .delivered)
            }
            #expect(server.requests.count == 2 && Set(server.requests.map(\.body)).count == 1)
            for request in server.requests {
                let id = request.headers.first(name: "webhook-id")
                let time = try #require(request.headers.first(name: "webhook-timestamp"))
                #expect(id == "msg_1" && request.method == .POST && request.path == "/sms")
                let signed = Array("msg_1.\(time).".utf8) + request.body
                let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: secret.bytes))
                #expect(
                    request.headers.first(name: "webhook-signature") == "v1," + Data(code).base64EncodedString()
                )
                #expect(request.json["type"] == "sms.requested")
                #expect(
                    request.json["data"] == [
                        "to": "+16505553434", "text": .string(message.text), "code": "123456", "locale": "th",
                    ]
                )
            }
        }
    }

    /// Checks a request like Twilio.
    private static func twilio(_ request: LocalServer.Request) -> LocalServer.Reply {
        let login = "Basic " + Data("AC1234:token".utf8).base64EncodedString()
        guard request.headers.first(name: "authorization") == login else {
            return .json(["code": 20003, "message": "Authenticate", "status": 401], status: .unauthorized)
        }
        guard request.method == .POST, request.path == "/2010-04-01/Accounts/AC1234/Messages.json",
            request.headers.first(name: "content-type") == "application/x-www-form-urlencoded"
        else { return .json(["code": 20404, "status": 404], status: .notFound) }
        let form = request.form
        guard form["To"]?.hasPrefix("+1") == true else {
            return .json(["code": 21211, "message": "Invalid 'To' Phone Number", "status": 400], status: .badRequest)
        }
        guard form["From"] == "+15005550006" || form["MessagingServiceSid"] == "MG1", form["Body"] != nil else {
            return .json(["code": 21603, "status": 400], status: .badRequest)
        }
        return .json(["sid": "SM1", "status": "queued"], status: .created)
    }

    @Test func `a gateway with Twilio's API accepts a message or names the reason`() async throws {
        try await LocalServer.run { request, _ in
            Self.twilio(request)
        } _: { server in
            func send(
                to number: String = "+16505553434",
                token: String = "token",
                account: String = "AC1234",
                _ sender: TwilioSMSSender.Sender = .from("+15005550006")
            ) async -> DeliveryOutcome {
                let gateway = TwilioSMSSender(
                    http: http,
                    base: server.address(""),
                    account: account,
                    token: token,
                    sender: sender
                )
                let message = OutgoingSMS(
                    id: message.id,
                    to: number,
                    text: message.text,
                    code: message.code,
                    locale: message.locale
                )
                return await gateway.send(message, at: 0, deadline: deadline)
            }
            #expect(await send() == .delivered)
            #expect(await send(.messagingService("MG1")) == .delivered)
            let taken = server.requests.map(\.form)
            #expect(taken.allSatisfy { $0["Body"] == message.text && $0["To"] == "+16505553434" })
            #expect(taken[0]["From"] == "+15005550006" && taken[1]["From"] == nil)
            #expect(await send(to: "+445550100") == .refused(reason: "code 21211"))
            #expect(await send(.from("+1999")) == .refused(reason: "code 21603"))
            #expect(await send(token: "wrong") == .unavailable(reason: "status 401"))
        }
    }

    @Test(arguments: [
        (HTTPResponseStatus.badRequest, DeliveryOutcome.refused(reason: "status 400")),
        (.gone, .refused(reason: "status 410")), (.unprocessableEntity, .refused(reason: "status 422")),
        (.unauthorized, .unavailable(reason: "status 401")), (.notFound, .unavailable(reason: "status 404")),
        (.tooManyRequests, .unavailable(reason: "status 429")),
        (.serviceUnavailable, .unavailable(reason: "status 503")),
        (.internalServerError, .deferred(reason: "status 500")), (.found, .deferred(reason: "status 302")),
    ])
    func `the gateway's answer decides whether a message is sent again`(
        status: HTTPResponseStatus,
        outcome: DeliveryOutcome
    ) async throws {
        let secret = try secret()
        try await LocalServer.run { _, server in
            .text("not JSON", status: status, headers: [("location", server.address("/other"))])
        } _: { server in
            let webhook = WebhookSMSSender(http: http, url: server.address("/sms"), secret: secret)
            let twilio = TwilioSMSSender(
                http: http,
                base: server.address(""),
                account: "AC1",
                token: "t",
                sender: .from("x")
            )
            #expect(await webhook.send(message, at: 0, deadline: deadline) == outcome)
            #expect(await twilio.send(message, at: 0, deadline: deadline) == outcome)
            #expect(!server.targets.contains("/other"), "no redirect is followed")
        }
    }

    @Test func `an unreachable or silent gateway is tried again later`() async throws {
        let secret = try secret()
        let nowhere = WebhookSMSSender(http: http, url: "http://127.0.0.1:1/sms", secret: secret)
        #expect(await nowhere.send(message, at: 0, deadline: deadline) == .deferred(reason: "unreachable"))
        let foreign = WebhookSMSSender(http: http, url: "http://192.0.2.1/sms", secret: secret)
        #expect(await foreign.send(message, at: 0, deadline: deadline) == .deferred(reason: "network-not-allowed"))
        try await LocalServer.run { _, _ in
            LocalServer.Reply(stops: .beforeHead)
        } _: { server in
            let silent = WebhookSMSSender(http: http, url: server.address("/sms"), secret: secret)
            let soon = ContinuousClock.now + .milliseconds(300)
            #expect(await silent.send(message, at: 0, deadline: soon) == .deferred(reason: "timed-out"))
        }
    }

    @Test func `a secret survives writing and reading, and other text is not a secret`() throws {
        let secret = try secret()
        #expect(WebhookSecret(text: secret.text)?.bytes == secret.bytes)
        for text in ["", "whsec_", "whsec_!", "whsec_" + Data(repeating: 7, count: 23).base64EncodedString(), "7777"] {
            #expect(WebhookSecret(text: text) == nil, "\(text)")
        }
    }

    @Test func `the gateway gets the message that a request for a code wrote`() async throws {
        try await LocalServer.run { request, _ in
            Self.twilio(request)
        } _: { server in
            try await TestService.with { service in
                let sent = try await service.phoneCode("+16505553434")
                let gateway = TwilioSMSSender(
                    http: http,
                    base: server.address(""),
                    account: "AC1234",
                    token: "token",
                    sender: .from("+15005550006")
                )
                let channel = SMSChannel(gateway, timeout: .seconds(30), concurrencyMax: 2)
                let operations = service.operations
                let waiting = try await operations.store.waitingMessages(.sms, countMax: 10, tenant: .project)
                let message = try #require(waiting.first)
                let opened = OutboxMessage.plaintext(
                    of: message.sealedPayload,
                    id: message.id,
                    tenant: .project,
                    sealer: operations.sealer
                )
                let content = try #require(opened)
                #expect(await channel.send(content, id: message.id, createdAt: service.clock.now) == .delivered)
                #expect(server.requests.count == 1)
                #expect(server.requests.first?.form["Body"]?.contains(sent.code) == true)
                #expect(server.requests.first?.form["To"] == "+16505553434")
                for nonsense in ["", "{}", #"{"to":"x","text":"","code":"","sessionInfo":"","locale":"en"}"#] {
                    let outcome = await channel.send(
                        Array(nonsense.utf8),
                        id: message.id,
                        createdAt: service.clock.now
                    )
                    #expect(outcome == .refused(reason: "unreadable"))
                }
                #expect(server.requests.count == 1)
            }
        }
    }
}
