import AccountLinking
import AccountStore
import Crypto
import JSON

/// A client's handle to a verification: `sessionInfo` and `temporaryProof`, 64 characters of base64url.
struct PhoneSession: Sendable {
    private static let idBytes = 16
    private static let secretBytes = 32

    var id: [UInt8]
    private let secret: [UInt8]

    init(effects: Effects) {
        id = effects.randomBytes(Self.idBytes)
        secret = effects.randomBytes(Self.secretBytes)
    }

    /// `nil` for a text that Concord did not make.
    init?(_ text: String) {
        guard text.utf8.count == 64, let bytes = Base64URL.decode(text[...]),
            bytes.count == Self.idBytes + Self.secretBytes
        else { return nil }
        id = Array(bytes.prefix(Self.idBytes))
        secret = Array(bytes.suffix(Self.secretBytes))
    }

    var text: String { Base64URL.encode(id + secret) }

    /// Stored in the database.
    var digest: [UInt8] { Array(SHA256.hash(data: secret)) }

    /// Constant time.
    func presents(_ verification: PhoneVerificationRecord) -> Bool {
        let digest = SHA256.hash(data: secret)
        return verification.sessionDigests.reduce(false) { digest.equals($1) || $0 }
    }
}

extension PhoneVerificationRecord {
    /// The authenticated context of the sealed code.
    var codeContext: String {
        SealingContext.phoneCode(tenant: tenant.rawValue, verification: id)
    }
}

/// Values that all attempts of a request share, made before the first.
struct PhoneVerificationUse: Sendable {
    let session: PhoneSession
    let tenant: TenantID
    let now: Timestamp
    /// Marks the verification as consumed.
    let id: AccountEvent.ID
}

extension AccountOperations {
    /// - `user`: the owner of a second factor; otherwise `nil`.
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

    /// Like the other `usableVerification`, with a check of `code`. A wrong code is counted before it is answered, and
    /// a correct one is valid only once the verification is consumed. So no more codes are compared than the limit
    /// allows.
    /// - Throws: `FactsMoved`, `Denial`, or a database error.
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
            // Requested as fictional. The project's present code is valid.
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
