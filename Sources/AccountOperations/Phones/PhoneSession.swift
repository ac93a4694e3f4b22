import AccountLinking
import AccountStore
import Crypto
import JSON

/// What a client holds of a verification: the id it is found by, and a secret. `sessionInfo` and `temporaryProof` on the
/// wire: 64 characters of base64url.
struct PhoneSession: Sendable {
    private static let idBytes = 16
    private static let secretBytes = 32

    var id: [UInt8]
    private let secret: [UInt8]

    init(effects: Effects) {
        id = effects.randomBytes(Self.idBytes)
        secret = effects.randomBytes(Self.secretBytes)
    }

    /// `nil` for what was never made here.
    init?(_ text: String) {
        guard text.utf8.count == 64, let bytes = Base64URL.decode(text[...]),
            bytes.count == Self.idBytes + Self.secretBytes
        else { return nil }
        id = Array(bytes.prefix(Self.idBytes))
        secret = Array(bytes.suffix(Self.secretBytes))
    }

    var text: String { Base64URL.encode(id + secret) }

    /// What the database knows of it.
    var digest: [UInt8] { Array(SHA256.hash(data: secret)) }

    /// Whether it is one of the verification's, in a time that says nothing about which.
    func presents(_ verification: PhoneVerificationRecord) -> Bool {
        let digest = SHA256.hash(data: secret)
        return verification.sessionDigests.reduce(false) { digest.equals($1) || $0 }
    }
}

extension PhoneVerificationRecord {
    /// What its sealed code is bound to.
    var codeContext: String {
        ["phone-code", tenant.rawValue, Base64URL.encode(id)].joined(separator: "\u{1F}")
    }
}

/// One request that presents a verification: what its attempts share, made before the first.
struct PhoneVerificationUse: Sendable {
    let session: PhoneSession
    let tenant: TenantID
    let now: Timestamp
    /// Marks the verification as used by this request.
    let id: AccountEvent.ID
}

extension AccountOperations {
    /// The verification that `use` presents, while it can be used for `purpose`.
    ///
    /// `user`: whose second factor it is about; `nil` for the other purposes.
    func usableVerification(
        _ use: PhoneVerificationUse,
        for purpose: PhoneVerificationRecord.Purpose,
        of user: UserID? = nil
    ) async throws -> PhoneVerificationRecord {
        guard let found = try await store.phoneVerification(use.session.id, tenant: use.tenant),
            use.session.presents(found), found.purpose == purpose, found.user == user
        else { throw Denial.phone(.invalidSession) }
        switch found.state(at: use.now) {
        case .usable: return found
        case .consumed: throw Denial.phone(.invalidSession)
        case .expired: throw Denial.phone(.sessionExpired)
        case .locked: throw Denial.phone(.tooManyAttempts)
        }
    }

    /// As `usableVerification`, once `code` is right. A wrong one is counted before it is answered, and a right one counts
    /// only once the verification is used up: so no more are compared than there may be, however many come at once.
    /// - Throws: `FactsMoved`, `Denial`, or what the database could not do.
    func usableVerification(
        _ use: PhoneVerificationUse,
        for purpose: PhoneVerificationRecord.Purpose,
        of user: UserID? = nil,
        code: String
    ) async throws -> PhoneVerificationRecord {
        let found = try await usableVerification(use, for: purpose, of: user)
        let right: [UInt8]
        if let sealed = found.sealedCode {
            guard let opened = try? sealer.open(sealed, context: found.codeContext) else {
                throw Denial.phone(.invalidSession)
            }
            right = opened
        } else {
            // Fictional when it was asked for; what the project says now counts.
            guard let fictional = project.settings.testPhoneNumbers[found.number] else {
                throw Denial.phone(.invalidSession)
            }
            right = Array(fictional.utf8)
        }
        guard SHA256.hash(data: Array(code.utf8)).equals(Array(SHA256.hash(data: right))) else {
            guard try await store.countWrongCode(found) else { throw FactsMoved() }
            throw Denial.phone(.invalidCode)
        }
        return found
    }
}
