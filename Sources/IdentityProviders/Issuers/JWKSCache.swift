import AccountLinking
package import Logging

/// Caches keys and discovery document of every issuer in use.
///
/// - A withdrawn key is accepted until the cached keys expire: after the issuer's `Cache-Control`, at least 5 minutes
///   and at most 24 hours, by default 1 hour. While the issuer is unreachable, they expire 24 hours after the fetch.
/// - A new key is accepted at once, because a token with an unknown key causes a fetch, at most once a minute.
/// - All callers that wait for the keys of an issuer share one fetch.
package actor JWKSCache {
    package struct Limits: Sendable, Hashable {
        /// Seconds for which keys are used without a refresh, if the issuer names no time.
        package var freshSeconds: Int64 = 3600
        /// Limits of the time that the issuer names.
        package var freshSecondsMin: Int64 = 300
        package var freshSecondsMax: Int64 = 86_400
        /// Seconds after the fetch for which keys are used while the issuer is unreachable.
        package var staleSecondsMax: Int64 = 86_400
        /// Minimum time between two fetches because of unknown keys.
        package var unknownKeySeconds: Int64 = 60
        /// Seconds for which a failed fetch is cached.
        package var failureSeconds: Int64 = 10
        /// Maximum time of one refresh, for all documents.
        package var refreshTimeout = Duration.seconds(5)
        /// Maximum number of cached issuers.
        package var issuersMax = 256

        package init() {}
    }

    enum LookUp: Sendable {
        case found(VerificationKey)
        /// The issuer does not use this algorithm for ID tokens.
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
    ///   - http: fetches the documents.
    ///   - limits: ages and limits.
    ///   - logger: logs each failed refresh once, because old keys stay in use without any other sign.
    package init(http: any HTTPFetching, limits: Limits = Limits(), logger: Logger) {
        self.http = http
        self.limits = limits
        self.logger = logger
    }

    /// Returns the key for a token that names `keyID` (or none) and `algorithm`.
    ///
    /// A cancelled caller still waits for the fetch that it joined, at most `refreshTimeout`.
    /// - Throws: `ProviderUnavailable` if all keys have expired, or if the named key is unknown and cannot be fetched.
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

    /// Returns the issuer's metadata, as old as its keys; `nil` for an issuer that is known without discovery.
    /// - Throws: `ProviderUnavailable` if the cached documents have expired.
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

    /// Fetches the keys because a token names an unknown key. Attackers can forge such tokens, so the fetches are
    /// limited.
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

    /// Joins the running refresh, or starts one.
    private func refresh(_ source: KeySource, at now: Timestamp) async -> Result<IssuerKeys, ProviderUnavailable> {
        if let running = entries[source]?.refresh { return await running.value }
        makeRoom(for: source)
        // Not a child task of the caller, whose cancellation must not fail other callers. It ends at the latest after
        // the time for a refresh.
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

    /// Drops the issuer that was fetched longest ago if there are too many.
    private func makeRoom(for source: KeySource) {
        guard entries.count >= limits.issuersMax, entries[source] == nil else { return }
        let idle = entries.filter { $0.value.refresh == nil }
        guard let oldest = idle.min(by: { $0.value.attemptedAt < $1.value.attemptedAt }) else { return }
        entries[oldest.key] = nil
    }
}

extension Timestamp {
    /// Returns true if the two times differ by less than `seconds`, in either direction. So keys from the future, after
    /// the clock was set back, do not stay valid forever.
    fileprivate func isWithin(_ seconds: Int64, of other: Timestamp) -> Bool {
        abs(other.seconds(since: self)) < seconds
    }
}
