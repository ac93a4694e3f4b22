import AccountLinking
import AccountOperations
import HTTPTypes
import JSON

/// What can go wrong on Concord's own routes: the stable part of a problem's `type` (RFC 9457 §3.1.1).
/// `docs/reference/errors.md` explains each.
enum ProblemType: String, CaseIterable, Sendable {
    case choicesNeeded = "choices-needed"
    case codeUnusable = "code-unusable"
    case conflictClosed = "conflict-closed"
    case conflictExpired = "conflict-expired"
    case conflictUnknown = "conflict-unknown"
    case requestTooLarge = "content-too-large"
    case foreignPage = "foreign-page"
    case idempotencyKeyReused = "idempotency-key-reused"
    case identityInUse = "identity-in-use"
    case insufficientUserAuthentication = "insufficient-user-authentication"
    case internalError = "internal-error"
    case invalidPolicy = "invalid-policy"
    case invalidSession = "invalid-session"
    case lastSignInMethod = "last-sign-in-method"
    case laterChanges = "later-changes"
    case malformedRequest = "malformed-request"
    case mergeClosed = "merge-closed"
    case mergeRefused = "merge-refused"
    case noSuchRoute = "not-found"
    case versionMismatch = "precondition-failed"
    case proofExpired = "proof-expired"
    case proofNotOffered = "proof-not-offered"
    case proofRequired = "proof-required"
    case proofStale = "proof-stale"
    case providerAlreadyLinked = "provider-already-linked"
    case providerDisabled = "provider-disabled"
    case refused = "refused"
    case secondFactorRequired = "second-factor-required"
    case tooManyAttempts = "too-many-attempts"
    case tooManyMails = "too-many-mails"
    case unavailable = "unavailable"
    case userDisabled = "user-disabled"
    case usersLockedOut = "users-locked-out"
    case wrongProof = "wrong-proof"

    /// A title for people, the same for every occurrence.
    var title: String {
        switch self {
        case .choicesNeeded: "The merge needs choices"
        case .codeUnusable: "The code cannot be used"
        case .conflictClosed: "The conflict is closed"
        case .conflictExpired: "The conflict has expired"
        case .conflictUnknown: "The conflict does not exist"
        case .requestTooLarge: "The request is too large"
        case .foreignPage: "The request comes from a web page on another machine"
        case .idempotencyKeyReused: "The Idempotency-Key belongs to another request"
        case .identityInUse: "Another account owns the identity"
        case .insufficientUserAuthentication: "The sign-in is not recent enough"
        case .internalError: "The service has an internal error"
        case .invalidSession: "The session is not valid"
        case .invalidPolicy: "The policy is not valid"
        case .lastSignInMethod: "The account has no other working sign-in method"
        case .laterChanges: "Undoing the merge would overwrite later changes"
        case .mergeClosed: "The state of the merge does not allow this"
        case .mergeRefused: "The accounts cannot be merged"
        case .malformedRequest: "The request is malformed"
        case .noSuchRoute: "The resource does not exist"
        case .versionMismatch: "The resource has changed since it was read"
        case .proofExpired: "The proof has expired"
        case .proofNotOffered: "The policy does not allow this kind of proof"
        case .proofRequired: "Proof of account ownership is required"
        case .proofStale: "The account or the policy has changed since the proof was requested"
        case .providerAlreadyLinked: "The account already has an identity of this provider"
        case .providerDisabled: "The provider is not enabled"
        case .refused: "The request is refused"
        case .secondFactorRequired: "The account requires its second factor"
        case .tooManyAttempts: "Too many attempts"
        case .tooManyMails: "Too many mails about the account were requested"
        case .unavailable: "The service is temporarily unavailable"
        case .userDisabled: "The account is disabled"
        case .usersLockedOut: "Some users have no other working sign-in method"
        case .wrongProof: "The proof is wrong"
        }
    }

    var status: HTTPResponse.Status { APIError.status(of: self) }
}

/// A failure on Concord's own routes: a problem document (RFC 9457).
struct Problem: Error, Sendable {
    let type: ProblemType
    /// An explanation of this occurrence, for developers. It never quotes what was sent.
    var detail: String?
    /// The reauthentication that the session needs first; only with `insufficientUserAuthentication`.
    var reauthentication: ReauthenticationChallenge?
    /// The users whom the request would lock out; only with `usersLockedOut`.
    var lockedOut: LockedOutUsers?
    /// The fields that need a choice first; only with `choicesNeeded`.
    var undecided: [String] = []
    /// The reason of the refusal; only with `mergeRefused`.
    var reason: String?
    /// The merge that prevents this one; only with `mergeRefused`.
    var merge: Merge?
    /// The changes since the merge; only with `laterChanges`.
    var changes: [LaterChange] = []
    /// All mistakes in the request, if there may be several.
    var errors: [String] = []
    /// The time after which a retry is useful (RFC 9110 §10.2.3); `nil` if waiting changes nothing.
    var retryAfterSeconds: Int64?

