import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import IdentityProviders
import Logging
import Migrations
import NIOCore
import Postgres
import PrometheusMetrics
import ServiceLifecycle
import Synchronization

/// The address on which the server listens, once it does.
final class BoundAddress: Sendable {
    private let address = Mutex<SocketAddress?>(nil)

    func set(_ newAddress: SocketAddress?) {
        address.withLock { $0 = newAddress }
    }

    var value: SocketAddress? { address.withLock { $0 } }
}

extension Logger {
    /// Logs the version of the policy in use. Author and reason are data of an operator, never of a user.
    fileprivate func report(_ version: ProjectVersion) {
        var metadata: Metadata = [
            "version": "\(version.version)", "author": "\(version.attribution.author ?? "unknown")",
        ]
        if let reason = version.attribution.reason { metadata["reason"] = "\(reason)" }
        notice("a new version of the policy is in use", metadata: metadata)
    }

    /// Logs the providers whose registrations have changed, over HTTP or by `concord providers apply`.
    fileprivate func report(_ providers: [ProviderID]) {
        let names = providers.map(\.rawValue).sorted().joined(separator: ",")
        notice("provider registrations changed", metadata: ["providers": "\(names)"])
    }
}

/// The service behind the HTTP server: starts up, runs the background tasks, and shuts down in order.
struct Core: Service, CustomStringConvertible {
    /// The text that ServiceLifecycle logs. Without it, the log would hold the whole composition, including secrets.
    var description: String { "core" }

    let composition: Composition
    let service: ServiceHandle
    let address: BoundAddress
    let measurements: Measurements

    /// A flush takes one statement for any number of sign-ins. A crash loses the times since the last flush.
    private static let flushInterval = Duration.milliseconds(250)
    /// Half of the documented maximum, because a pause may be longer by a quarter, and reading takes time.
    private static let refreshInterval = Duration.seconds(ProjectCache.stalenessSeconds) / 2
    /// Much shorter than the margin of an hour for published keys (`KeySchedule.marginSeconds`).
    private static let keysInterval = Duration.seconds(60)
    /// Adds to the age of a replica, which is known as of the last comparison.
    private static let replicaInterval = Duration.seconds(1)
    /// The usual interval at which metrics are read.
    private static let outboxInterval = Duration.seconds(15)
    /// Maximum time that an event waits for an idle server.
    private static let webhooksInterval = Duration.seconds(1)
    /// Maximum time that a merge waits for a server after the last receiver has agreed.
    private static let mergesInterval = Duration.seconds(1)
    /// Maximum time that a message waits for an idle worker.
    private static let messagesInterval = Duration.seconds(1)
    /// Maximum time until development reports a mail on the terminal.
    private static let inboxInterval = Duration.milliseconds(500)
    /// Time until another server may purge, in addition to 3 pauses of the purge.
    private static let dutySecondsMin: Int64 = 30
    /// The longest time of 3 pauses. With longer pauses the duty ends between two runs, and any server has the next one.
    private static let dutyPausesSecondsMax: Int64 = 600
    private static let addressRetryInterval = Duration.milliseconds(10)
    private static let databaseRetryInterval = Duration.milliseconds(500)

    func run() async throws {
        do {
            let postgres = try await cancelWhenGracefulShutdown { try await composition.database.prepare() }
            let log = DatabaseLog(logger: composition.logger)
            let client = PostgresClient(
                configuration: postgres,
                observer: log,
                metrics: measurements.postgres,
                spans: composition.spans
            )
            measurements.registry.beforeReading { client.report() }
            try await serve(from: client, postgres)
        } catch is CancellationError {
            // Stopped before it was ready.
        } catch {
            await composition.database.release()
            throw error
        }
        await composition.database.release()
    }

