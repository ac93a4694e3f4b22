package import AccountLinking
package import AccountStore
package import Metrics

/// Metrics of the operations. Handles are made once; counting is a lookup and an addition.
package struct OperationMetrics: AccountStoreObserver {
    private let decisions: [Rule: Counter]
    private let conflicts: [ConflictSeries: Counter]
    private let secondsToResolve: [MethodClass: Timer]
    private let webhookAttempts: [WebhookResult: Counter]
    private let messageAttempts: [MessageSeries: Counter]
    private let limitedRows: [LimitedSeries: Counter]

    package static let decisions = "concord_decisions_total"
    package static let conflicts = "concord_conflicts_total"
    package static let resolutionSeconds = "concord_conflict_resolution_seconds"

    package static let webhookAttempts = "concord_webhook_attempts_total"
    package static let messageAttempts = "concord_outbox_attempts_total"
    package static let limitedRows = "concord_limited_total"

    /// Result of one attempt to send a webhook.
    package enum WebhookResult: String, Sendable, CaseIterable {
        case delivered
        case failed
        case givenUp = "given-up"
    }

    /// Result of one attempt to send a message of the outbox.
    package enum MessageResult: String, Sendable, CaseIterable {
        case delivered
        /// The message is retried.
        case failed
        case givenUp = "given-up"
        case expired
        /// The receiver accepts no messages now. This does not count as an attempt of the message.
        case unavailable
    }

    private struct MessageSeries: Hashable {
        let kind: OutboxMessage.Kind
        let result: MessageResult
    }

    private struct LimitedSeries: Hashable {
        let row: LimitedResource
        let scope: MessageLimit.Scope
    }

    package enum ConflictStep: String, Sendable, CaseIterable {
        case opened
        case proven
        case resolved
        case declined
        case superseded
        /// It expired while it was open or proven.
        case abandoned
    }

    private struct ConflictSeries: Hashable {
        let step: ConflictStep
        let provider: MethodClass
        let account: MethodClass
    }

    package init(_ factory: any MetricsFactory = NOOPMetricsHandler.instance) {
        decisions = Dictionary(
            uniqueKeysWithValues: Rule.allCases.map { rule in
                (rule, Counter(label: Self.decisions, dimensions: [("rule", rule.rawValue)], factory: factory))
            }
        )
        var conflicts: [ConflictSeries: Counter] = [:]
        for step in ConflictStep.allCases {
            for provider in MethodClass.providers {
                for account in MethodClass.allCases {
                    conflicts[ConflictSeries(step: step, provider: provider, account: account)] = Counter(
                        label: Self.conflicts,
                        dimensions: [
                            ("step", step.rawValue), ("provider", provider.rawValue), ("account", account.rawValue),
                        ],
                        factory: factory
                    )
                }
            }
        }
        self.conflicts = conflicts
        webhookAttempts = Dictionary(
            uniqueKeysWithValues: WebhookResult.allCases.map { result in
                let dimensions = [("result", result.rawValue)]
                return (result, Counter(label: Self.webhookAttempts, dimensions: dimensions, factory: factory))
            }
        )
        var messageAttempts: [MessageSeries: Counter] = [:]
        for kind in OutboxMessage.Kind.allCases {
            for result in MessageResult.allCases {
                messageAttempts[MessageSeries(kind: kind, result: result)] = Counter(
                    label: Self.messageAttempts,
                    dimensions: [("kind", kind.rawValue), ("result", result.rawValue)],
                    factory: factory
                )
            }
        }
        self.messageAttempts = messageAttempts
        var limitedRows: [LimitedSeries: Counter] = [:]
        for row in LimitedResource.allCases {
            for scope in Self.limitScopes {
                limitedRows[LimitedSeries(row: row, scope: scope)] = Counter(
                    label: Self.limitedRows,
                    dimensions: [("row", row.rawValue), ("scope", scope.rawValue)],
                    factory: factory
                )
            }
        }
        self.limitedRows = limitedRows
        secondsToResolve = Dictionary(
            uniqueKeysWithValues: MethodClass.providers.map { provider in
                let dimensions = [("provider", provider.rawValue)]
                return (provider, Timer(label: Self.resolutionSeconds, dimensions: dimensions, factory: factory))
            }
        )
    }

    /// Scopes of limits on rows that unauthenticated callers create.
    package static let limitScopes: [MessageLimit.Scope] = [.address, .project]

    func limited(_ row: LimitedResource, by scope: MessageLimit.Scope) {
        limitedRows[LimitedSeries(row: row, scope: scope)]?.increment()
    }

    func decided(_ rule: Rule) {
        decisions[rule]?.increment()
    }

    func conflict(_ step: ConflictStep, of provider: ProviderID, with account: MethodClass) {
        conflicts[ConflictSeries(step: step, provider: MethodClass(provider), account: account)]?.increment()
    }

    func conflictEnded(_ conflict: EndedConflict) {
        let step: ConflictStep =
            switch conflict.state {
            case .open, .proven: .abandoned
            case .resolved: .resolved
            case .declined: .declined
            case .superseded: .superseded
            }
        self.conflict(step, of: conflict.provider, with: conflict.accountMethod)
        guard step == .resolved else { return }
        let microseconds = conflict.endedAt.microsecondsSinceEpoch - conflict.openedAt.microsecondsSinceEpoch
        secondsToResolve[MethodClass(conflict.provider)]?.recordMicroseconds(max(0, microseconds))
    }

    func webhookAttempted(_ attempt: WebhookAttempt) {
        let result: WebhookResult =
            switch attempt {
            case .delivered, .vetoed: .delivered
            case .retry: .failed
            case .givenUp: .givenUp
            }
        webhookAttempts[result]?.increment()
    }

    func messageAttempted(_ kind: OutboxMessage.Kind, _ result: MessageResult) {
        messageAttempts[MessageSeries(kind: kind, result: result)]?.increment()
    }

    // MARK: AccountStoreObserver

    package func applied(_ event: AccountEvent) {
        decided(event.rule)
    }
}
