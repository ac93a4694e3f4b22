package import AccountLinking
import AccountStore
import IdentityProviders
import JSON

/// How a sign-in with one factor ended.
package enum SignInOutcome: Sendable {
    case signedIn(SignedIn)
    case secondFactorRequired(PendingSignIn)

    package var user: UserRecord {
        switch self {
        case .signedIn(let signedIn): signedIn.user
        case .secondFactorRequired(let pending): pending.user
        }
    }

    /// `nil` while the second factor is not shown.
    package var signedIn: SignedIn? {
        switch self {
        case .signedIn(let signedIn): signedIn
        case .secondFactorRequired: nil
        }
    }
}

/// A sign-in whose first factor was right, and that waits for the second.
package struct PendingSignIn: Sendable {
    package let user: UserRecord
    /// What the client goes on with (`mfaPendingCredential`).
    package let credential: String
}

/// What a sign-in began with, as far as it takes to ask the rules again when the second factor is proven: until then
/// nothing about the account is written (ADR 0047).
struct FirstFactor: Sendable {
    enum Kind: Sendable {
        case password
        /// A link sent to the address was followed; it is used up.
        case emailLink(EmailAddress)
        /// `conflict`: the one that kept the credential, where it came from there.
        case idp(VerifiedCredential, conflict: SourceConflict?)
    }

    struct SourceConflict: Sendable {
        let id: [UInt8]
        let user: UserID
    }

    let kind: Kind
    /// `false` for a reauthentication.
    var createsUsers = true
    /// True if that session signed in a moment ago.
    var isSessionRecent = false
    /// That session, which a link makes neither recent nor young; `nil` where it was not to be attached to one.
    var origin: SessionOrigin?
    /// A conflict of the account, whose credential is linked by the same sign-in.
    var pendingToken: String?
    /// The language for the mail to a replaced address, as sent.
    var locale: String?

    /// True if the factor was to be attached to the account of a session.
    var links: Bool { origin != nil }

    init(_ kind: Kind) {
        self.kind = kind
    }
}

extension FirstFactor {
    /// For sealing.
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

    /// `nil` for what `stored` did not make.
    init?(stored: [UInt8]) {
        // What a provider says may be nested as deeply as is read at all, and lies deeper here.
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

    /// `sign_in_provider` of the session.
    var signInProvider: String {
        switch kind {
        case .password, .emailLink: "password"
        case .idp(let credential, conflict: _): credential.incoming.identity.provider.rawValue
        }
    }

    /// The side writes that the first step applies, before the second factor is proven: the link is used, and the count of
    /// wrong passwords is reset. A conflict waits for the sign-in that resolves it.
    func used(_ sideWrites: [AccountWrite.SideWrite]) -> [AccountWrite.SideWrite] {
        switch kind {
        case .password, .emailLink: sideWrites
        case .idp: []
        }
    }

    /// How what it changes was proven.
    var methodProof: UserRecord.Proof {
        switch kind {
        case .password: .session
        case .emailLink: .message
        case .idp: .providerCredential
        }
    }

    /// The provider's credential that opens a session by itself; `nil` where it joins one that is open, and for others.
    var openingCredential: VerifiedCredential? {
        switch kind {
        case .password, .emailLink: nil
        case .idp(let credential, conflict: _): links ? nil : credential
        }
    }

    /// Whether it is a reauthentication with a provider. A credential that waited in a conflict is a sign-in.
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
    /// Applies a verdict, or begins the second step of the sign-in if the rules ask for a second factor first. What the first
    /// factor used up is used up with that.
    /// - Throws: `Denial`, `FactsMoved`, or what the database could not do.
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
