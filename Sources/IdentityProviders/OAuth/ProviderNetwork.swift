/// How providers are reached, and for how long anybody waits for one.
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

    /// When whoever begins now gives up.
    var deadline: ContinuousClock.Instant { .now + timeout }
}
