package import AccountLinking
import AccountStore
import IdentityProviders
import JSON

/// The result of a sign-in with one factor.
package enum SignInOutcome: Sendable {
    case signedIn(SignedIn)
    case secondFactorRequired(PendingSignIn)

    package var user: UserRecord {
        switch self {
        case .signedIn(let signedIn): signedIn.user
        case .secondFactorRequired(let pending): pending.user
        }
    }

    /// `nil` until the second factor is proven.
    package var signedIn: SignedIn? {
        switch self {
        case .signedIn(let signedIn): signedIn
        case .secondFactorRequired: nil
        }
    }
}

/// A sign-in that has proven its first factor and waits for the second.
package struct PendingSignIn: Sendable {
    package let user: UserRecord
    /// The credential for the second step (`mfaPendingCredential`).
    package let credential: String
}

/// The first factor of a sign-in, stored until the second is proven. Then it is decided again; until then nothing about
/// the account is written (ADR 0047).
struct FirstFactor: Sendable {
    enum Kind: Sendable {
        case password
        /// A mailed link to the address, which is used up.
        case emailLink(EmailAddress)
        /// - `conflict`: the conflict that held the credential, if any.
        case idp(VerifiedCredential, conflict: SourceConflict?)
    }

    struct SourceConflict: Sendable {
        let id: [UInt8]
        let user: UserID
    }

    let kind: Kind
    /// `false` for a reauthentication.
    var createsUsers = true
    /// True if the session to link to signed in recently.
    var isSessionRecent = false
    /// The session to link to, which linking makes neither recent nor younger; `nil` without one.
    var origin: SessionOrigin?
    /// The handle of a conflict, whose credential the sign-in also links.
    var pendingToken: String?
    /// The language for the mail to a replaced address, as sent.
    var locale: String?

    /// True if the factor is linked to the account of a session.
    var links: Bool { origin != nil }

    init(_ kind: Kind) {
        self.kind = kind
    }
}

extension FirstFactor {
    /// The form that is sealed.
    var stored: [UInt8] {
        JSONWriter.object { writer in
            switch kind {
            case .password: writer.field("by", "password")
            case .emailLink(let address):
                writer.field("by", "email-link")
                writer.field("address", address.raw)
            case .idp(let credential, let conflict):
                writer.field("by", "idp")
                writer.field("credential", credential.stored)
                writer.field("conflict", (conflict?.id).map { Base64URL.encode($0) })
                writer.field("conflictOf", conflict?.user.rawValue)
            }
            writer.field("links", links)
            writer.field("creates", createsUsers)
            writer.field("recent", isSessionRecent)
            writer.field("session", origin?.id.map { Base64URL.encode($0) })
            writer.field("authTime", origin?.authTime.secondsSinceEpoch)
            writer.field("lifetimeStart", origin?.lifetimeStart.microsecondsSinceEpoch)
            writer.field("pendingToken", pendingToken)
            writer.field("locale", locale)
        }
    }

    /// `nil` if `stored` did not make the bytes.
    init?(stored: [UInt8]) {
        // Claims of a provider may have the greatest depth that Concord parses, and are nested deeper here.
        guard let value = try? JSONValue(parsing: stored, depthMax: 128) else { return nil }
        switch value["by"]?.string {
        case "password": kind = .password
        case "email-link":
            guard let address = value["address"]?.string.flatMap(EmailAddress.init) else { return nil }
            kind = .emailLink(address)
        case "idp":
            guard let credential = value["credential"].flatMap(VerifiedCredential.init(stored:)) else { return nil }
            var conflict: SourceConflict?
            if let id = value["conflict"]?.string.flatMap({ Base64URL.decode($0) }),
                let user = value["conflictOf"]?.string.flatMap(UserID.init)
            {
                conflict = SourceConflict(id: id, user: user)
            }
            kind = .idp(credential, conflict: conflict)
        default: return nil
        }
        createsUsers = value["creates"]?.bool ?? false
        isSessionRecent = value["recent"]?.bool ?? false
        if let authTime = value["authTime"]?.integer.map({ Timestamp(secondsSinceEpoch: $0) }) {
            // Older versions stored neither the session nor its start.
            let id = value["session"]?.string.flatMap { Base64URL.decode($0) }
            let start = value["lifetimeStart"]?.integer.map { Timestamp(microsecondsSinceEpoch: $0) }
            origin = SessionOrigin(id: id, authTime: authTime, lifetimeStart: start ?? authTime)
        }
        pendingToken = value["pendingToken"]?.string
        locale = value["locale"]?.string
    }

    /// The session's `sign_in_provider`.
    var signInProvider: String {
        switch kind {
        case .password, .emailLink: "password"
        case .idp(let credential, conflict: _): credential.incoming.identity.provider.rawValue
        }
    }

    /// The side writes of the first step, before the second factor is proven: the link is used, and the count of wrong
    /// passwords is reset. A conflict waits for the sign-in that resolves it.
    func used(_ sideWrites: [AccountWrite.SideWrite]) -> [AccountWrite.SideWrite] {
        switch kind {
        case .password, .emailLink: sideWrites
        case .idp: []
        }
    }

    /// The proof of what the factor changes.
    var methodProof: UserRecord.Proof {
        switch kind {
        case .password: .session
        case .emailLink: .message
        case .idp: .providerCredential
        }
    }

    /// The provider's credential that opens a session; `nil` if it joins an open one, and for other factors.
    var openingCredential: VerifiedCredential? {
        switch kind {
        case .password, .emailLink: nil
        case .idp(let credential, conflict: _): links ? nil : credential
        }
    }

    /// True for a reauthentication with a provider. A credential from a conflict is a sign-in.
    var isReauthentication: Bool {
        switch kind {
        case .password, .emailLink: false
        case .idp(_, let conflict): !createsUsers && conflict == nil
        }
    }

    var signInAttributes: JSONValue? {
        switch kind {
        case .password, .emailLink: nil
        case .idp(let credential, conflict: _): credential.signInAttributes
        }
    }
}

extension AccountOperations {
    /// Applies a verdict, or begins the second step if the rules require a second factor. That step uses up what the
    /// first factor used.
    /// - Throws: `Denial`, `FactsMoved`, or a failure of the database.
    func applyOrAskForSecondFactor(
        _ verdict: Verdict<SignInDecision>,
        after firstFactor: FirstFactor,
        loaded: [UserRecord?],
        _ attempt: SignInAttempt
    ) async throws -> SignInOutcome {
        guard case .secondFactorRequired(let id) = verdict.decision else {
            return .signedIn(try await applySignIn(verdict, loaded: loaded, attempt))
        }
        let user = try loaded.user(id, verdict.rule)
        let challenge = try newChallenge(.signIn, of: user, content: firstFactor.stored, at: attempt.now)
        try await store.begin(challenge, sideWrites: firstFactor.used(attempt.sideWrites)).requireApplied()
        metrics.decided(verdict.rule)
        let credential = try FactorChallengeHandle(challenge).sealed(by: sealer)
        return .secondFactorRequired(PendingSignIn(user: user, credential: credential))
    }
}