    private func serve(from client: PostgresClient, _ postgres: PostgresConfiguration) async throws {
        try await withThrowingTaskGroup { group in
            // Not cancelled with the other tasks, because the last writes use it.
            group.addTask { await client.run() }
            defer { client.shutDown() }
            let standby = composition.database.replica.map { StandbyReader($0, measurements.replica) }
            if let standby { group.addTask { await standby.client.run() } }
            defer { standby?.client.shutDown() }
            let (operations, keys) = try await start(client, standby?.replica, postgres)
            let refusals = SharedOutage(
                Outage(
                    composition.logger,
                    failure: "the schema cannot be read from the database",
                    recovery: "the schema can be read from the database again"
                )
            )
            let clocks = ClockWatch(
                composition.logger,
                measurements.clocks,
                effects: operations.effects,
                databaseClock: { try await operations.store.clock() }
            )
            if await clocks.problem() == nil {
                // The first events of a new database need their month. A failure is reported by the first purge.
                let now = operations.effects.now()
                _ = try? await operations.store.maintainEventPartitions(now: now, keepSince: nil)
            }
            // Read before the first request is answered: messages written from here on are reported.
            let readyAt = operations.effects.now()
            measurements.upkeep.purged(at: readyAt)
            service.state = .ready(
                operations,
                checkDatabase: {
                    if let problem = await schemaProblem(client, refusals) { return problem }
                    if let problem = await clocks.problem() { return problem }
                    return await writeProblem(client, operations.store)
                }
            )
            let channels = composition.mode.channels(operations.project)
            composition.mode.whenReady(address.value)
            StartUpPages.release()
            await withTaskGroup { upkeep in
                upkeep.addTask { await maintainKeys(keys, operations) }
                upkeep.addTask { await purge(operations, clocks) }
                upkeep.addTask { await sendWebhooks(operations) }
                upkeep.addTask { await moveMerges(operations) }
                upkeep.addTask { await reportIgnoredSettings(postgres) }
                if let standby {
                    upkeep.addTask { await watch(standby, beside: client, operations.effects) }
                }
                for channel in channels { upkeep.addTask { await sendMessages(operations, over: channel) } }
                if let report = composition.mode.whenMessagesArrive {
                    let port = address.value?.port ?? composition.listen.port
                    upkeep.addTask { await reportMessages(of: operations, since: readyAt) { report($0, port) } }
                }
                upkeep.addTask {
                    await periodically(every: Self.outboxInterval) {
                        await measurements.outbox.read(operations.store, at: operations.effects.now())
                        _ = await clocks.problem()
                    }
                }
                // Separate from the flushes: a flush that waits for the database must not delay the disabling of a
                // provider or the revocation of a key.
                upkeep.addTask { await keepProjectFresh(operations) }
                await keepFlushing(operations)
            }
            service.state = .draining
            await flushLast(operations)
            for channel in channels { await channel.shutDown() }
            await operations.passwords.shutDown()
        }
    }

