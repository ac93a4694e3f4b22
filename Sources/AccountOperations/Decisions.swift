package import AccountLinking
import AccountStore
package import JSON
import Postgres

/// The name of a decision: what a client is told, and what an operator asks for. A UUID (RFC 9562).
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
        // Hyphens stand where they belong.
        guard self.text == text.lowercased() else { return nil }
    }

    /// Thirty-two hexadecimal digits in five groups.
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

/// A decision that was kept, for operators.
package struct ExplainedDecision: Sendable {
    package let id: DecisionID
    package let user: UserID
    package let occurredAt: Timestamp
    package let kind: String
    package let rule: String
    package let policyVersion: Int64?
    /// Each question with its facts, answer and alternatives, as it is kept.
    package let questions: [JSONValue]
    /// The rules that the same questions meet under the policy in force; `nil` for a question that only another version
    /// knows.
    package let rulesToday: [Rule?]
}

/// What anybody who holds a decision's name may be told of it: what they could see when it was taken.
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
    /// Everything about a decision; `nil` when there is none of that name. One round trip.
    package func decision(_ id: DecisionID) async throws -> ExplainedDecision? {
        try await store.event(id.event).map { ExplainedDecision($0, today: policy) }
    }

    /// What may be told to anybody; `nil` when there is no decision of that name. One round trip.
    package func decisionSummary(_ id: DecisionID) async throws -> DecisionSummary? {
        try await store.event(id.event).map(DecisionSummary.init)
    }

    /// What was decided about an account, the newest first, at most `countMax`; with `before`, what is older than that.
    /// Also of an account that is gone. One round trip.
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
            rulesToday: event.decisions.map { stored in
                DecisionRecord(stored: stored, policyVersion: event.policyVersion ?? 0)?.question.rule(policy)
            }
        )
    }
}

extension DecisionSummary {
    fileprivate init(_ event: StoredEvent) {
        id = DecisionID(event.id)
        occurredAt = event.occurredAt
        switch AccountEvent.Kind(rawValue: event.kind) {
        case .userCreated, .signedIn, .methodLinked, .accountTakenOver, .conflictResolved: outcome = .signedIn
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
