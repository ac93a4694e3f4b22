import AccountLinking

/// The way to providers, and the time that they have to answer.
package struct ProviderNetwork: Sendable {
    let http: any HTTPFetching
    let timeout: Duration

    /// - Parameters:
    ///   - http: how providers are reached.
    ///   - timeout: for everything that judging one credential asks of its provider.
    package init(http: any HTTPFetching, timeout: Duration = .seconds(5)) {
        self.http = http
        self.timeout = timeout
    }

    /// Begins the requests that judge one credential.
    func inquiry(under configuration: ProviderConfiguration, at now: Timestamp) -> ProviderInquiry {
        ProviderInquiry(configuration: configuration, now: now, http: http, deadline: .now + timeout)
    }
}

/// The requests that judge one credential: under one registration, at one instant, with one deadline for all of them.
struct ProviderInquiry: Sendable {
    var configuration: ProviderConfiguration
    /// The instant of the client's request.
    let now: Timestamp
    fileprivate let http: any HTTPFetching
    fileprivate let deadline: ContinuousClock.Instant

    /// The answer to `request`, of any status.
    /// - Throws: `ProviderUnavailable` when there is none in time.
    func answer(to request: ProviderRequest) async throws(ProviderUnavailable) -> ProviderAnswer {
        try await http.answer(to: request, deadline: deadline)
    }
}
