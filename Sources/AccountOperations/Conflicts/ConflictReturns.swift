import AccountLinking
import AccountStore
import JSON

/// The way back to the app, as the holder of the handle sees it.
package struct ConflictReturnView: Sendable {
    /// The app's page, with the outcome.
    package let url: String
    /// True if the session that resolved the conflict gets a code for the app.
    package let givesCode: Bool
}

extension AccountOperations {
    /// Stores the page to return to, in place of an earlier one. Any holder of the handle may do it while the conflict
    /// is live: the page is one that the project authorizes, and only a visit to it delivers a code.
    package func setReturn(
        _ destination: AppReturn,
        of handle: String,
        _ request: ChangeRequest<ConflictReturnView>
    ) async throws -> ConflictReturnView {
        guard authorizes(destination.url) else { throw Denial.unauthorizedDomain }
        let (tenant, now) = (request.tenant, effects.now())
        return try await changeConflict(handle, request) { loaded in
            if let refusal = refusalOfConflict(loaded.conflict.facts, handleTenant: tenant, now: now) {
                throw refused(refusal)
            }
            let record = ConflictReturnRecord(
                of: loaded.conflict,
                continueURL: destination.url.text,
                state: destination.state,
                codeChallenge: destination.codeChallenge
            )
            guard let view = view(of: record, from: loaded.conflict, at: now) else { throw Denial.unauthorizedDomain }
            let kept = try storeAnswer(view, to: request.idempotent, of: record.user, tenant: tenant, at: now)
            try await store.put(record, sideWrites: kept).requireApplied()
            return view
        }
    }

    /// The way back of a conflict; `nil` if the app sent none, or the project no longer authorizes its page. One round
    /// trip.
    func conflictReturn(of conflict: ConflictRecord, at now: Timestamp) async throws -> ConflictReturnView? {
        try await store.conflictReturn(of: conflict).flatMap { view(of: $0, from: conflict, at: now) }
    }

    /// Issues a code that hands the session of an ID token over to the app. That session must be the one that resolved
    /// the conflict. The code replaces an earlier one.
    /// - Returns: the app's page with the code.
    package func issueSessionCode(
        _ handle: String,
        idToken: String,
        _ request: ChangeRequest<ConflictReturnView>
    ) async throws -> ConflictReturnView {
        let session = try await authenticate(idToken: idToken, tenant: request.tenant)
        let now = effects.now()
        let code = Base64URL.encode(effects.randomBytes(32))
        return try await changeConflict(handle, request) { loaded in
            let found = try await store.conflictReturn(of: loaded.conflict)
            let offered = found.flatMap { record in
                let isResolver =
                    record.session != nil && record.session == session.token.session
                    && record.user == session.user.id
                return isResolver && record.codeChallenge != nil ? record : nil
            }
            let verdict = decideIssueSessionCode(
                isOffered: offered != nil,
                isUsed: offered?.givenSession != nil,
                isPageAuthorized: isPageAuthorized(offered?.continueURL)
            )
            if let refusal = verdict.decision { throw refused(.sessionCode(refusal), by: verdict.rule) }
            guard let offered, let url = address(of: offered, from: loaded.conflict, at: now, code: code) else {
                throw UnexpectedDecision(verdict.rule)
            }
            let view = ConflictReturnView(url: url, givesCode: true)
            try await store.issueSessionCode(
                ConflictProofSecrets.hash(of: code),
                until: now.adding(seconds: Lifetimes.sessionCodeSeconds),
                for: offered,
                sideWrites: storeAnswer(
                    view,
                    to: request.idempotent,
                    of: offered.user,
                    tenant: request.tenant,
                    at: now
                )
            ).requireApplied()
            return view
        }
    }

    private func view(
        of record: ConflictReturnRecord,
        from conflict: ConflictRecord,
        at now: Timestamp
    ) -> ConflictReturnView? {
        guard let url = address(of: record, from: conflict, at: now) else { return nil }
        let givesCode = record.codeChallenge != nil && record.session != nil && record.givenSession == nil
        return ConflictReturnView(url: url, givesCode: givesCode)
    }

    /// The app's page with the outcome; `nil` if the project does not authorize it.
    private func address(
        of record: ConflictReturnRecord,
        from conflict: ConflictRecord,
        at now: Timestamp,
        code: String? = nil
    ) -> String? {
        guard isPageAuthorized(record.continueURL) else { return nil }
        var parameters = [(name: "concordConflict", value: conflict.facts.shownState(at: now).outcome)]
        if let state = record.state { parameters.append(("state", state)) }
        if let code { parameters.append(("concordCode", code)) }
        return redirection(to: record.continueURL, adding: parameters)
    }
}

extension ConflictFacts.ShownState {
    /// The outcome for an app. A proof that is not used yet is none of its business.
    fileprivate var outcome: String {
        switch self {
        case .open, .proven: "open"
        case .resolved: "resolved"
        case .declined: "declined"
        case .superseded: "superseded"
        case .expired: "expired"
        }
    }
}
