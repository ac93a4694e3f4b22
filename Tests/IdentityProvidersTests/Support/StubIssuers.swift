import AccountTestSupport
import JSON
import Synchronization

@testable import IdentityProviders

/// Serves documents from memory instead of the network, and counts the requests. Refuses requests to other endpoints,
/// as a provider does for an unknown token.
final class StubIssuers: HTTPFetching {
    private struct State {
        var documents: [String: Result<HTTPDocument, ProviderUnavailable>] = [:]
        var requests: [String] = []
        var delay = Duration.zero
    }

    private let state = Mutex(State())

    func publish(_ document: JSONValue, at address: String, maxAgeSeconds: Int64? = nil) {
        let document = HTTPDocument(body: Array(document.text.utf8), maxAgeSeconds: maxAgeSeconds)
        state.withLock { $0.documents[address] = .success(document) }
    }

    func publish(_ keys: [ProviderKey], at address: String, maxAgeSeconds: Int64? = nil) throws {
        let members = try keys.map { JSONValue.object(try $0.jwk()) }
        publish(["keys": .array(members)], at: address, maxAgeSeconds: maxAgeSeconds)
    }

    func fail(_ failure: ProviderUnavailable, at address: String) {
        state.withLock { $0.documents[address] = .failure(failure) }
    }

    /// Delays all later answers.
    func answer(after delay: Duration) { state.withLock { $0.delay = delay } }

    func requests(for address: String) -> Int { state.withLock { $0.requests.count { $0 == address } } }

    var requests: Int { state.withLock { $0.requests.count } }

    func document(
        at address: String,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> HTTPDocument {
        let (delay, answer) = state.withLock { state in
            state.requests.append(address)
            return (state.delay, state.documents[address] ?? .failure(.unreachable))
        }
        if delay > .zero {
            do { try await Task.sleep(for: delay) } catch { throw .timedOut }
        }
        return try answer.get()
    }

    func answer(
        to request: ProviderRequest,
        deadline: ContinuousClock.Instant
    ) async throws(ProviderUnavailable) -> ProviderAnswer {
        guard state.withLock({ $0.documents[request.address] != nil }) else {
            return ProviderAnswer(status: 400, body: Array(#"{"error":"invalid_token"}"#.utf8))
        }
        return ProviderAnswer(status: 200, body: try await document(at: request.address, deadline: deadline).body)
    }
}