    init(_ type: ProblemType, _ detail: String? = nil) {
        self.type = type
        self.detail = detail
        if type == .unavailable { retryAfterSeconds = 1 }
    }

    fileprivate init(_ type: ProblemType, retryAfterSeconds: Int64) {
        self.init(type)
        self.retryAfterSeconds = retryAfterSeconds
    }

    /// A session whose sign-in is too old for the operation.
    init(_ challenge: ReauthenticationChallenge) {
        self.init(.insufficientUserAuthentication)
        reauthentication = challenge
    }

    init(_ lockedOut: LockedOutUsers) {
        self.init(.usersLockedOut, "Send `force` to do it anyway.")
        self.lockedOut = lockedOut
    }

    /// A refused merge.
    fileprivate init(refused reason: String, _ detail: String? = nil, _ merge: Merge? = nil) {
        self.init(.mergeRefused, detail)
        self.reason = reason
        self.merge = merge
    }

    /// The prefix of the paths of Concord's own routes.
    static let pathPrefix = "/concord/v1/"
    static let contentType = "application/problem+json"
    private static let namespace = "urn:concord:problem:"

    var body: [UInt8] {
        JSONWriter.object { writer in
            writer.field("type", Self.namespace + type.rawValue)
            writer.field("title", type.title)
            writer.field("status", Int64(type.status.code))
            writer.field("detail", detail)
            if let reauthentication {
                writer.field("maxAge", reauthentication.maximumAgeSeconds)
                writer.field("methods", reauthentication.methods.map(\.name))
            }
            if let lockedOut { writer.fields(of: lockedOut) }
            if !undecided.isEmpty { writer.field("undecided", undecided) }
            writer.field("reason", reason)
            if let merge { writer.field("merge") { $0.fields(of: merge) } }
            if !changes.isEmpty { writer.field("changes", array: changes) { $0.laterChange($1) } }
            if !errors.isEmpty { writer.field("errors", errors) }
        }
    }

    /// The challenge of a 401 (RFC 9110 §11.6.1, RFC 6750 §3, RFC 9470 §3).
    var challenge: String? {
        switch type {
        case .insufficientUserAuthentication:
            "Bearer error=\"insufficient_user_authentication\""
                + (reauthentication.map { ", max_age=\"\($0.maximumAgeSeconds)\"" } ?? "")
        case .invalidSession: "Bearer error=\"invalid_token\""
        default: nil
        }
    }
}

extension Problem {
    /// A failure before a handler of Concord's own routes ran.
    init(_ error: APIError) {
        self.init(ProblemType(error), error.message)
    }
}

extension Denial {
    /// The answer of Concord's own routes.
    var problem: Problem {
        switch self {
        case .reauthenticationRequired(let challenge): Problem(challenge)
        case .usersLockedOut(let users): Problem(users)
        case .idempotencyKeyReused: Problem(.idempotencyKeyReused)
        case .conflict(let refusal): refusal.problem
        case .sessionCode(let refusal): refusal.problem
        case .pendingSignUp(let refusal): refusal.problem
        case .webhook(let denial): denial.problem
        case .merge(let denial): denial.problem
        case .versionMismatch: Problem(.versionMismatch)
        case .refusal(.methodNotQuarantined): Problem(.noSuchRoute, "The account has no such suspended method.")
        case .refusal(.invalidPassword), .emailCode(.wrongCode): Problem(.wrongProof)
        default: Problem(apiError)
        }
    }
}

