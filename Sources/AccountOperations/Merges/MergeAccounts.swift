package import AccountLinking

/// The caller of a merge, as sent.
package enum MergeCaller: Sendable {
    /// - `reason`: 1 to 500 characters.
    case administrator(survivor: UserID, absorbed: UserID, reason: String)
    /// An ID token of each account. The one of the absorbed account may be missing.
    case owners(survivor: String, absorbed: String?)
}

extension AccountOperations {
    /// Returns the result of a merge without writing it.
    package func previewMerge(
        by caller: MergeCaller,
        choices: [MergeField: MergeSide],
        tenant: TenantID
    ) async throws -> MergePreview {
        let request = try await mergeRequest(by: caller, choices, tenant: tenant)
        return try await merges.preview(request, tenant: tenant)
    }

    /// Prepares a merge, and commits it at once if no webhook receiver has to agree.
    ///
    /// - `idempotent`: set if the caller may repeat the request.
    /// - Throws: `Contention`, or the database's error. A prepared merge continues in the background.
    package func mergeAccounts(
        by caller: MergeCaller,
        choices: [MergeField: MergeSide],
        tenant: TenantID,
        idempotent: IdempotentRequest<Merge>? = nil
    ) async throws -> Merge {
        let now = effects.now()
        /// The answer of an earlier attempt. An owner's answer is stored with the survivor.
        func storedAnswer(_ keeper: UserID?) async throws -> Denial? {
            try await self.storedAnswer(to: idempotent, of: keeper, tenant: tenant, at: now)
        }
        let request = try await mergeRequest(by: caller, choices, tenant: tenant, unless: storedAnswer)
        let keeper: UserID? = request.requester == .administrator ? nil : request.survivor
        var reason: String?
        if case .administrator(_, _, let given) = caller { reason = given }
        return try await merges.begin(
            request,
            reason: reason,
            tenant: tenant,
            unless: { try await storedAnswer(keeper) },
            keeping: { try storeAnswer($0, to: idempotent, of: keeper, tenant: tenant, at: now) }
        )
    }

    /// Returns a merge to an administrator, or to a session of the survivor or the absorbed account.
    ///
    /// - `idToken`: `nil` for an administrator. For other sessions the merge does not exist.
    package func merge(_ id: String, idToken: String?, tenant: TenantID) async throws -> Merge {
        guard let idToken else { return try await merges.merge(id, tenant: tenant) }
        let user = try await authenticate(idToken: idToken, tenant: tenant).user.id
        let merge = try await merges.merge(id, tenant: tenant)
        guard [merge.survivor, merge.absorbed].contains(user) else { throw Denial.merge(.unknown) }
        return merge
    }

    /// The committed merge that ended the session `idToken` and absorbed its account into `survivor`. For callers with
    /// sessions of both: their request is done.
    private func mergeDone(ofSession idToken: String, into survivor: UserID, tenant: TenantID) async throws -> Merge? {
        guard let token = try? tokens.verifyIDToken(idToken, at: effects.now()), token.tenant == tenant else {
            return nil
        }
        return try await merges.merges(of: token.user, tenant: tenant).merges
            .first { $0.absorbed == token.user && $0.survivor == survivor && $0.state == .committed }
    }

    /// - `storedAnswer`: the answer to the survivor's owner, if the other session has ended since.
    private func mergeRequest(
        by caller: MergeCaller,
        _ choices: [MergeField: MergeSide],
        tenant: TenantID,
        unless storedAnswer: (UserID?) async throws -> Denial? = { _ in nil }
    ) async throws -> MergeRequest {
        switch caller {
        case .administrator(let survivor, let absorbed, _):
            let request = MergeRequest(
                survivor: survivor,
                absorbed: absorbed,
                choices: choices,
                requester: .administrator
            )
            return request
        case .owners(let ofSurvivor, let ofAbsorbed):
            var sessions: [AuthenticatedSession] = []
            for token in [ofSurvivor, ofAbsorbed] {
                guard let token else { throw Denial.merge(.absorbedSessionMissing) }
                do {
                    sessions.append(try await authenticate(idToken: token, tenant: tenant))
                } catch let denial as Denial {
                    guard let survivor = sessions.first?.user.id,
                        let merge = try await mergeDone(ofSession: token, into: survivor, tenant: tenant)
                    else { throw denial }
                    throw Denial.merge(.alreadyMerged(merge))
                }
                if sessions.count == 1, let denial = try await storedAnswer(sessions[0].user.id) {
                    throw denial
                }
            }
            let now = effects.now()
            // An old session gets the ways to sign in again, as on other routes.
            for session in sessions {
                guard let challenge = challenge(session, for: .mergeAccounts, now: now),
                    let refusal = refusalOfMerge(isSessionRecent: false)
                else { continue }
                throw refused(.reauthenticationRequired(challenge), by: refusal.rule)
            }
            func shown(_ session: AuthenticatedSession) -> MergeRequester.OwnerSession {
                MergeRequester.OwnerSession(
                    isRecent: session.isRecent(for: .mergeAccounts, policy: policy, now: now),
                    hasSecondFactor: session.token.secondFactor != nil,
                    sessionEpoch: session.token.sessionEpoch
                )
            }
            let request = MergeRequest(
                survivor: sessions[0].user.id,
                absorbed: sessions[1].user.id,
                choices: choices,
                requester: .owners(shown(sessions[0]), shown(sessions[1]))
            )
            return request
        }
    }
}
