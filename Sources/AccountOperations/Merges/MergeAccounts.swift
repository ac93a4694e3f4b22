package import AccountLinking
import AccountStore

/// Who asks to make two accounts one, as it was sent.
package enum MergeCaller: Sendable {
    /// - `reason`: 1 to 500 characters.
    case administrator(survivor: UserID, absorbed: UserID, reason: String)
    /// An ID token of each account; that of the one that goes may have been left out.
    case owners(survivor: String, absorbed: String?)
}

extension AccountOperations {
    /// What merging would come to. Writes nothing.
    package func previewMerge(
        by caller: MergeCaller,
        choices: [MergeField: MergeSide],
        tenant: TenantID
    ) async throws -> MergePreview {
        let request = try await mergeRequest(by: caller, choices, tenant: tenant)
        return try await merges.preview(request, tenant: tenant)
    }

    /// Prepares a merge, and does it where there is nobody to ask.
    ///
    /// `idempotent`: where the caller may repeat the request.
    /// - Throws: `Contention`, or what the database could not do. What was prepared by then goes on by itself.
    package func mergeAccounts(
        by caller: MergeCaller,
        choices: [MergeField: MergeSide],
        tenant: TenantID,
        idempotent: IdempotentRequest<Merge>? = nil
    ) async throws -> Merge {
        let now = effects.now()
        /// What is said where the request was applied before. An owner's answer is kept with the account that stays.
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

    /// A merge, for an administrator or whoever has a session of the account that stays or goes.
    ///
    /// `idToken`: `nil` for an administrator. To anybody else's session there is no such merge.
    package func merge(_ id: String, idToken: String?, tenant: TenantID) async throws -> Merge {
        guard let idToken else { return try await merges.merge(id, tenant: tenant) }
        let user = try await authenticate(idToken: idToken, tenant: tenant).user.id
        let merge = try await merges.merge(id, tenant: tenant)
        guard [merge.survivor, merge.absorbed].contains(user) else { throw Denial.merge(.unknown) }
        return merge
    }

    /// The merge by which the account of a session, which ended with it, went into `survivor`. Told to whoever has a session
    /// of `survivor` and once had that one: what they ask for is done.
    private func mergeDone(ofSession idToken: String, into survivor: UserID, tenant: TenantID) async throws -> Merge? {
        guard let token = try? tokens.verifyIDToken(idToken, at: effects.now()), token.tenant == tenant else {
            return nil
        }
        return try await merges.merges(of: token.user, tenant: tenant).merges
            .first { $0.absorbed == token.user && $0.survivor == survivor && $0.state == .committed }
    }

    /// - `storedAnswer`: what is said to the owner of the account that stays, where the session of the other has ended since.
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
            // A session that is too old is told how to become recent, like everywhere.
            for session in sessions {
                guard let challenge = challenge(session, for: .mergeAccounts, now: now) else { continue }
                throw refused(.reauthenticationRequired(challenge), by: .mergeNeedsRecentSignIn)
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
