import AccountLinking
import AccountOperations
import AccountStore
import FoundationEssentials
import IdentityProviders
import JSON

/// The checks of stored data: keys, project, providers and work that waits.
struct StoredChecks: Sendable {
    let store: AccountStore
    let configuration: DoctorConfiguration
    let now: Timestamp

    private static let countMax: Int64 = 10_000
    /// A server sends messages within seconds. Retries after refusals take longer.
    private static let waitSecondsMax: Int64 = 900
    /// Time for servers to delete expired rows.
    private static let backlogSeconds: Int64 = 3600

    var all: [DoctorCheck] {
        [
            DoctorCheck("project", project), DoctorCheck("keys", keys), DoctorCheck("older-keys", olderKeys),
            DoctorCheck("signing-keys", signingKeys), DoctorCheck("providers", providers),
            DoctorCheck("outbox", outbox), DoctorCheck("purge", purge), DoctorCheck("events", events),
            DoctorCheck("sessions", sessions),
        ]
    }

    @Sendable private func project() async throws -> [Diagnosis] {
        guard let (record, _) = try await store.project(),
            let settings = try await ProjectCache.load(store: store, trust: .preset)?.settings
        else {
            return [.failure("project", "there is no project", "Create it: concord project init --id PROJECT-ID")]
        }
        var findings = [Diagnosis.ok("project", "\(record.projectID), policy version \(record.version)")]
        if settings.authorizedDomains.isEmpty {
            findings.append(
                .warning(
                    "authorized-domains",
                    "none: sign-in links and providers cannot return to a web app",
                    "List the hosts of your apps: authorizedDomains in concord policy apply"
                )
            )
        } else {
            let domains = settings.authorizedDomains.map(\.text).joined(separator: ", ")
            findings.append(.ok("authorized-domains", domains))
        }
        return findings
    }

    /// Opens the newest signing keys. A wrong key with the right id cannot open them.
    @Sendable private func keys() async throws -> [Diagnosis] {
        guard let keys = configuration.keys else { return [] }
        guard try await !store.signingKeys().isEmpty else {
            return [.ok("keys", "key \(keys.sealing.id) seals new values; no value is stored yet")]
        }
        do {
            try await SigningKeys.check(store, try Sealer(keys))
            return [.ok("keys", "key \(keys.sealing.id) seals new values, and the signing keys can be opened")]
        } catch let error as SigningKeys.Unreadable {
            return [.failure("keys", "\(error)", "Configure the key that sealed it: keys.encryption")]
        }
    }

    @Sendable private func olderKeys() async throws -> [Diagnosis] {
        guard let keys = configuration.keys else { return [] }
        return Self.olderKeys(
            try await SealedValues(store: store, sealer: try Sealer(keys)).uses(),
            sealing: String(keys.sealing.id),
            configured: keys.all.map { String($0.id) }
        )
    }

    static func olderKeys(_ values: [SealedValues.Use], sealing: String, configured: [String]) -> [Diagnosis] {
        let byKey = Dictionary(grouping: values) { $0.keyID ?? "without a name" }
        func needs(_ key: String) -> String? {
            guard let values = byKey[key] else { return nil }
            let places = values.map { "\(grouped($0.count)) in \($0.column.rawValue)" }.joined(separator: ", ")
            return "key \(key) is needed for \(places)"
        }
        let unknown = byKey.keys.filter { !configured.contains($0) }.sorted().compactMap { key in
            needs(key).map {
                Diagnosis.failure("older-keys", $0, "Configure it again after the first in keys.encryption")
            }
        }
        let older = configured.filter { $0 != sealing }.map { key in
            Diagnosis.ok(
                "older-keys",
                needs(key) ?? "nothing stored needs key \(key): it can be removed, unless it is the next key"
            )
        }
        return unknown + older
    }

    @Sendable private func signingKeys() async throws -> [Diagnosis] {
        let keys = Dictionary(grouping: try await store.signingKeys(), by: \.purpose)
        return SigningKeyRecord.Purpose.allCases.map { Self.signingKeys($0, keys[$0] ?? [], at: now) }
    }

    static func signingKeys(
        _ purpose: SigningKeyRecord.Purpose,
        _ keys: [SigningKeyRecord],
        at now: Timestamp
    ) -> Diagnosis {
        guard let newest = keys.max(by: { $0.generation < $1.generation }) else {
            return .ok("signing-keys", "\(purpose.rawValue): the first server makes one")
        }
        let days = max(0, now.secondsSinceEpoch - newest.signsFrom.secondsSinceEpoch) / 86_400
        let found = "\(purpose.rawValue): \(newest.algorithm), generation \(newest.generation), \(days) days in use"
        // A running server replaces a key after 30 days.
        return days > 31
            ? .warning("signing-keys", found, "No server has replaced it after 30 days: is `concord serve` running?")
            : .ok("signing-keys", found)
    }

