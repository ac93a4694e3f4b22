import AccountLinking
import AccountStore
import JSON

/// A code for a session of the sign-in page. It names its session, so that its row is found by key, on one shard.
///
/// Clients cannot forge it or read the account.
struct SignInCode: Sendable {
    let tenant: TenantID
    let user: UserID
    let session: [UInt8]

    private static let context = "sign-in-code/1"
    private static let bytesMax = 2048
    static let secretBytes = 32

    /// - `secret`: `secretBytes` random bytes, so that two codes of a session differ.
    func sealed(by sealer: Sealer, secret: [UInt8]) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .string(user.rawValue), .string(Base64URL.encode(session)),
            .string(Base64URL.encode(secret)),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }
}

extension SignInCode {
    /// `nil` for text that this service did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 4,
            let tenant = parts[0].string, let user = parts[1].string.flatMap(UserID.init),
            let session = parts[2].string.flatMap({ Base64URL.decode($0) }), session.count == RefreshToken.sessionBytes
        else { return nil }
        self.init(tenant: TenantID(tenant), user: user, session: session)
    }
}

/// The way from the sign-in page to the app.
package struct SignInReturnView: Sendable {
    /// The app's page, with the code and the app's state.
    package let url: String
}

extension AccountOperations {
    /// Issues a code that hands the session of a refresh token over to an app (rules T1 to T8, and T11 to T14). The
    /// code replaces an earlier one of the session.
    ///
    /// If several callers issue codes for one session, the last one stays.
    /// - Returns: the app's page with the code.
    package func issueSignInCode(
        _ refreshToken: String,
        to destination: AppReturn,
        _ request: ChangeRequest<SignInReturnView>
    ) async throws -> SignInReturnView {
        let tenant = request.tenant
        guard let presented = RefreshToken(refreshToken), presented.tenant == tenant else {
            throw Denial.invalidRefreshToken
        }
        let now = effects.now()
        let code = try SignInCode(tenant: tenant, user: presented.user, session: presented.session)
            .sealed(by: sealer, secret: effects.randomBytes(SignInCode.secretBytes))
        return try await retrying(effects) {
            let (session, user) = try await session(of: presented)
            // After the secret is compared: the answer has a code.
            if session != nil,
                let answer = try await storedAnswer(to: request.idempotent, of: presented.user, tenant: tenant, at: now)
            {
                throw answer
            }
            let found = try await store.signInReturn(of: presented.session, of: presented.user, tenant: tenant)
            let verdict = decideIssueSignInCode(
                session: refreshVerdict(on: session, user, at: now),
                hasChallenge: destination.codeChallenge != nil,
                isPageAuthorized: authorizesReturn(to: destination.url),
                isUsed: found?.givenSession != nil
            )
            switch verdict.decision {
            case .session(let refusal): throw refused(.refusal(refusal), by: verdict.rule)
            case .pageNotAuthorized: throw refused(.unauthorizedDomain, by: verdict.rule)
            case .unusable: throw refused(.sessionCode(.unusable), by: verdict.rule)
            case nil: break
            }
            var parameters = [(name: "concordCode", value: code)]
            if let state = destination.state { parameters.append(("state", state)) }
            guard let session, let challenge = destination.codeChallenge,
                let url = redirection(to: destination.url.text, adding: parameters)
            else {
                throw UnexpectedDecision(verdict.rule)
            }
            let view = SignInReturnView(url: url)
            let record = SignInReturnRecord(
                of: session,
                continueURL: destination.url.text,
                codeChallenge: challenge,
                codeHash: ConflictProofSecrets.hash(of: code),
                codeEndsAt: now.adding(seconds: Lifetimes.sessionCodeSeconds)
            )
            let kept = try storeAnswer(view, to: request.idempotent, of: session.user, tenant: tenant, at: now)
            try await store.issueSignInCode(record, sideWrites: kept).requireApplied()
            return view
        }
    }
}
