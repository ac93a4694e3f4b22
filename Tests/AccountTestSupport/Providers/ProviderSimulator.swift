import Foundation
package import IdentityProviders
import JSON
import NIOHTTP1
import Synchronization

/// A simulated provider. It validates its clients' requests strictly and answers truthfully.
package protocol SimulatedProvider: Sendable {
    /// The paths of its endpoints.
    var paths: [ProviderAddress: String] { get }

    /// - `base`: scheme and authority of the server.
    func reply(to request: LocalServer.Request, at address: ProviderAddress, base: String) -> LocalServer.Reply
}

/// A simulated provider on this machine. A test can make any endpoint fail or answer falsely.
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

    /// The provider's endpoints, for a registration.
    package var addresses: [ProviderAddress: String] { provider.paths.mapValues { server.address($0) } }

    /// Replies with `reply` to every request at `address` from now on; `nil` restores the provider's answers.
    package func reply(_ reply: LocalServer.Reply?, at address: ProviderAddress) {
        overrides.replies.withLock { $0[address] = reply }
    }

    package func requests(at address: ProviderAddress) -> [LocalServer.Request] {
        server.requests.filter { $0.path == provider.paths[address] }
    }

    /// Opens `page` as a signed-in user, who acts as the provider's `consents` says. Returns the URL to which the
    /// browser is sent.
    package func visit(_ page: String) async throws -> String {
        let client = IssuerHTTPClient(policy: NetworkPolicy(allowsLoopback: true))
        let answer = try await client.answer(to: ProviderRequest(.get, page), deadline: .now + .seconds(60))
        guard answer.status == 302 else { throw NotSentOn(status: answer.status) }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// The page did not redirect.
    package struct NotSentOn: Error {
        package let status: Int
    }
}

/// The user who is signed in at a provider.
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
    /// Replies of a failing provider, each with the failure that the caller should see.
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

    /// Replies that never start or never end.
    package static let stalls = [
        LocalServer.Reply(stops: .beforeHead),
        LocalServer.Reply(body: [UInt8](repeating: 0x20, count: 1000), stops: .insideBody),
    ]
}
