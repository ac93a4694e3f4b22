import AccountLinking
import AccountStore
import IdentityProviders

// The first step of a sign-in: the session that asks, and the credential it presents. A credential that is verified here
// proves an identity; the accounts are not looked at yet.

/// A provider's credential that proved an identity, with the session that presents it.
struct PresentedIdp: Sendable {
    /// `nil` for a sign-in without a session.
    let caller: AuthenticatedSession?
    let credential: VerifiedCredential
    /// The conflict that kept the credential; `nil` if it comes from the provider now.
    var conflict: ConflictRecord?

    var sourceConflict: FirstFactor.SourceConflict? {
        conflict.map { FirstFactor.SourceConflict(id: $0.id, user: $0.user) }
    }
}

extension AccountOperations {
    /// Authenticates the session, and verifies the credential or opens the one that a conflict keeps.
    /// - Throws: `Denial`, `ProviderUnavailable`, or what the database could not do.
    func verify(_ request: SignInWithIdp, tenant: TenantID) async throws -> PresentedIdp {
        let now = effects.now()
        let caller = try await caller(request.idToken, tenant: tenant)
        switch request.source {
        case .pendingToken(let handle):
            let target = caller?.user.id
            let pending = try usable(await pendingCredential(handle, target: target, tenant: tenant, now: now))
            return PresentedIdp(caller: caller, credential: pending.credential, conflict: pending.conflict)
        case .credential(let presented):
            if let caller,
                let pending = try await pendingCredential(replaying: presented, target: caller.user, now: now)
            {
                return PresentedIdp(caller: caller, credential: pending.credential, conflict: pending.conflict)
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

    /// The account of the session as it is now; `nil` without one.
    func target(of caller: AuthenticatedSession?) async throws -> UserRecord? {
        guard let caller else { return nil }
        return try await account(of: caller, asItIs: store.user(caller.user.id, tenant: caller.user.tenant))
    }

    /// Judges a credential by the rules of its provider.
    func verified(_ presented: ProviderCredential, at now: Timestamp) async throws -> VerifiedCredential {
        let configuration = configurationWithSecrets(of: presented.provider)
        switch try await providers.verify(presented, configuration: configuration, at: now) {
        case .invalid(let reason): throw Denial.invalidCredential(reason)
        case .verified(let verified): return verified
        }
    }

    /// The time when the user of `credential` signed in at the provider; `nil` unless the policy counts sign-ins from then.
    func countedSignIn(with credential: VerifiedCredential) -> Timestamp? {
        policy.countsProviderAuthTime ? credential.signedInAt : nil
    }

    /// The use of a credential's ID token by a sign-in; `nil` if there is no token, if it does not say when it ends, as made-up
    /// ones do not, or if the policy does not ask.
    ///
    /// - `isFirst`: true if the token must not have been used before, for a reauthentication.
    func idTokenUse(_ credential: VerifiedCredential, isFirst: Bool) -> IDTokenUse? {
        guard policy.countsProviderAuthTime, let digest = credential.tokens.idTokenDigest,
            let end = credential.expiresAt
        else { return nil }
        let now = effects.now()
        // A verified token lives no longer than that. A made-up one says what it likes.
        let latest = now.adding(seconds: Lifetimes.providerTokenSecondsMax)
        return IDTokenUse(digest: digest, expiresAt: min(max(end, now), latest), isFirst: isFirst)
    }

    /// Returns true if a credential that was verified, now or before a conflict kept it, is accepted: its provider is enabled, and
    /// has the same issuer as then. Under another issuer its subject is another person (rule Y7).
    func isAccepted(_ credential: IncomingCredential) -> Bool {
        let configuration = project.configuration(of: credential.identity.provider)
        return providers.isEnabled(credential.identity.provider, configuration: configuration)
            && credential.isOf(issuer: configuration?.issuer)
    }
}
