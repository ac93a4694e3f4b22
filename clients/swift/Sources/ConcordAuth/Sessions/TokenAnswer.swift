import Foundation

/// The tokens of an answer, checked: of this project, and of one account.
struct FreshTokens: Sendable {
    let idToken: String
    let refreshToken: String
    let claims: IDToken
    /// Seconds that the ID token is valid for, from its arrival.
    let lifetime: TimeInterval

    /// Checks the members of an answer. Without `expiresIn` the token is valid for an hour. With `serverTime`, the
    /// server's clock when it answered, the machine's own clock does not matter. `localID` is the account that the
    /// answer names.
    init(
        idToken: String,
        refreshToken: String,
        expiresIn: String?,
        localID: String?,
        serverTime: Date?,
        projectID: String
    ) throws(AuthError) {
        claims = try IDToken(idToken)
        try claims.check(projectID: projectID)
        if let localID, !localID.isEmpty, localID != claims.uid { throw .tokenOfAnotherAccount }
        guard !refreshToken.isEmpty else {
            throw AuthError(.invalidServerAnswer, "the answer has an ID token and no refresh token")
        }
        self.idToken = idToken
        self.refreshToken = refreshToken
        var lifetime = expiresIn.flatMap(TimeInterval.init) ?? 3_600
        if let serverTime, let expiration = claims.expiration {
            lifetime = min(lifetime, expiration.timeIntervalSince(serverTime))
        }
        self.lifetime = max(0, min(lifetime, 86_400))
    }
}

extension AuthError {
    static let tokenOfAnotherAccount = AuthError(
        .tokenOfAnotherAccount,
        "the answer has an ID token of another account; it was discarded"
    )
    /// The failure of a store, after a sign-in or a change that succeeded.
    var ofSignIn: AuthError {
        var error = self
        error.message += ". The server has done what was asked; the session lasts until this process ends"
        return error
    }

    static let signedOut = AuthError(.nullUser, "the user signed out, or another user signed in")

    /// True if the server refuses the ID token itself. Nothing was done then.
    var refusesToken: Bool {
        serverCode == "TOKEN_EXPIRED" || serverCode == "INVALID_ID_TOKEN" || serverCode == "invalid-session"
    }

    /// True if the failure of a refresh or of a lookup ends the session: it was revoked, or its account is gone or
    /// disabled.
    var endsSession: Bool {
        switch serverCode {
        case "TOKEN_EXPIRED", "USER_DISABLED", "USER_NOT_FOUND", "INVALID_REFRESH_TOKEN", "INVALID_ID_TOKEN",
            "invalid-session", "user-disabled":
            true
        default: false
        }
    }
}

/// A number that servers write as a number or as text.
struct LooseNumber: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self.text = text
        } else {
            text = String(try container.decode(Int64.self))
        }
    }
}
