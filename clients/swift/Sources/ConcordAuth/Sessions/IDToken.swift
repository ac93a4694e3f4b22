import Foundation

/// The claims of an ID token. The client reads them and does not verify the signature: the token came from the server
/// over TLS, and servers of the app verify it.
struct IDToken: Sendable {
    let claims: [String: JSONValue]

    init(_ text: String) throws(AuthError) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Self.decodeBase64URL(parts[1]),
            case .object(let claims)? = JSONValue.parse(payload)
        else { throw AuthError(.malformedJWT, "the ID token is no JWT") }
        self.claims = claims
        guard let subject = claims["sub"]?.stringValue, !subject.isEmpty, subject.count <= 128 else {
            throw AuthError(.malformedJWT, "the ID token names no account")
        }
        uid = subject
    }

    let uid: String
    var issuer: String? { claims["iss"]?.stringValue }
    var audience: String? { claims["aud"]?.stringValue }
    var email: String? { claims["email"]?.stringValue }
    var signInProvider: String? { claims["firebase"]?["sign_in_provider"]?.stringValue }
    var expiration: Date? { date("exp") }

    func date(_ name: String) -> Date? {
        claims[name]?.numberValue.map(Date.init(timeIntervalSince1970:))
    }

    /// Throws unless the token is of this project.
    func check(projectID: String) throws(AuthError) {
        guard audience == projectID else {
            throw AuthError(.tokenOfAnotherAccount, "the answer has an ID token of another project; it was discarded")
        }
        guard issuer == "https://securetoken.google.com/\(projectID)" else {
            throw AuthError(.tokenOfAnotherAccount, "the answer has an ID token of another issuer; it was discarded")
        }
    }

    private static func decodeBase64URL(_ text: Substring) -> Data? {
        var base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        return Data(base64Encoded: base64)
    }
}

extension StoredUser {
    /// The account as an ID token describes it, until the server was asked.
    init(_ token: IDToken) {
        uid = token.uid
        email = token.email
        isEmailVerified = token.claims["email_verified"]?.boolValue ?? false
        displayName = token.claims["name"]?.stringValue
        photoURL = token.claims["picture"]?.stringValue
        phoneNumber = token.claims["phone_number"]?.stringValue
        isAnonymous = token.signInProvider == "anonymous"
        tenantID = token.claims["firebase"]?["tenant"]?.stringValue
    }
}
