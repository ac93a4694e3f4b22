package import AccountLinking
package import AccountStore
package import Metrics

/// Metrics of the operations. Handles are made once; counting is a lookup and an addition.
package struct OperationMetrics: AccountStoreObserver {
    private let decisions: [Rule: Counter]
    private let signIns: [SignInSeries: Counter]
    private let conflicts: [ConflictSeries: Counter]
    private let secondsToResolve: [MethodClass: Timer]
    private let webhookAttempts: [WebhookResult: Counter]
    private let messageAttempts: [MessageSeries: Counter]
    private let limitedRows: [LimitedSeries: Counter]

    package static let decisions = "concord_decisions_total"
    package static let signIns = "concord_sign_ins_total"
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

    /// The first factor of a sign-in, without names that operators choose.
    package struct SignInMethod: Sendable, Hashable {
        package let rawValue: String

        package static let password = Self(rawValue: "password")
        package static let emailLink = Self(rawValue: "email_link")
        package static let phone = Self(rawValue: "phone")
        package static let custom = Self(rawValue: "custom")
        package static let anonymous = Self(rawValue: "anonymous")
        /// A provider whose answer names none that Concord knows.
        package static let other = Self(rawValue: MethodClass.other.rawValue)

        package static let allCases =
            [password, emailLink, phone, custom, anonymous]
            + MethodClass.providers.map { Self(rawValue: $0.rawValue) }

        private init(rawValue: String) {
            self.rawValue = rawValue
        }

        package init(_ provider: ProviderID) {
            self.init(rawValue: MethodClass(provider).rawValue)
        }
    }

    /// Result of a sign-in.
    package enum SignInResult: String, Sendable, CaseIterable {
        case success
        case newAccount = "new_account"
        /// The credential waits for the owner of an account.
        case conflict
        case needsSecondFactor = "needs_second_factor"
        case refused
    }

    private struct SignInSeries: Hashable {
        let method: SignInMethod
        let result: SignInResult
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
        func counters<Series: Hashable>(
            _ label: String,
            of series: [Series],
            _ dimensions: (Series) -> [(String, String)]
        ) -> [Series: Counter] {
            Dictionary(
                uniqueKeysWithValues: series.map {
                    ($0, Counter(label: label, dimensions: dimensions($0), factory: factory))
                }
            )
        }
        decisions = counters(Self.decisions, of: Rule.allCases) { [("rule", $0.rawValue)] }
        let signInSeries = SignInMethod.allCases.flatMap { method in
            SignInResult.allCases.map { SignInSeries(method: method, result: $0) }
        }
        signIns = counters(Self.signIns, of: signInSeries) {
            [("method", $0.method.rawValue), ("result", $0.result.rawValue)]
        }
        let conflictSeries = ConflictStep.allCases.flatMap { step in
            MethodClass.providers.flatMap { provider in
                MethodClass.allCases.map { ConflictSeries(step: step, provider: provider, account: $0) }
            }
        }
        conflicts = counters(Self.conflicts, of: conflictSeries) {
            [("step", $0.step.rawValue), ("provider", $0.provider.rawValue), ("account", $0.account.rawValue)]
        }
        webhookAttempts = counters(Self.webhookAttempts, of: WebhookResult.allCases) { [("result", $0.rawValue)] }
        let messageSeries = OutboxMessage.Kind.allCases.flatMap { kind in
            MessageResult.allCases.map { MessageSeries(kind: kind, result: $0) }
        }
        messageAttempts = counters(Self.messageAttempts, of: messageSeries) {
            [("kind", $0.kind.rawValue), ("result", $0.result.rawValue)]
        }
        let limitedSeries = LimitedResource.allCases.flatMap { row in
            Self.limitScopes.map { LimitedSeries(row: row, scope: $0) }
        }
        limitedRows = counters(Self.limitedRows, of: limitedSeries) {
            [("row", $0.row.rawValue), ("scope", $0.scope.rawValue)]
        }
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

    func signedIn(by method: SignInMethod, _ result: SignInResult) {
        signIns[SignInSeries(method: method, result: result)]?.increment()
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
