import AccountLinking
package import Logging

/// The keys of every issuer in use, and what its discovery document says, kept in memory.
///
/// Stated staleness: a key the issuer has withdrawn is accepted for as long as the issuer's `Cache-Control` says, at
/// least 5 minutes and at most 24 hours, 1 hour where it says nothing; and for up to 24 hours after they were fetched
/// while the issuer cannot be reached. A key it has added is known at once, except that tokens naming unknown keys make
/// the issuer be asked at most once a minute. All callers that wait for an issuer's keys share one fetch.
package actor JWKSCache {
    package struct Limits: Sendable, Hashable {
        /// Seconds for which keys are used without a refresh, if the issuer names no time.
        package var freshSeconds: Int64 = 3600
        /// Bounds on the time that the issuer names.
        package var freshSecondsMin: Int64 = 300
        package var freshSecondsMax: Int64 = 86_400
        /// Seconds after the fetch for which keys are used while the issuer is unreachable.
        package var staleSecondsMax: Int64 = 86_400
        /// The least time between two fetches that unknown keys cause.
        package var unknownKeySeconds: Int64 = 60
        /// Seconds for which a failed fetch is cached.
        package var failureSeconds: Int64 = 10
        /// The time for everything one refresh fetches.
        package var refreshTimeout = Duration.seconds(5)
        /// Maximum number of cached issuers.
        package var issuersMax = 256

        package init() {}
    }

    enum LookUp: Sendable {
        case found(VerificationKey)
        /// The issuer does not sign ID tokens that way.
        case algorithmNotAllowed
        case unknownKey
    }

    private struct Entry {
        var keys: IssuerKeys?
        var keysFetchedAt: Timestamp?
        var attemptedAt: Timestamp
        var failure: ProviderUnavailable?
        var refresh: Task<Result<IssuerKeys, ProviderUnavailable>, Never>?
    }

    private let http: any HTTPFetching
    private let limits: Limits
    private let logger: Logger
    private var entries: [KeySource: Entry] = [:]

    /// - Parameters:
    ///   - http: how issuers are reached.
    ///   - limits: ages and bounds.
    ///   - logger: logs each failed refresh once; nothing else would show that old keys are in use.
    package init(http: any HTTPFetching, limits: Limits = Limits(), logger: Logger) {
        self.http = http
        self.limits = limits
        self.logger = logger
    }

    /// The key for a token that names `keyID` (or none) and `algorithm`.
    ///
    /// A caller that is cancelled still waits for the fetch it joined, at most `refreshTimeout`.
    /// - Throws: `ProviderUnavailable` when there are no keys young enough, or when the one that is named is unknown and
    ///   the issuer could not be asked about it.
    func lookUp(
        keyID: String?,
        algorithm: SignatureAlgorithm,
        from source: KeySource,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> LookUp {
        let known = try await keys(from: source, at: now)
        guard known.algorithms.contains(algorithm) else { return .algorithmNotAllowed }
        if let key = known.key(named: keyID, for: algorithm) { return .found(key) }
        let renewed = try await keysAfterUnknownKey(from: source, at: now)
        return renewed.key(named: keyID, for: algorithm).map(LookUp.found) ?? .unknownKey
    }

    /// The issuer's metadata, as old as its keys; `nil` for an issuer that is known without discovery.
    /// - Throws: `ProviderUnavailable` when there is nothing young enough.
    func metadata(from source: KeySource, at now: Timestamp) async throws(ProviderUnavailable) -> IssuerMetadata? {
        try await keys(from: source, at: now).metadata
    }

    private func keys(from source: KeySource, at now: Timestamp) async throws(ProviderUnavailable) -> IssuerKeys {
        let failure: ProviderUnavailable
        if let entry = entries[source] {
            if let keys = entry.keys, isFresh(keys, of: entry, at: now) { return keys }
            if entry.refresh == nil, let recent = entry.failure,
                entry.attemptedAt.isWithin(limits.failureSeconds, of: now)
            {
                return try staleKeys(from: source, at: now, insteadOf: recent)
            }
        }
        switch await refresh(source, at: now) {
        case .success(let keys): return keys
        case .failure(let reason): failure = reason
        }
        return try staleKeys(from: source, at: now, insteadOf: failure)
    }

    private func isFresh(_ keys: IssuerKeys, of entry: Entry, at now: Timestamp) -> Bool {
        guard let fetchedAt = entry.keysFetchedAt else { return false }
        let said = keys.maxAgeSeconds ?? limits.freshSeconds
        let freshSeconds = min(max(said, limits.freshSecondsMin), limits.freshSecondsMax)
        return fetchedAt.isWithin(freshSeconds, of: now)
    }

    private func staleKeys(
        from source: KeySource,
        at now: Timestamp,
        insteadOf failure: ProviderUnavailable
    ) throws(ProviderUnavailable) -> IssuerKeys {
        guard let entry = entries[source], let keys = entry.keys, let fetchedAt = entry.keysFetchedAt,
            fetchedAt.isWithin(limits.staleSecondsMax, of: now)
        else { throw failure }
        return keys
    }

    /// The keys after a fetch because a token names an unknown key. Anyone can forge such tokens, so they cause only an
    /// occasional fetch.
    private func keysAfterUnknownKey(
        from source: KeySource,
        at now: Timestamp
    ) async throws(ProviderUnavailable) -> IssuerKeys {
        if let entry = entries[source], entry.refresh == nil,
            entry.attemptedAt.isWithin(limits.unknownKeySeconds, of: now)
        {
            if let failure = entry.failure { throw failure }
            if let keys = entry.keys { return keys }
        }
        return try await refresh(source, at: now).get()
    }

    /// Joins the refresh under way, or starts one.
    private func refresh(_ source: KeySource, at now: Timestamp) async -> Result<IssuerKeys, ProviderUnavailable> {
        if let running = entries[source]?.refresh { return await running.value }
        makeRoom(for: source)
        // Not a child of the caller: its cancellation must not fail the others that wait. It ends by itself, at the
        // latest when the time for a refresh is over.
        let task = Task { () -> Result<IssuerKeys, ProviderUnavailable> in
            let outcome: Result<IssuerKeys, ProviderUnavailable>
            do throws(ProviderUnavailable) {
                outcome = .success(try await IssuerKeys.fetch(source, by: http, deadline: .now + limits.refreshTimeout))
            } catch {
                outcome = .failure(error)
            }
            finish(source, with: outcome, at: now)
            return outcome
        }
        entries[source, default: Entry(attemptedAt: now)].refresh = task
        return await task.value
    }

    private func finish(_ source: KeySource, with outcome: Result<IssuerKeys, ProviderUnavailable>, at now: Timestamp) {
        var entry = entries[source] ?? Entry(attemptedAt: now)
        entry.refresh = nil
        entry.attemptedAt = now
        switch outcome {
        case .success(let keys):
            entry.keys = keys
            entry.keysFetchedAt = now
            entry.failure = nil
        case .failure(let failure):
            entry.failure = failure
            logger.warning(
                "an issuer's keys could not be refreshed",
                metadata: [
                    "issuer": "\(source.issuer)", "reason": "\(failure.rawValue)", "has_keys": "\(entry.keys != nil)",
                ]
            )
        }
        entries[source] = entry
    }

    /// Forgets the issuer that was asked longest ago, when there are too many. Only configuration adds issuers.
    private func makeRoom(for source: KeySource) {
        guard entries.count >= limits.issuersMax, entries[source] == nil else { return }
        let idle = entries.filter { $0.value.refresh == nil }
        guard let oldest = idle.min(by: { $0.value.attemptedAt < $1.value.attemptedAt }) else { return }
        entries[oldest.key] = nil
    }
}

extension Timestamp {
    /// Returns true if less than `seconds` lie between the two, in either direction: after the clock was set back, a
    /// time "in the future" must not stay young forever.
    fileprivate func isWithin(_ seconds: Int64, of other: Timestamp) -> Bool {
        abs(other.seconds(since: self)) < seconds
    }
}