extension ConflictRefusal {
    fileprivate var problem: Problem {
        switch self {
        case .unknown: Problem(.conflictUnknown)
        case .closed(let state): Problem(.conflictClosed, "The conflict is \(state.rawValue).")
        case .expired: Problem(.conflictExpired)
        case .unproven: Problem(.proofRequired)
        case .wrongAnswer: Problem(.wrongProof)
        case .tooManyAttempts: Problem(.tooManyAttempts)
        case .tooManyMails(let waitSeconds): Problem(.tooManyMails, retryAfterSeconds: waitSeconds)
        case .proofExpired: Problem(.proofExpired, "Request a new proof.")
        case .proofStale: Problem(.proofStale, "Request a new proof.")
        case .secondFactorRequired: Problem(.secondFactorRequired)
        case .providerAlreadyLinked: Problem(.providerAlreadyLinked)
        case .proofNotOffered: Problem(.proofNotOffered, "Sign in to the account, and link the provider there.")
        case .refused(.operationNotAllowed): Problem(.providerDisabled)
        case .refused(.userDisabled): Problem(.userDisabled)
        case .refused(.federatedIdentityAlreadyLinked): Problem(.identityInUse)
        case .refused(let refusal): Problem(refusal.apiError)
        }
    }
}

extension SessionCodeRefusal {
    fileprivate var problem: Problem {
        switch self {
        case .unusable: Problem(.codeUnusable, "Sign in, or resolve a new conflict.")
        case .wrongVerifier: Problem(.wrongProof, "`codeVerifier` does not match the challenge.")
        case .tooManyAttempts: Problem(.tooManyAttempts)
        case .userDisabled: Problem(.userDisabled)
        }
    }
}

extension PendingSignUpRefusal {
    fileprivate var problem: Problem {
        switch self {
        case .unusable: Problem(.codeUnusable, "Begin the sign-up again.")
        case .tooManyAttempts: Problem(.tooManyAttempts, "Open the link in the mail, or begin the sign-up again.")
        case .wrongAnswer: Problem(.wrongProof)
        case .unproven: Problem(.proofRequired, "Prove the mailbox first: POST /concord/v1/signUp/pending:prove")
        case .nothingToLink: Problem(.refused, "There is no account to link to: create one.")
        case .passwordMissing: Problem(.malformedRequest, "`password` is required.")
        }
    }
}

extension WebhookDenial {
    fileprivate var problem: Problem {
        switch self {
        case .refusedURL:
            Problem(
                .malformedRequest,
                "`url` must be an HTTPS URL of at most 2048 bytes, on a host that webhooks may call."
            )
        case .tooMany: Problem(.refused, "The project already has 10 webhooks.")
        case .unknown: Problem(.noSuchRoute, "The webhook does not exist.")
        }
    }
}

extension MergeDenial {
    fileprivate var problem: Problem {
        switch self {
        case .refused(.secondFactorRequired):
            return Problem(.secondFactorRequired, "Sign in to both accounts with both factors.")
        case .refused(let refusal): return Problem(refused: refusal.rawValue)
        case .absorbedSessionMissing:
            return Problem(.malformedRequest, "`absorbedIdToken` is required: an ID token of the account to absorb.")
        case .undecided(let fields):
            var problem = Problem(
                .choicesNeeded,
                "`choices` must name whose value each of these fields keeps: `survivor` or `absorbed`."
            )
            problem.undecided = fields.map(\.name)
            return problem
        case .alreadyMerging(let merge):
            return Problem(refused: "already-merging", "One of the accounts is in a pending merge.", merge)
        case .alreadyMerged(let merge):
            let undo = "\(Problem.pathPrefix)merges/\(merge.id)/undo"
            return Problem(
                refused: "already-merged",
                "This merge was committed before. An administrator can undo it: POST \(undo)",
                merge
            )
        case .mergedAway(let merge):
            let refusal = MergeRefusal.accountNotFound.rawValue
            return Problem(refused: refusal, "One of the accounts was merged into another account.", merge)
        case .unknown: return Problem(.noSuchRoute, "The merge does not exist.")
        case .closed(let state): return Problem(.mergeClosed, "The merge is \(state.rawValue).")
        case .tooLate: return Problem(.mergeClosed, "The merge can no longer be undone.")
        case .ownerUndo(.needsAdministrator):
            return Problem(.refused, "An administrator merged the accounts. Only an administrator can undo it.")
        case .ownerUndo(.secondFactorRequired):
            return Problem(.secondFactorRequired, "Sign in to the account with its second factor.")
        case .ownerUndo(.laterChanges(let changes)):
            var problem = Problem(.laterChanges, "An administrator may be able to undo the merge and keep them.")
            problem.changes = changes
            return problem
        case .laterChanges(let changes):
            let canStay = changes.allSatisfy(\.canStay)
            var problem = Problem(
                .laterChanges,
                canStay
                    ? "Send `keepLaterChanges` to keep these changes and undo everything else."
                    : "Some of these changes cannot be kept, even with `keepLaterChanges`."
            )
            problem.changes = changes
            return problem
        }
    }
}
