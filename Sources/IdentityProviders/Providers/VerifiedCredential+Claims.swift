import AccountLinking
import JSON

extension CredentialVerification {
    /// Returns the result for verified claims about the subject in `sub`.
    static func verified(
        of credential: ProviderCredential,
        claims: JSONValue,
        issuer: String?,
        refine: (inout VerifiedCredential, StandardClaims) -> Void
    ) -> CredentialVerification {
        verified(
            of: credential,
            subject: claims["sub"]?.string,
            claims: claims,
            issuer: issuer,
            refine: refine
        )
    }

    /// Returns the result for verified claims, from those that all issuers share. `refine` adds claims that one
    /// provider has in its own form. `subject` identifies the user. Invalid only if no identity can hold the subject.
    static func verified(
        of credential: ProviderCredential,
        subject: String?,
        claims: JSONValue,
        issuer: String?,
        refine: (inout VerifiedCredential, StandardClaims) -> Void
    ) -> CredentialVerification {
        guard let subject = subject.nonEmpty else { return .invalid(.missingSubject) }
        guard let identity = ProviderIdentity(provider: credential.provider, subject: subject) else {
            return .invalid(.malformedClaim("sub"))
        }
        let standard = StandardClaims(claims: claims)
        let times = IDTokenTimes(of: claims)
        var verified = VerifiedCredential(
            incoming: IncomingCredential(
                identity: identity,
                issuer: issuer,
                email: standard.email,
                profile: standard.profile
            ),
            federatedID: subject,
            tokens: ProviderTokens(of: credential),
            rawUserInfo: claims.text,
            firstName: standard.firstName,
            lastName: standard.lastName,
            fullName: standard.fullName,
            signedInAt: times.signedInAt,
            expiresAt: times.expiresAt
        )
        refine(&verified, standard)
        return .verified(verified)
    }
}
