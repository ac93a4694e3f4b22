import AccountLinking
import AccountStore
import JSON

/// A handle to a stored challenge: `mfaPendingCredential`, and `sessionInfo` of a TOTP enrollment. Sealed, so that
/// clients can neither forge it nor read its account.
struct FactorChallengeHandle: Sendable {
    let tenant: TenantID
    let user: UserID
    let challenge: [UInt8]

    private static let context = "factor-challenge-handle/1"
    private static let bytesMax = 2048

    init(_ challenge: FactorChallenge) {
        self.tenant = challenge.tenant
        self.user = challenge.user
        self.challenge = challenge.id
    }

    func sealed(by sealer: Sealer) throws -> String {
        let content: JSONValue = .array([
            .string(tenant.rawValue), .string(user.rawValue), .string(Base64URL.encode(challenge)),
        ])
        return Base64URL.encode(try sealer.seal(Array(content.text.utf8), context: Self.context))
    }

    /// `nil` for a text that Concord did not seal.
    init?(_ text: String, sealer: Sealer) {
        guard text.utf8.count <= Self.bytesMax, let sealed = Base64URL.decode(text),
            let content = try? sealer.open(sealed, context: Self.context),
            let parts = (try? JSONValue(parsing: content))?.array, parts.count == 3,
            let tenant = parts[0].string, let user = parts[1].string.flatMap(UserID.init),
            let challenge = parts[2].string.flatMap({ Base64URL.decode($0) })
        else { return nil }
        self.tenant = TenantID(tenant)
        self.user = user
        self.challenge = challenge
    }
}

struct PresentedChallenge: Sendable {
    let challenge: FactorChallenge
    let content: [UInt8]
}

extension AccountOperations {
    /// Seals `content`.
    func newChallenge(
        _ purpose: FactorChallenge.Purpose,
        of user: UserRecord,
        content: [UInt8],
        at now: Timestamp
    ) throws -> FactorChallenge {
        let seconds =
            switch purpose {
            case .signIn: Lifetimes.pendingSignInSeconds
            case .enrollment: Lifetimes.factorEnrollmentSeconds
            }
        var challenge = FactorChallenge(
            tenant: user.tenant,
            user: user.id,
            id: effects.randomBytes(16),
            purpose: purpose,
            sessionEpoch: user.sessionEpoch,
            sealedContent: [],
            createdAt: now,
            expiresAt: now.adding(seconds: seconds)
        )
        challenge.sealedContent = try sealer.seal(content, context: challenge.contentContext)
        return challenge
    }

    /// `nil` if the challenge cannot be used. One round trip.
    func usableChallenge(
        _ handle: String,
        for purpose: FactorChallenge.Purpose,
        tenant: TenantID,
        at now: Timestamp
    ) async throws -> (presented: PresentedChallenge?, state: OneTimeRecordState) {
        guard let handle = FactorChallengeHandle(handle, sealer: sealer), handle.tenant == tenant,
            let found = try await store.factorChallenge(handle.challenge, of: handle.user, tenant: tenant),
            found.purpose == purpose,
            let content = try? sealer.open(found.sealedContent, context: found.contentContext)
        else { return (nil, .consumed) }
        let state = found.state(at: now)
        return (state == .usable ? PresentedChallenge(challenge: found, content: content) : nil, state)
    }
}

extension FactorChallenge {
    /// The authenticated context of the content.
    fileprivate var contentContext: String {
        SealingContext.factorChallenge(tenant: tenant.rawValue, user: user.rawValue, id: id)
    }
}

extension SecondFactorID {
    /// The authenticated context of the factor's secret.
    func secretContext(of user: UserID, tenant: TenantID) -> String {
        SealingContext.totpSecret(tenant: tenant.rawValue, user: user.rawValue, factor: rawValue)
    }
}
