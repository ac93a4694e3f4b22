package import AccountLinking
import AccountStore
import Crypto

extension AccountOperations {
    package enum RefreshSession {
        package struct Result: Sendable {
            package let user: UserID
            package let idToken: String
            /// The presented token: parallel tabs refresh with it too.
            package let refreshToken: String
            package let expiresInSeconds: Int64
            package let projectNumber: Int64
            /// Identifies the device at its next sign-in; `nil` unless it was requested.
            package let deviceSecret: String?
            /// The token of the device; `nil` unless it was requested.
            package let deviceToken: String?
        }
    }

    /// Mints a new ID token for a session (`/v1/token`). One round trip. `auth_time` stays.
    ///
    /// - `returnsDeviceSecret`: the client stores a secret for its next sign-in by password.
    /// - `device`: the device whose token the client stores; it takes two more round trips.
    package func refreshSession(
        _ refreshToken: String,
        returnsDeviceSecret: Bool = false,
        device: DeviceRequest = .none
    ) async throws -> RefreshSession.Result {
        guard let presented = RefreshToken(refreshToken) else { throw Denial.invalidRefreshToken }
        let (session, user) = try await session(of: presented)
        let now = effects.now()
        let verdict = refreshVerdict(on: session, user, at: now)
        switch verdict.decision {
        case .refuse(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
        case .allow:
            guard let user, let session else { throw UnexpectedDecision(verdict.rule) }
            store.activity.note(user, at: now, isSignIn: false)
            let precisionSeconds = project.settings.sessionLifetimes.usePrecisionSeconds
            store.activity.noteUse(of: session, at: now, precisionSeconds: precisionSeconds)
            return RefreshSession.Result(
                user: user.id,
                idToken: try tokens.mintIDToken(for: user, session: session, at: now),
                refreshToken: refreshToken,
                expiresInSeconds: Lifetimes.idTokenSeconds,
                projectNumber: project.settings.projectNumber,
                deviceSecret: returnsDeviceSecret ? try newDeviceSecret(of: user, in: session) : nil,
                deviceToken: try await newDeviceToken(device, of: user.id, in: session)
            )
        }
    }
    /// The session of a refresh token, and its account, as they are; `nil` where there is none. One round trip.
    /// - Throws: `Denial.invalidRefreshToken` if the secret is not the session's.
    func session(of presented: RefreshToken) async throws -> (SessionRecord?, UserRecord?) {
        let (session, user) = try await store.session(
            presented.session,
            of: presented.user,
            tenant: presented.tenant
        )
        if let session, !SHA256.hash(data: presented.secret).equals(session.secretHash) {
            throw Denial.invalidRefreshToken
        }
        return (session, user)
    }

    /// The verdict of rows T on a session that was read with its account.
    func refreshVerdict(on session: SessionRecord?, _ user: UserRecord?, at now: Timestamp) -> Verdict<AccessDecision> {
        decideRefresh(
            account: user?.account,
            sessionEpoch: session?.epoch,
            sessionStartedAt: session?.start,
            validSince: user?.validSince,
            times: session?.times,
            lifetimes: project.settings.sessionLifetimes,
            now: now
        )
    }
}