    /// Waits for the database and starts. Repeats both if the database becomes unreachable in between, or if the client
    /// has not noticed yet that it is reachable again.
    private func start(
        _ client: PostgresClient,
        _ replica: Replica?,
        _ postgres: PostgresConfiguration
    ) async throws -> (AccountOperations, SigningKeys) {
        while true {
            try await waitForSchema(postgres)
            do {
                return try await load(client, replica)
            } catch let error as PostgresError where Failure(error) == .unavailable {
                service.state = .starting(error.problem)
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.databaseRetryInterval) }
            }
        }
    }

    /// Loads project and keys.
    private func load(_ client: PostgresClient, _ replica: Replica?) async throws -> (AccountOperations, SigningKeys) {
        let store = AccountStore(client: client, observer: measurements.operations, replica: replica)
        try await store.refreshWebhooks()
        let effects = Effects.system
        if let project = composition.mode.projectToCreate {
            let isNew = try await store.createProject(project, apiKey: NewAPIKey.make(effects), by: .operator())
            if !isNew, composition.mode.completesProject {
                _ = try await store.changeProjectSettings(at: effects.now(), by: .operator()) { stored in
                    (stored.completed(by: project.settings), [])
                }
            }
        }
        guard
            let project = try await ProjectCache.load(
                store: store,
                trust: composition.mode.trust,
                whenChanged: { [logger = composition.logger] in logger.report($0) },
                whenProvidersChanged: { [logger = composition.logger] in logger.report($0) }
            )
        else {
            throw StartupFailure.noProject
        }
        if let expected = composition.mode.projectToCreate?.projectID, expected != project.settings.projectID {
            throw StartupFailure(
                "this database belongs to project \(project.settings.projectID), not \(expected)",
                .badConfiguration
            )
        }
        let keys = SigningKeys(
            store: store,
            sealer: composition.sealer,
            effects: effects,
            algorithm: composition.algorithm,
            projectID: project.settings.projectID
        )
        let projectID = project.settings.projectID
        let tokens = TokenAuthority(
            projectID: projectID,
            keys: try await load(.idToken, from: keys),
            development: composition.mode.developmentTokens
        )
        let cookies = SessionCookieAuthority(
            projectID: projectID,
            keys: try await load(.sessionCookie, from: keys),
            development: composition.mode.developmentTokens
        )
        let serviceAccounts = ServiceAccountTokens(store: store, projectID: projectID)
        let passwords = try PasswordHasher(
            threadCount: composition.limits.passwordHashingThreads,
            queueMax: composition.limits.passwordHashingQueueLengthMax,
            randomBytes: effects.randomBytes,
            metrics: measurements.registry,
            spans: composition.spans
        )
        measurements.registry.beforeReading { passwords.report() }
        let operations = AccountOperations(
            store: store,
            project: project,
            tokens: tokens,
            cookies: cookies,
            customTokens: composition.mode.customTokens(serviceAccounts),
            passwords: passwords,
            providers: composition.mode.providers,
            sealer: composition.sealer,
            mailLinks: try await mailLinks(),
            effects: effects,
            webhooks: composition.mode.webhooks,
            apps: composition.mode.apps,
            developmentNumbers: composition.mode.developmentNumbers,
            metrics: measurements.operations,
            spans: composition.spans
        )
        reportConfiguration(project, at: effects.now())
        return (operations, keys)
    }

    /// Logs the findings of an audit of the project's configuration, each once after a start.
    private func reportConfiguration(_ project: ProjectCache, at now: Timestamp) {
        let registry = composition.mode.providers
        let isEnabled: @Sendable (ProviderID) -> Bool = {
            registry.canSignIn($0, configuration: project.configuration(of: $0))
        }
        var terms = AuditTerms(policy: project.settings.policy, isEnabled: isEnabled, now: now)
        terms.authorizedDomains = project.settings.authorizedDomains
        terms.enabledProviders = project.registeredProviders.filter(isEnabled)
        let style = Style(showsIdentifiers: false)
        for finding in AuditRule.all.flatMap({ $0.findings(inProjectOf: terms) }) {
            composition.logger.log(
                level: finding.rule.severity.logLevel,
                "\(finding.rule.summary) \(finding.rule.repair)",
                metadata: ["rule": "\(finding.rule.id)", "found": "\(style.found(finding.evidence))"]
            )
        }
    }

    /// Logs once after the start that a pooler ignores the startup options, and with them time limits and read-only.
    private func reportIgnoredSettings(_ postgres: PostgresConfiguration) async {
        guard postgres.sessionSettings == .connection,
            let ignored = try? await DatabaseChecks.settingsWithoutEffect(of: postgres), !ignored.isEmpty
        else { return }
        let names = Set(ignored.map(\.name)).sorted().joined(separator: ",")
        composition.logger.warning(
            "a pooler ignores the time limits of connections: set database.session_settings: transaction",
            metadata: ["without_effect": "\(names)"]
        )
    }

    /// Returns the base of links: the configured public URL, otherwise the listening address.
    private func mailLinks() async throws -> MailLinks {
        let listen = composition.listen
        if let publicURL = listen.publicURL {
            return MailLinks(base: publicURL, page: composition.mode.actionPage)
        }
        // With port 0, the port is known only after the socket is bound.
        while listen.port == 0, address.value == nil {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.addressRetryInterval) }
        }
        let port = listen.port == 0 ? address.value?.port ?? 0 : listen.port
        let host = listen.host.contains(":") ? "[\(listen.host)]" : listen.host
        return MailLinks(
            base: "\(listen.transport == .plain ? "http" : "https")://\(host):\(port)",
            page: composition.mode.actionPage
        )
    }

    /// Waits while the database is unreachable. Throws if it refuses or has a wrong schema, because waiting does not
    /// help then.
    private func waitForSchema(_ postgres: PostgresConfiguration) async throws {
        var hasComplained = false
        while true {
            do {
                let state = try await SchemaState.load(postgres)
                let readiness = state.readiness(required: SchemaVersion.required)
                guard readiness.canBeServed else { throw StartupFailure(readiness.description, .badConfiguration) }
                if readiness != .ready { composition.logger.warning("\(readiness)") }
                if let problem = try await DistributionState.load(postgres, of: Distribution.moved)?.problem {
                    throw StartupFailure(problem, .badConfiguration)
                }
                return
            } catch let error as PostgresError {
                guard Failure(error) != .bug else {
                    throw StartupFailure("\(DatabaseFailure(error, at: postgres.place))", .badConfiguration)
                }
                service.state = .starting("waiting for the database")
                if !hasComplained {
                    let failure = DatabaseFailure(error, at: postgres.place)
                    composition.logger.warning("waiting for the database", metadata: ["error": "\(failure)"])
                    hasComplained = true
                }
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.databaseRetryInterval) }
            }
        }
    }

    /// Returns the current problem with the database or its schema, without secrets; `nil` if there is none.
    ///
    /// `refusals`: logs refusals of the database. The client logs that it is unreachable.
    private func schemaProblem(_ client: PostgresClient, _ refusals: SharedOutage) async -> String? {
        do throws(PostgresError) {
            let readiness = try await SchemaState.load(client).readiness(required: SchemaVersion.required)
            let distribution = try await DistributionState.load(client, of: Distribution.moved)
            refusals.succeeded()
            return readiness.canBeServed ? distribution?.problem : readiness.description
        } catch {
            if !error.isUnreachable { refusals.failed(error) }
            return error.problem
        }
    }

    /// Returns the reason why no write succeeds; `nil` if writes succeed or if there are only too many. The client logs
    /// refused writes.
    private func writeProblem(_ client: PostgresClient, _ store: AccountStore) async -> String? {
        do throws(PostgresError) {
            try await store.probeWrites()
        } catch {
            if error.refusesWrites || error.code == .unavailable || Failure(error) == .bug { return error.problem }
        }
        return client.writeRefusal?.problem
    }

    /// Writes sign-in times. After a failure, the next flush writes them.
    private func keepFlushing(_ operations: AccountOperations) async {
        await repeating(
            every: Self.flushInterval,
            failure: "sign-in times not written yet",
            recovery: "sign-in times written again"
        ) {
            try await operations.store.activity.flush(to: operations.store)
        }
    }

    private func flushLast(_ operations: AccountOperations) async {
        do {
            try await operations.store.activity.flush(to: operations.store)
        } catch {
            composition.logger.warning("last sign-in times not written", metadata: ["error": "\(error)"])
        }
    }

    /// Reads changes of the project by other servers. If it cannot be read, the known state stays in use.
    private func keepProjectFresh(_ operations: AccountOperations) async {
        await repeating(
            every: Self.refreshInterval,
            failure: "project settings not read again",
            recovery: "project settings read again"
        ) {
            try await operations.project.refresh()
            try await operations.store.refreshWebhooks()
        }
    }

    /// Reads keys of other servers, creates the next key when it is due, and activates it at its time.
    private func maintainKeys(_ keys: SigningKeys, _ operations: AccountOperations) async {
        await repeating(
            every: Self.keysInterval,
            failure: "signing keys not read again",
            recovery: "signing keys read again"
        ) {
            operations.tokens.replaceKeys(try await load(.idToken, from: keys))
            operations.cookies.replaceKeys(try await load(.sessionCookie, from: keys))
        }
    }

    /// Loads the keys of a purpose, and records when the current one began to sign.
    private func load(
        _ purpose: SigningKeyRecord.Purpose,
        from keys: SigningKeys
    ) async throws -> TokenAuthority.KeySet {
        let loaded = try await keys.load(purpose)
        if let start = loaded.signsFrom { measurements.upkeep.signs(purpose, since: start) }
        return loaded
    }

    /// Compares the standby with the primary, and logs if it cannot be used.
    private func watch(_ standby: StandbyReader, beside primary: PostgresClient, _ effects: Effects) async {
        let start = ContinuousClock.now
        var outage = Outage(
            composition.logger,
            failure: "the primary answers lists: the replica cannot be used",
            recovery: "the replica answers lists again"
        )
        await periodically(every: Self.replicaInterval) {
            await standby.replica.compare(with: primary)
            if let age = standby.replica.age { measurements.replica.isCurrent(until: effects.now(), minus: age) }
            let problem = standby.replica.problem
            measurements.replica.compared(isUsable: problem == nil)
            switch problem {
            // The first comparisons do not say the age yet.
            case .tooOld(nil) where start.duration(to: .now) < standby.ageMax: break
            case let problem?: outage.failed(problem)
            case nil: outage.succeeded()
            }
        }
    }

    /// Sends webhooks until no event is waiting.
    private func sendWebhooks(_ operations: AccountOperations) async {
        let deliveries = WebhookDeliveries(operations)
        let outage = SharedOutage(
            Outage(composition.logger, failure: "webhooks not sent", recovery: "webhooks sent again")
        )
        await withDiscardingTaskGroup { turns in
            await periodically(every: Self.webhooksInterval) {
                guard operations.store.hasWebhooks else { return }
                // Does not wait, because a receiver may be slow. The number of running deliveries is limited by the
                // places.
                turns.addTask {
                    do {
                        if try await deliveries.sendDue() > 0 { outage.succeeded() }
                    } catch is CancellationError {
                        // The server is stopping.
                    } catch {
                        outage.failed(error)
                    }
                }
            }
        }
    }

    /// Advances all merges that wait for webhook receivers, also those of other servers and commands.
    private func moveMerges(_ operations: AccountOperations) async {
        await repeating(
            every: Self.mergesInterval,
            failure: "merges not advanced",
            recovery: "merges advanced again"
        ) {
            try await operations.merges.advanceAll()
        }
    }

    /// Sends the messages in the outbox of one channel, with as many workers as needed.
    private func sendMessages(_ operations: AccountOperations, over channel: any OutboxChannel) async {
        let deliveries = OutboxDeliveries(operations, over: channel)
        let kind = channel.kind.rawValue
        let outage = SharedOutage(
            Outage(
                composition.logger,
                failure: "\(kind) not sent: it waits in the outbox",
                recovery: "\(kind) sent again"
            )
        )
        await withTaskGroup { workers in
            for _ in 0..<channel.concurrencyMax {
                workers.addTask {
                    await periodically(every: Self.messagesInterval) {
                        do {
                            while !Task.isShuttingDownGracefully, try await deliveries.sendDue() > 0 {
                                outage.succeeded()
                            }
                        } catch is CancellationError {
                            // The server is stopping.
                        } catch {
                            outage.failed(error)
                        }
                    }
                }
            }
        }
    }

    /// Reports the mails and text messages that are written after `start`.
    private func reportMessages(
        of operations: AccountOperations,
        since start: Timestamp,
        to report: @Sendable ([InboxMessage]) -> Void
    ) async {
        var news = InboxNews(since: start)
        await repeating(
            every: Self.inboxInterval,
            failure: "mails not reported yet",
            recovery: "mails reported again"
        ) {
            let found = try await operations.inbox(tenant: .project) { news.isNew($0.id.text, $0.createdAt) }
            news.report(found)
            report(found.reversed())
        }
    }

    /// Deletes expired rows while no other server does.
    private func purge(_ operations: AccountOperations, _ clocks: ClockWatch) async {
        let interval = composition.purge.interval
        var purge = Purge(
            store: operations.store,
            project: operations.project,
            effects: operations.effects,
            keepSeconds: composition.purge.keep.components.seconds,
            rowsMax: composition.purge.rowsMax,
            duty: Duty(
                Purge.duty,
                store: operations.store,
                effects: operations.effects,
                seconds: Self.dutySeconds(interval)
            ),
            metrics: measurements.operations,
            purgeMetrics: measurements.purge,
            // A stopping server waits for at most one batch.
            rest: { pause in try await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) } }
        )
        var failures: [Purge.Work: Outage] = [:]
        await repeating(
            every: interval,
            failure: "expired rows not deleted yet",
            recovery: "expired rows deleted again"
        ) {
            let report = try await purge.run()
            clocks.note(report.clocks)
            if report.isComplete { measurements.upkeep.purged(at: report.clocks.earlier) }
            for month in report.months.dropped {
                composition.logger.info("a month of events dropped", metadata: ["month": "\(month)"])
            }
            report.log(to: composition.logger, &failures)
        }
        // If the database does not answer, the duty runs out by itself.
        try? await purge.release()
    }

    /// Time until another server may purge. Half of it outlasts the pause between two runs, unless that is long.
    static func dutySeconds(_ interval: Duration) -> Int64 {
        min(3 * interval.components.seconds, dutyPausesSecondsMax) + dutySecondsMin
    }

    /// Repeats `work` until shutdown. After a failure, the next round does what is left.
    private func repeating(
        every interval: Duration,
        failure: Logger.Message,
        recovery: Logger.Message,
        _ work: () async throws -> Void
    ) async {
        var outage = Outage(composition.logger, failure: failure, recovery: recovery)
        await periodically(every: interval) {
            do {
                try await work()
                outage.succeeded()
            } catch is CancellationError {
                // The server is stopping.
            } catch {
                outage.failed(error)
            }
        }
    }

    /// Repeats `work` until shutdown, with random pauses, so that servers that started together do not run in step.
    private func periodically(every interval: Duration, _ work: () async -> Void) async {
        while true {
            do {
                let pause = interval * Double.random(in: 0.75...1.25)
                try await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
            } catch {
                return
            }
            await work()
        }
    }
}

extension Purge.Report {
    /// Logs a kind of rows once when it begins to fail, and once when it no longer does.
    fileprivate func log(to logger: Logger, _ outages: inout [Purge.Work: Outage]) {
        for (work, error) in failures {
            var outage =
                outages[work]
                ?? Outage(
                    logger,
                    failure: "expired rows of one kind not deleted yet",
                    recovery: "expired rows of one kind deleted again"
                )
            outage.failed(error, ["kind": "\(work.name)"])
            outages[work] = outage
        }
        for work in outages.keys where failures[work] == nil && !isElsewhere && clocks.disagreement == nil {
            var outage = outages.removeValue(forKey: work)
            outage?.succeeded(["kind": "\(work.name)"])
        }
        guard total > 0 else { return }
        logger.debug("expired rows deleted", metadata: ["rows": "\(total)"])
    }
}

extension AuditRule.Severity {
    fileprivate var logLevel: Logger.Level {
        switch self {
        case .note: .notice
        case .warning: .warning
        case .error: .error
        }
    }
}
