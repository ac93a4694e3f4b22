import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import Postgres
import PrometheusMetrics

/// All metrics. The registry and `docs/reference/metrics.md` use this table.
enum MetricsTable {
    /// The families in the order of the output.
    ///
    /// `development`: the routes of development, if they are served.
    static func families(_ development: DevelopmentRoutes?) -> [MetricFamily] {
        http(development) + accounts + database + passwords + upkeep + telemetry + process
        // The next one goes here.
    }

    private static func http(_ development: DevelopmentRoutes?) -> [MetricFamily] {
        let route = MetricFamily.Label(
            "route",
            HTTPMetrics.routes(development),
            "method and path pattern of the route; `OPTIONS`, `unimplemented`, `unmatched`"
        )
        let listener = MetricFamily.Label("listener", ListenerMetrics.Name.self, "the listener that accepts them")
        let status = MetricFamily.Label("status", HTTPMetrics.statusClasses, "class of the response status")
        return [
            MetricFamily(
                HTTPMetrics.requests,
                .counter,
                [route, status],
                shown: .atFirstUse,
                "Requests that were answered"
            ),
            MetricFamily(
                HTTPMetrics.seconds,
                .histogram(bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
                [route],
                shown: .atFirstUse,
                "Time from the last byte of a request to its answer"
            ),
            MetricFamily(ListenerMetrics.open, .gauge, [listener], "Open client connections"),
            MetricFamily(
                ListenerMetrics.shortages,
                .counter,
                [
                    listener,
                    .init("reason", ListenerMetrics.Reason.self, "what ran out"),
                ],
                "Number of times that new connections had to wait"
            ),
        ]
    }

    private static let accounts: [MetricFamily] = {
        let provider = MetricFamily.Label(
            "provider",
            MethodClass.providers.map(\.rawValue),
            "the provider of the conflict's credential; `oidc`, `saml`, `other`"
        )
        return [
            MetricFamily(
                OperationMetrics.decisions,
                .counter,
                [.init("rule", Rule.self, "a row of [decisions.md](decisions.md)")],
                shown: .atFirstUse,
                "Decisions that took effect, and decisions that refused"
            ),
            MetricFamily(
                OperationMetrics.signIns,
                .counter,
                [
                    .init(
                        "method",
                        OperationMetrics.SignInMethod.allCases.map(\.rawValue),
                        "the first factor: `password`, `email_link`, `phone`, `custom`, `anonymous`, or a provider"
                    ),
                    .init("result", OperationMetrics.SignInResult.self, "the result"),
                ],
                shown: .atFirstUse,
                "Sign-ins and sign-ups by result, without those that link to a session"
            ),
            MetricFamily(
                OperationMetrics.conflicts,
                .counter,
                [
                    .init("step", OperationMetrics.ConflictStep.self, "the step of the conflict"),
                    provider,
                    .init(
                        "account",
                        MethodClass.allCases.map(\.rawValue),
                        "the sign-in method of the account when the conflict was opened"
                    ),
                ],
                shown: .atFirstUse,
                "Conflicts by step; the end of a conflict is counted within `purge.interval`"
            ),
            MetricFamily(
                OperationMetrics.resolutionSeconds,
                .histogram(bounds: [10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]),
                [provider],
                shown: .atFirstUse,
                "Time from the opening of a conflict to its resolution"
            ),
            MetricFamily(
                OutboxMetrics.waiting,
                .gauge,
                [.init("kind", OutboxMetrics.kinds, "the kind of message")],
                "Messages that wait to be sent, up to \(OutboxMetrics.countMax), updated every 15 seconds"
            ),
            MetricFamily(
                OutboxMetrics.oldest,
                .gauge,
                [.init("kind", OutboxMessage.Kind.self, "the kind of message")],
                "Age of the oldest waiting message, in seconds; 0 if none waits"
            ),
            MetricFamily(
                OperationMetrics.limitedRows,
                .counter,
                [
                    .init("row", LimitedResource.self, "the row that was not created"),
                    .init("scope", OperationMetrics.limitScopes.map(\.rawValue), "the scope of the limit"),
                ],
                "Requests refused because a limit of `concord.signUps`, `concord.providerFlows` or `concord.conflicts` was reached"
            ),
            MetricFamily(
                OperationMetrics.messageAttempts,
                .counter,
                [
                    .init("kind", OutboxMessage.Kind.self, "the kind of message"),
                    .init("result", OperationMetrics.MessageResult.self, "the result of the attempt"),
                ],
                "Attempts to send a message from the outbox"
            ),
            MetricFamily(
                OperationMetrics.webhookAttempts,
                .counter,
                [.init("result", OperationMetrics.WebhookResult.self, "the result of the attempt")],
                "Attempts to send a webhook"
            ),
        ]
    }()

    private static let database: [MetricFamily] = {
        let lane = MetricFamily.Label("queue", PostgresMetrics.lanes, "the purpose of the connections")
        let queue = MetricFamily.Label("queue", PostgresMetrics.queues, "the purpose of the connection")
        let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5]
        return [
            MetricFamily(
                PostgresMetrics.callSeconds,
                .histogram(bounds: bounds),
                [
                    .init(
                        "call",
                        AccountStore.callNames + [PostgresMetrics.otherCall],
                        "the transaction, or the first table that is read"
                    )
                ],
                shown: .atFirstUse,
                "Time from the request for a statement or transaction to its answer, including the wait for a connection"
            ),
            MetricFamily(
                PostgresMetrics.queueWaitSeconds,
                .histogram(bounds: bounds),
                [queue],
                "Time spent waiting for a connection"
            ),
            MetricFamily(PostgresMetrics.queued, .gauge, [queue], "Callers that wait for a connection now"),
            MetricFamily(PostgresMetrics.busyConnections, .gauge, [queue], "Connections in use now"),
            MetricFamily(PostgresMetrics.connections, .gauge, [lane], "Open connections"),
            MetricFamily(
                PostgresMetrics.refusals,
                .observedCounter,
                [lane, .init("reason", PostgresMetrics.refusalReasons, "the reason")],
                "Callers refused because the queue was full or no connection became free in time"
            ),
            MetricFamily(
                PostgresMetrics.lostConnections,
                .observedCounter,
                [lane],
                "Lost connections"
            ),
            MetricFamily(PostgresMetrics.writesRefused, .gauge, "1 while the database refuses writes, else 0"),
            MetricFamily(
                ReplicaMetrics.reads,
                .counter,
                [.init("server", Replica.Server.self, "the server that answered")],
                "Reads for `database.replica_url`: `primary` counts those that the replica could not answer"
            ),
            MetricFamily(
                ReplicaMetrics.currentUntil,
                .gauge,
                shown: .atFirstUse,
                "Time up to which the replica has every change, in seconds since 1970"
            ),
            MetricFamily(
                ReplicaMetrics.usable,
                .gauge,
                shown: .atFirstUse,
                "1 while the replica answers lists, 0 while it is away, promoted or older than `database.replica_staleness_max`"
            ),
            MetricFamily(
                ClockMetrics.reachable,
                .gauge,
                "1 if the database answered the last check, else 0; checked every 15 seconds"
            ),
            MetricFamily(
                ClockMetrics.difference,
                .gauge,
                "This server's clock minus PostgreSQL's, in seconds, updated every 15 seconds"
            ),
        ]
    }()

