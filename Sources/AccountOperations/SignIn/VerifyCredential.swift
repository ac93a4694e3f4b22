import AccountLinking
import AccountStore
import IdentityProviders

// The first step of a sign-in: the session and the credential of the request. A verified credential proves an identity.
// Accounts are loaded later.

/// A provider's credential that proved an identity, with its session.
struct PresentedIdp: Sendable {
    /// `nil` for a sign-in without a session.
    let caller: AuthenticatedSession?
    let credential: VerifiedCredential
    /// The conflict that holds the credential; `nil` if the provider has just issued it.
    var conflict: ConflictRecord?
    /// The handle of the pending sign-up that holds the credential; `nil` for other credentials.
    var signUp: String?
    /// The end of the conflict or sign-up that holds the credential. A conflict that is opened for it ends no later.
    var heldUntil: Timestamp?
    /// The end of the handle of a first sign-in that holds the credential. Another handle for it ends no later.
    var firstSignInEnd: Timestamp?

    var sourceConflict: FirstFactor.SourceConflict? {
        conflict.map { FirstFactor.SourceConflict(id: $0.id, user: $0.user) }
    }
}

extension AccountOperations {
    /// Authenticates the session, and verifies the credential or opens the one behind a handle.
    /// - Throws: `Denial`, `ProviderUnavailable`, or a failure of the database.
    func verify(_ request: SignInWithIdp, tenant: TenantID) async throws -> PresentedIdp {
        let now = effects.now()
        let caller = try await caller(request.idToken, tenant: tenant)
        if case .pendingToken(let handle) = request.source, let waiting = FirstSignIn(handle, sealer: sealer) {
            try requireUsable(waiting, tenant: tenant, at: now)
            return PresentedIdp(caller: caller, credential: waiting.credential, firstSignInEnd: waiting.expiresAt)
        }
        switch request.source {
        case .pendingToken(let handle) where caller != nil && ConflictHandle(handle, sealer: sealer) == nil:
            let (signUp, credential) = try await waitingSignUp(handle, tenant: tenant, at: now)
            return PresentedIdp(caller: caller, credential: credential, signUp: handle, heldUntil: signUp.expiresAt)
        case .pendingToken(let handle):
            let target = caller?.user.id
            let pending = try usable(await pendingCredential(handle, target: target, tenant: tenant, now: now))
            return PresentedIdp(
                caller: caller,
                credential: pending.credential,
                conflict: pending.conflict,
                heldUntil: pending.conflict.expiresAt
            )
        case .credential(let presented):
            if let caller,
                let pending = try await pendingCredential(replaying: presented, target: caller.user, now: now)
            {
                return PresentedIdp(
                    caller: caller,
                    credential: pending.credential,
                    conflict: pending.conflict,
                    heldUntil: pending.conflict.expiresAt
                )
            }
            return PresentedIdp(caller: caller, credential: try await verified(presented, at: now))
        case .flow(let parameters, let state):
            let presented = try await answer(parameters, toFlow: state, tenant: tenant, at: now)
            guard let presented else { throw Denial.invalidCredential(.unknownFlow) }
            return PresentedIdp(caller: caller, credential: try await verified(presented, at: now))
        }
    }

    /// The session of an ID token; `nil` without one.
    func caller(_ idToken: String?, tenant: TenantID) async throws -> AuthenticatedSession? {
        guard let idToken else { return nil }
        return try await authenticate(idToken: idToken, tenant: tenant)
    }

    /// The session's current account; `nil` without a session.
    func target(of caller: AuthenticatedSession?) async throws -> UserRecord? {
        guard let caller else { return nil }
        return try await account(of: caller, asItIs: store.user(caller.user.id, tenant: caller.user.tenant))
    }

    /// Verifies a credential by the rules of its provider.
    func verified(_ presented: ProviderCredential, at now: Timestamp) async throws -> VerifiedCredential {
        let configuration = configurationWithSecrets(of: presented.provider)
        switch try await providers.verify(presented, configuration: configuration, at: now) {
        case .invalid(let reason): throw Denial.invalidCredential(reason)
        case .verified(let verified): return verified
        }
    }

    /// The time of the user's sign-in at the provider; `nil` unless the policy counts sign-ins from it.
    func countedSignIn(with credential: VerifiedCredential) -> Timestamp? {
        policy.countsProviderAuthTime ? credential.signedInAt : nil
    }

    /// The use of a credential's ID token by a sign-in; `nil` without a token, for a token without an expiry, such as
    /// one of a development provider, and if the policy does not count uses.
    ///
    /// - `isFirst`: the token must not have been used before, for a reauthentication.
    func idTokenUse(_ credential: VerifiedCredential, isFirst: Bool) -> IDTokenUse? {
        guard policy.countsProviderAuthTime, let digest = credential.tokens.idTokenDigest,
            let end = credential.expiresAt
        else { return nil }
        let now = effects.now()
        // No verified token lives longer. A development token can claim anything.
        let latest = now.adding(seconds: Lifetimes.providerTokenSecondsMax)
        return IDTokenUse(digest: digest, expiresAt: min(max(end, now), latest), isFirst: isFirst)
    }

    /// Returns true if a verified credential is still accepted: its provider is enabled, and has the same issuer. Under
    /// another issuer the subject is another person (rule Y7).
    func isAccepted(_ credential: IncomingCredential) -> Bool {
        let configuration = project.configuration(of: credential.identity.provider)
        return providers.isEnabled(credential.identity.provider, configuration: configuration)
            && credential.isOf(issuer: configuration?.issuer)
    }
}
