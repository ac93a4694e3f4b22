import AccountLinking

/// The access to providers, and the time limit of their answers.
package struct ProviderNetwork: Sendable {
    let http: any HTTPFetching
    let timeout: Duration

    /// - Parameters:
    ///   - http: sends the requests.
    ///   - timeout: the time limit of all requests that verify one credential.
    package init(http: any HTTPFetching, timeout: Duration = .seconds(5)) {
        self.http = http
        self.timeout = timeout
    }

    /// Starts the requests that verify one credential.
    func requests(under configuration: ProviderConfiguration, at now: Timestamp) -> ProviderRequests {
        ProviderRequests(configuration: configuration, now: now, http: http, deadline: .now + timeout)
    }
}

/// The requests that verify one credential: under one registration, at one instant, with one deadline for all.
struct ProviderRequests: Sendable {
    var configuration: ProviderConfiguration
    /// The instant of the client's request.
    let now: Timestamp
    fileprivate let http: any HTTPFetching
    fileprivate let deadline: ContinuousClock.Instant

    /// Returns the answer to `request`, of any status.
    /// - Throws: `ProviderUnavailable` if there is none in time.
    func answer(to request: ProviderRequest) async throws(ProviderUnavailable) -> ProviderAnswer {
        try await http.answer(to: request, deadline: deadline)
    }
}