    /// Fetches the discovery document of each enabled `oidc.*` provider.
    @Sendable private func providers() async throws -> [Diagnosis] {
        let records = try await store.providerConfigs(tenant: .project).filter(\.isEnabled)
        let http = IssuerHTTPClient(configuration.providers)
        let checks = records.compactMap { record -> DoctorCheck? in
            guard record.provider.isOpenIDConnect, let issuer = record.issuer else { return nil }
            let name = "provider \(record.provider.rawValue)"
            return DoctorCheck(name) { [await Self.discovery(of: issuer, name, http)] }
        }
        guard !checks.isEmpty else { return [.ok("providers", "\(records.count) enabled, none with discovery")] }
        return await DoctorCheck.run(checks, timeout: DoctorCheck.timeout - .milliseconds(500))
    }

    private static func discovery(of issuer: String, _ name: String, _ http: IssuerHTTPClient) async -> Diagnosis {
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let address = base + "/.well-known/openid-configuration"
        do throws(ProviderUnavailable) {
            let document = try await http.document(at: address, deadline: .now + .seconds(4))
            guard (try? JSONValue(parsing: document.body))?["issuer"]?.string == issuer else {
                return .failure(name, "\(address) names another issuer", "Register the issuer that it names")
            }
            return .ok(name, "\(issuer) answers")
        } catch {
            let remedy =
                error == .networkNotAllowed
                ? "Set providers.allow_private_networks, if the issuer is yours"
                : "Open the address from this machine, and check firewall and certificate"
            return .failure(name, "\(address): \(error.rawValue)", remedy)
        }
    }

    @Sendable private func outbox() async throws -> [Diagnosis] {
        var findings: [Diagnosis] = []
        for kind in OutboxMessage.Kind.allCases {
            let waiting = try await store.waitingMessages(kind, countMax: Self.countMax)
            guard let oldest = waiting.oldest else { continue }
            let seconds = max(0, now.secondsSinceEpoch - oldest.secondsSinceEpoch)
            let found = "\(kind.rawValue): \(grouped(waiting.count)) wait, the oldest for \(seconds / 60) min"
            findings.append(
                seconds > Self.waitSecondsMax
                    ? .warning("outbox", found, "See the reasons: concord outbox list") : .ok("outbox", found)
            )
        }
        return findings.isEmpty ? [.ok("outbox", "no message waits")] : findings
    }

    @Sendable private func events() async throws -> [Diagnosis] {
        let missing = try await store.monthsWithoutPartition(at: now)
        return missing.isEmpty
            ? [.ok("events", "the current month and the next ones have partitions")]
            : [
                .warning(
                    "events",
                    """
                    no partition for \(missing.map(\.description).joined(separator: ", ")): the default partition \
                    takes its events, which are deleted row by row
                    """,
                    """
                    Servers create it: is `concord serve` running, and does its role own the table account_events? If \
                    more than 10,000 events wait in account_events_default, the current month stays there until it \
                    ends. To move them, see "Events in the default partition" in docs/guides/operations.md
                    """
                )
            ]
    }

    @Sendable private func purge() async throws -> [Diagnosis] {
        let delay = configuration.purge.keep.components.seconds + Self.backlogSeconds
        let count = try await store.expiredRowCount(before: now.adding(seconds: -delay), countMax: Self.countMax)
        return count == 0
            ? [.ok("purge", "no expired row is overdue")]
            : [
                .warning(
                    "purge",
                    "\(grouped(count)) or more expired rows are not deleted",
                    "Servers delete them: is `concord serve` running, and does its log name an error?"
                )
            ]
    }
    /// Sessions without a limit stay forever.
    @Sendable private func sessions() async throws -> [Diagnosis] {
        guard let settings = try await ProjectCache.load(store: store, trust: .preset)?.settings else { return [] }
        if let seconds = settings.sessionLifetimes.sweepSeconds {
            return [.ok("sessions", "a session ends \(grouped(seconds / 86_400)) days after its last use, or earlier")]
        }
        guard let size = try await store.sessionsSize() else { return [] }
        return [
            .warning(
                "sessions",
                "without a limit: about \(grouped(size.rows)) sessions use \(grouped(size.bytes >> 20)) MB",
                "End unused ones: concord.sessions.inactivitySeconds: 15552000 (180 days) in concord policy apply"
            )
        ]
    }
}
