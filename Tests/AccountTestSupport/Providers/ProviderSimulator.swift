import Foundation
package import IdentityProviders
import JSON
import NIOHTTP1
import Synchronization

/// A provider as it behaves towards its clients: strict about what it is sent, and truthful.
package protocol SimulatedProvider: Sendable {
    /// Where it answers what.
    var paths: [ProviderAddress: String] { get }

    /// `base`: the scheme and authority that it answers under.
    func reply(to request: LocalServer.Request, at address: ProviderAddress, base: String) -> LocalServer.Reply
}

/// A provider on this machine. A test may make any part of it fail or lie.
package final class ProviderSimulator<Provider: SimulatedProvider>: Sendable {
    package let provider: Provider
    private let server: LocalServer
    private let overrides: Overrides

    private final class Overrides: Sendable {
        let replies = Mutex<[ProviderAddress: LocalServer.Reply]>([:])
    }

    private init(provider: Provider, server: LocalServer, overrides: Overrides) {
        self.provider = provider
        self.server = server
        self.overrides = overrides
    }

    /// Runs `body` beside `provider`.
    @discardableResult
    package static func run<Output>(
        _ provider: Provider,
        _ body: (ProviderSimulator) async throws -> Output
    ) async throws -> Output {
        let overrides = Overrides()
        return try await LocalServer.run { request, server in
            guard let address = provider.paths.first(where: { $0.value == request.path })?.key else {
                return .text("nothing is here", status: .notFound)
            }
            if let reply = overrides.replies.withLock({ $0[address] }) { return reply }
            return provider.reply(to: request, at: address, base: server.address(""))
        } _: { server in
            try await body(ProviderSimulator(provider: provider, server: server, overrides: overrides))
        }
    }

    /// Where the provider is reached, for a registration.
    package var addresses: [ProviderAddress: String] { provider.paths.mapValues { server.address($0) } }

    /// Answers everything at `address` with `reply` from now on; `nil`: with the truth.
    package func reply(_ reply: LocalServer.Reply?, at address: ProviderAddress) {
        overrides.replies.withLock { $0[address] = reply }
    }

    package func requests(at address: ProviderAddress) -> [LocalServer.Request] {
        server.requests.filter { $0.path == provider.paths[address] }
    }

    /// Where the user's browser is sent by `page`, at which the user, who is signed in there, does what the provider's
    /// `consents` says.
    package func visit(_ page: String) async throws -> String {
        let client = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
        let answer = try await client.answer(to: ProviderRequest(.get, page), deadline: .now + .seconds(60))
        guard answer.status == 302 else { throw NotSentOn(status: answer.status) }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// The page showed something instead.
    package struct NotSentOn: Error {
        package let status: Int
    }
}

/// Who is signed in at a provider.
package struct SimulatedPerson: Sendable, Hashable {
    package var id = "7588892"
    package var screenName = "ada"
    package var name = "Ada Lovelace"
    package var email: String? = "ada@example.com"
    package var emailIsVerified = true
    package var picture = "https://pictures.example/ada_normal.png"

    package init() {}
}

extension LocalServer.Reply {
    /// What a provider that is not well gives instead of an answer, with what the caller makes of it.
    package static let outages: [(reply: LocalServer.Reply, failure: ProviderUnavailable)] = [
        (.text("oops", status: .internalServerError), .unexpectedStatus),
        (.text("<!doctype html><title>Try again later</title>", status: .serviceUnavailable), .unexpectedStatus),
        (.json(["errors": [["code": 88]]], status: .tooManyRequests), .unexpectedStatus),
        (.redirect(to: "https://elsewhere.example/"), .unexpectedStatus),
        (.text("<!doctype html><title>Welcome</title>"), .malformedAnswer),
        (.text("null"), .malformedAnswer),
        (.text("{"), .malformedAnswer),
        (LocalServer.Reply(), .malformedAnswer),
        (LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 5_000_000)), .answerTooLarge),
    ]

    /// What never comes, or never ends.
    package static let stalls = [
        LocalServer.Reply(stops: .beforeHead),
        LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 1000), stops: .insideBody),
    ]
}
