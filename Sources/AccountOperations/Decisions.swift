package import AccountLinking
import AccountStore
package import JSON
import Postgres

/// The name of a decision, for clients and operators. A UUID (RFC 9562).
package struct DecisionID: Sendable, Hashable {
    let event: AccountEvent.ID

    init(_ event: AccountEvent.ID) {
        self.event = event
    }

    /// `nil` for text that is no UUID.
    package init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard text.utf8.count == 36, digits.count == 32, let bytes = Hexadecimal.decode(digits) else { return nil }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        event = AccountEvent.ID(high: word(bytes[..<8]), low: word(bytes[8...]))
        // Reject hyphens in other places.
        guard self.text == text.lowercased() else { return nil }
    }

    /// 32 hexadecimal digits in five groups.
    package var text: String {
        let bytes = [event.high, event.low].flatMap { word in (0..<8).map { UInt8(word >> (56 - 8 * $0) & 0xFF) } }
        let digits = Hexadecimal.encode(bytes)
        var groups: [Substring] = []
        var start = digits.startIndex
        for length in [8, 4, 4, 4, 12] {
            let end = digits.index(start, offsetBy: length)
            groups.append(digits[start..<end])
            start = end
        }
        return groups.joined(separator: "-")
    }
}

/// A stored decision, for operators.
package struct ExplainedDecision: Sendable {
    package let id: DecisionID
    package let user: UserID
    package let occurredAt: Timestamp
    package let kind: String
    package let rule: String
    package let policyVersion: Int64?
    /// Each stored question with its facts, answer and alternatives.
    package let questions: [JSONValue]
    /// True for an ordinary sign-in, whose facts were not stored.
    package let omitsFacts: Bool
    /// The provider and the kind of the second factor of a sign-in without facts; `nil` without one.
    package let provider: String?
    package let secondFactor: String?
    /// The rule that each question meets under the policy in force; `nil` for a question that only another version has.
    package let rulesToday: [Rule?]
}

/// The part of a decision that every holder of its name may see. The caller could see it when the decision was made.
package struct DecisionSummary: Sendable {
    package enum Outcome: String, Sendable, CaseIterable {
        case signedIn = "signed-in"
        case conflict
        case refused
        case changed
    }

    package let id: DecisionID
    package let occurredAt: Timestamp
    package let outcome: Outcome
}

extension AccountOperations {
    /// A decision in full; `nil` if there is none with this name. One round trip.
    package func decision(_ id: DecisionID) async throws -> ExplainedDecision? {
        try await store.event(id.event).map { ExplainedDecision($0, today: policy) }
    }

    /// The public summary of a decision; `nil` if there is none with this name. One round trip.
    package func decisionSummary(_ id: DecisionID) async throws -> DecisionSummary? {
        try await store.event(id.event).map(DecisionSummary.init)
    }

    /// Decisions about an account, newest first, at most `countMax`; with `before`, only older ones. Deleted accounts
    /// have decisions too. One round trip.
    package func decisions(
        about user: UserID,
        tenant: TenantID,
        before: DecisionID?,
        countMax: Int
    ) async throws -> [ExplainedDecision] {
        try await store.events(of: user, tenant: tenant, before: before?.event, countMax: countMax)
            .map { ExplainedDecision($0, today: policy) }
    }
}

extension ExplainedDecision {
    fileprivate init(_ event: StoredEvent, today policy: LinkPolicy) {
        self.init(
            id: DecisionID(event.id),
            user: event.user,
            occurredAt: event.occurredAt,
            kind: event.kind,
            rule: event.rule,
            policyVersion: event.policyVersion,
            questions: event.decisions,
            omitsFacts: event.omitsFacts,
            provider: event.omitsFacts ? event.details?["provider"]?.string : nil,
            secondFactor: event.omitsFacts ? event.details?["secondFactor"]?.string : nil,
            rulesToday: event.decisions.map { stored in
                // A proof of a conflict holds for the version of then.
                var policy = policy
                policy.version = event.policyVersion ?? 0
                return DecisionRecord(stored: stored, policyVersion: policy.version)?.question.rule(policy)
            }
        )
    }
}

extension DecisionSummary {
    fileprivate init(_ event: StoredEvent) {
        id = DecisionID(event.id)
        occurredAt = event.occurredAt
        switch AccountEvent.Kind(rawValue: event.kind) {
        case .userCreated, .signedIn, .methodLinked, .accountTakenOver, .conflictResolved, .sessionHandedOver:
            outcome = .signedIn
        case .conflictOpened, .conflictProofRequested, .conflictProofFailed, .conflictProven, .conflictDeclined:
            outcome = .conflict
        case .refused: outcome = .refused
        case .userImported, .userUpdated, .secondFactorsChanged, .methodRestored, .quarantineDiscarded,
            .sessionEnded, .sessionsRevoked, .userDeleted, .mergePrepared, .mergeAborted, .accountsMerged, .mergedAway,
            .mergeUndone,
            .accountRepaired, .repairUndone, nil:
            outcome = .changed
        }
    }
}
