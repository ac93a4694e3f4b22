import AccountAPI
import AccountLinking
import AccountOperations
import AccountStore
import Postgres
import PrometheusMetrics

/// Everything that is measured; what the registry and `docs/reference/metrics.md` are made of.
enum MetricsTable {
    /// In the order in which they are shown.
    ///
    /// `development`: the routes that only development has, where they are served.
    static func families(_ development: DevelopmentRoutes?) -> [MetricFamily] {
        http(development) + accounts + database + passwords + process
        // The next one goes here.
    }

    private static func http(_ development: DevelopmentRoutes?) -> [MetricFamily] {
        let route = MetricFamily.Label(
            "route",
            HTTPMetrics.routes(development),
            "method and path pattern of the route; `OPTIONS`, `unimplemented`, `unmatched`"
        )
        let listener = MetricFamily.Label(
            "listener",
            ListenerMetrics.Name.allCases.map(\.rawValue),
            "where they are accepted"
        )
        let status = MetricFamily.Label("status", HTTPMetrics.statusClasses, "class of the answer's status")
        return [
            MetricFamily(HTTPMetrics.requests, .counter, [route, status], "Requests that were answered"),
            MetricFamily(
                HTTPMetrics.seconds,
                .histogram(bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]),
                [route],
                "From a request's last byte to its answer"
            ),
            MetricFamily(ListenerMetrics.open, .gauge, [listener], "Connections of clients that are open now"),
            MetricFamily(
                ListenerMetrics.shortages,
                .counter,
                [
                    listener,
                    MetricFamily.Label(
                        "reason",
                        ListenerMetrics.Reason.allCases.map(\.rawValue),
                        "what there were too few of"
                    ),
                ],
                "Times in which newcomers had to wait for a place"
            ),
        ]
    }

    private static let accounts: [MetricFamily] = {
        let provider = MetricFamily.Label(
            "provider",
            MethodClass.providers.map(\.rawValue),
            "the provider the conflict's credential is of; `oidc`, `saml`, `other`"
        )
        return [
            MetricFamily(
                OperationMetrics.decisions,
                .counter,
                [
                    MetricFamily.Label(
                        "rule",
                        Rule.allCases.map(\.rawValue),
                        "a row of [decisions.md](decisions.md)"
                    )
                ],
                "Decisions that took effect, and those that refused"
            ),
            MetricFamily(
                OperationMetrics.conflicts,
                .counter,
                [
                    MetricFamily.Label(
                        "step",
                        OperationMetrics.ConflictStep.allCases.map(\.rawValue),
                        "what became of the conflict"
                    ),
                    provider,
                    MetricFamily.Label(
                        "account",
                        MethodClass.allCases.map(\.rawValue),
                        "how the account could be signed in to when the conflict was opened"
                    ),
                ],
                "Conflicts by what became of them; how one ended is counted within `purge.interval`"
            ),
            MetricFamily(
                OperationMetrics.resolutionSeconds,
                .histogram(bounds: [10, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400]),
                [provider],
                "From when a conflict was opened until it was resolved"
            ),
            MetricFamily(
                OutboxMetrics.waiting,
                .gauge,
                [
                    MetricFamily.Label(
                        "kind",
                        OutboxMetrics.kinds,
                        "what the message is"
                    )
                ],
                "Messages that wait to be sent, up to \(OutboxMetrics.countMax), as of the last quarter of a minute"
            ),
            MetricFamily(
                OutboxMetrics.oldest,
                .gauge,
                [
                    MetricFamily.Label(
                        "kind",
                        OutboxMessage.Kind.allCases.map(\.rawValue),
                        "what the message is"
                    )
                ],
                "How long the oldest of them has waited, in seconds; 0 where none waits"
            ),
            MetricFamily(
                OperationMetrics.limitedRows,
                .counter,
                [
                    MetricFamily.Label("row", LimitedRow.allCases.map(\.rawValue), "what was to be made"),
                    MetricFamily.Label(
                        "scope",
                        OperationMetrics.limitScopes.map(\.rawValue),
                        "whose limit was reached"
                    ),
                ],
                "Requests refused because a limit of `concord.signUps`, `concord.providerFlows` or `concord.conflicts` was reached"
            ),
            MetricFamily(
                OperationMetrics.messageAttempts,
                .counter,
                [
                    MetricFamily.Label("kind", OutboxMessage.Kind.allCases.map(\.rawValue), "what the message is"),
                    MetricFamily.Label(
                        "result",
                        OperationMetrics.MessageResult.allCases.map(\.rawValue),
                        "what came of it"
                    ),
                ],
                "Messages taken from the outbox, each attempt by itself"
            ),
            MetricFamily(
                OperationMetrics.webhookAttempts,
                .counter,
                [
                    MetricFamily.Label(
                        "result",
                        OperationMetrics.WebhookResult.allCases.map(\.rawValue),
                        "what came of it"
                    )
                ],
                "Webhooks sent, each attempt by itself"
            ),
        ]
    }()

    private static let database: [MetricFamily] = {
        let lane = MetricFamily.Label("queue", PostgresMetrics.lanes, "what the connections are for")
        let queue = MetricFamily.Label("queue", PostgresMetrics.queues, "what a connection is waited for")
        let bounds = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
        return [
            MetricFamily(
                PostgresMetrics.callSeconds,
                .histogram(bounds: bounds),
                [
                    MetricFamily.Label(
                        "call",
                        AccountStore.callNames + [PostgresMetrics.otherCall],
                        "the transaction, or the first table that is read"
                    )
                ],
                "From asking for a statement or transaction to its answer, the wait for a connection included"
            ),
            MetricFamily(
                PostgresMetrics.queueWaitSeconds,
                .histogram(bounds: bounds),
                [queue],
                "How long was waited for a connection"
            ),
            MetricFamily(PostgresMetrics.queued, .gauge, [queue], "What waits for a connection now"),
            MetricFamily(PostgresMetrics.busyConnections, .gauge, [queue], "Connections in use now"),
            MetricFamily(PostgresMetrics.connections, .gauge, [lane], "Connections that stand now"),
            MetricFamily(
                PostgresMetrics.refusals,
                .keptCounter,
                [lane, MetricFamily.Label("reason", PostgresMetrics.refusalReasons, "why")],
                "What was refused because the queue was full, or no connection became free in time"
            ),
            MetricFamily(
                PostgresMetrics.lostConnections,
                .keptCounter,
                [lane],
                "Connections that broke"
            ),
            MetricFamily(PostgresMetrics.writesRefused, .gauge, "1 while the database refuses writes, else 0"),
            MetricFamily(
                ClockWatch.difference,
                .gauge,
                "This server's clock minus PostgreSQL's, in seconds, as of the last quarter of a minute"
            ),
        ]
    }()

    private static let passwords: [MetricFamily] = [
        MetricFamily(PasswordHasherMetrics.queued, .gauge, "Passwords that wait for a thread now"),
        MetricFamily(PasswordHasherMetrics.busy, .gauge, "Passwords that are hashed now"),
        MetricFamily(
            PasswordHasherMetrics.waitSeconds,
            .histogram(bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]),
            "How long passwords waited for a thread"
        ),
        MetricFamily(
            PasswordHasherMetrics.refusals,
            .counter,
            [
                MetricFamily.Label(
                    "reason",
                    HashQueue.Refusal.allCases.map(\.rawValue),
                    "no place was free, or another network had fewer that waited"
                )
            ],
            "Passwords refused because too many waited"
        ),
    ]

    private static let process: [MetricFamily] = [
        MetricFamily(ProcessReadings.residentBytes, .gauge, "Memory in use, in bytes"),
        MetricFamily(ProcessReadings.cpuSeconds, .keptCounter, "Processor time used, in seconds"),
        MetricFamily(ProcessReadings.openFiles, .gauge, "Open file descriptors"),
        MetricFamily(ProcessReadings.openFilesMax, .gauge, "How many there may be"),
        MetricFamily(ProcessReadings.startTime, .gauge, "When the process started, in seconds since 1970"),
    ]

    /// The table in `docs/reference/metrics.md`.
    static var markdown: String {
        let rows = families(nil).map { family in
            let labels = family.labels.map { label in
                let values = label.values.count > 6 ? "" : ": " + label.values.map { "`\($0)`" }.joined(separator: ", ")
                return "`\(label.name)`, \(label.summary)\(values)"
            }
            let series = family.labels.reduce(1) { $0 * $1.values.count }
            return "| `\(family.name)` | \(family.kind.name) | \(labels.joined(separator: "; ")) | \(series) "
                + "| \(family.help) |"
        }
        return (["| Metric | Type | Labels | Series | Meaning |", "|---|---|---|---|---|"] + rows)
            .joined(separator: "\n")
    }
}