    private static let passwords: [MetricFamily] = [
        MetricFamily(PasswordHasherMetrics.queued, .gauge, "Passwords that wait for a thread now"),
        MetricFamily(PasswordHasherMetrics.busy, .gauge, "Passwords being hashed now"),
        MetricFamily(
            PasswordHasherMetrics.waitSeconds,
            .histogram(bounds: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]),
            "Time that passwords waited for a thread"
        ),
        MetricFamily(
            PasswordHasherMetrics.refusals,
            .counter,
            [
                .init(
                    "reason",
                    HashQueue.Refusal.self,
                    "the queue was full, or another network had fewer passwords waiting"
                )
            ],
            "Passwords refused because too many were waiting"
        ),
    ]

    private static let upkeep: [MetricFamily] = [
        MetricFamily(
            UpkeepMetrics.purged,
            .gauge,
            shown: .atFirstUse,
            "Start of the last purge that deleted every expired row, in seconds since 1970; at first the server's start. Only the server that purges updates it"
        ),
        MetricFamily(
            PurgeMetrics.rows,
            .counter,
            [.init("kind", Purge.Work.allCases.map(\.name), "the kind of row")],
            shown: .atFirstUse,
            "Rows deleted by the purge; for `conflict_counts` and `session_days` rows changed"
        ),
        MetricFamily(
            PurgeMetrics.failures,
            .counter,
            [.init("kind", Purge.Work.allCases.map(\.name), "the kind of row")],
            shown: .atFirstUse,
            "Purges of one kind of row that failed; the next run tries again"
        ),
        MetricFamily(
            PurgeMetrics.backlog,
            .gauge,
            [.init("kind", AccountStore.Purgeable.allCases.map(\.rawValue), "the kind of row")],
            shown: .atFirstUse,
            "Time that the oldest expired row has waited for its deletion, in seconds; 0 if none is left, or if another server purges"
        ),
        MetricFamily(
            UpkeepMetrics.signingKeyStart,
            .gauge,
            [.init("purpose", SigningKeyRecord.Purpose.self, "the tokens that it signs")],
            shown: .atFirstUse,
            "Time at which the signing key began to sign, in seconds since 1970"
        ),
        MetricFamily(
            UpkeepMetrics.certificateExpiry,
            .gauge,
            shown: .atFirstUse,
            "Expiry of the TLS certificate of the public listener, in seconds since 1970; absent without TLS"
        ),
    ]

    private static let telemetry: [MetricFamily] = [
        MetricFamily(
            Telemetry.dropped,
            .observedCounter,
            [.init("reason", Telemetry.Reason.self, "the queue was full, or the collector did not accept them")],
            shown: .atFirstUse,
            "Spans that were not exported"
        )
    ]

    private static let process: [MetricFamily] = [
        MetricFamily(
            LogMetrics.dropped,
            .observedCounter,
            [
                .init(
                    "reason",
                    LogWriter.DropReason.self,
                    "the reader of the log was too slow, or the write failed"
                )
            ],
            "Log lines that were dropped"
        ),
        MetricFamily(
            BuildMetric.name,
            .gauge,
            BuildMetric.current.labels.map { .init($0.name, [$0.value], $0.summary) },
            "1; the labels name the running program"
        ),
        MetricFamily(ProcessReadings.residentBytes, .gauge, "Memory in use, in bytes"),
        MetricFamily(ProcessReadings.cpuSeconds, .observedCounter, "Processor time used, in seconds"),
        MetricFamily(ProcessReadings.openFiles, .gauge, "Open file descriptors"),
        MetricFamily(ProcessReadings.openFilesMax, .gauge, "Maximum number of open file descriptors"),
        MetricFamily(ProcessReadings.startTime, .gauge, "Start time of the process, in seconds since 1970"),
    ]

    /// The table in `docs/reference/metrics.md`.
    static var markdown: String {
        let rows = families(nil).map { family in
            let labels = family.labels.map { label in
                // The values of the build change with each version.
                let isLong = label.values.count > 6 || family.name == BuildMetric.name
                let values = isLong ? "" : ": " + label.values.map { "`\($0)`" }.joined(separator: ", ")
                return "`\(label.name)`, \(label.summary)\(values)"
            }
            let series = "\(family.appearance == .atStart ? "" : "up to ")\(family.seriesCount)"
            return "| `\(family.name)` | \(family.kind.name) | \(labels.joined(separator: "; ")) | \(series) "
                + "| \(family.help) |"
        }
        return (["| Metric | Type | Labels | Series | Meaning |", "|---|---|---|---|---|"] + rows)
            .joined(separator: "\n")
    }
}
